/**
 * The keys that the client finds are those that the server finds (COMMAND GETKEYS), for every
 * command the server has and for arguments of any number. What the API does on purpose
 * differently is listed in `DIFFERENT` and left out.
 */

import { expect } from "chai";
import fc from "fast-check";
import { AdminConnection, type AdminReply } from "../../scripts/servers/admin-connection";
import { findServer } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import { additionalCommandNames, commandNames, specOf } from "../../src/command/command-table";
import { type KeyRule, KeyWalk, keyPositions } from "../../src/command/key-positions";
import { serverKinds } from "../support/shared-servers";

const DIFFERENT: Readonly<Record<string, string>> = {
  sort: "patterns count as keys; tested below without them",
  sort_ro: "patterns count as keys; tested below without them",
  pfmerge: "GETKEYS refuses it with one key, although the command takes that; tested below with more",
  spublish: "shard channels count as keys, since they decide the slot",
  ssubscribe: "shard channels count as keys",
  sunsubscribe: "shard channels count as keys",
};

/** Written out: commands whose arguments must be in a certain order to be understood. */
const CALLS = `
  sort k
  sort k LIMIT 0 5 DESC ALPHA
  sort k ALPHA STORE d
  sort_ro k LIMIT 0 5
  georadius k 1 2 3 m
  georadius k 1 2 3 m STORE s
  georadius k 1 2 3 m COUNT 5 storedist s
  georadiusbymember k m 3 m
  georadiusbymember k STORE 3 m STORE s
  migrate h 1 k 0 1
  migrate h 1 _ 0 1 KEYS a b c
  migrate h 1 _ 0 1 COPY REPLACE AUTH2 u p KEYS a b
  xread STREAMS a 0
  xread COUNT 1 BLOCK 5 streams a b c 0 0 0
  xreadgroup GROUP g c STREAMS a >
  xreadgroup GROUP g c COUNT 1 NOACK STREAMS a b > >
  xinfo STREAM k
  xinfo groups k
  xinfo CONSUMERS k g
  xgroup CREATE k g 0
  xgroup CREATECONSUMER k g c
  xgroup DELCONSUMER k g c
  xgroup DESTROY k g
  xgroup SETID k g 0
  object ENCODING k
  object FREQ k
  object IDLETIME k
  object REFCOUNT k
  memory USAGE k
  memory USAGE k SAMPLES 5
  msetex 2 a 1 b 2 EX 5
  pfmerge a b c
`
  .trim()
  .split("\n")
  .map((line) => line.trim().split(" "));

function keysOf(word: string, args: readonly string[]): string[] {
  return keyPositions(specOf(word), args).map((position) => args[position] as string);
}

/** Arguments that the walk of the command understands; `size` of them or a few more. */
function argumentsFor(rule: KeyRule, size: number, count: number): string[] {
  const args = Array.from({ length: size }, (_, index) => `a${index}`);
  if (rule.walk !== KeyWalk.Count && rule.walk !== KeyWalk.DestinationAndCount) return args;
  const { first: countAt, second: first, third: step } = rule;
  const end = first + count * step;
  for (let index = args.length; index < end; index++) args.push(`a${index}`);
  args[countAt] = String(count);
  return args;
}

for (const kind of serverKinds()) {
  describe(`key positions against ${kind}`, () => {
    let server: ServerProcess;
    let connection: AdminConnection;
    const arities = new Map<string, number>();

    before(async function () {
      this.timeout(120_000);
      server = await ServerProcess.start({ binary: await findServer(kind) });
      connection = await AdminConnection.open({ host: server.host, port: server.port });
      for (const row of (await connection.command("COMMAND")) as AdminReply[][]) {
        arities.set(String(row[0]).toLowerCase(), Number(row[1]));
      }
    });

    after(async () => {
      connection?.close();
      await server?.stop();
    });

    /** The arguments that the server takes for keys; none if it says that there are none. */
    async function keysByServer(word: string, args: readonly string[]): Promise<string[]> {
      // GETKEYS itself wants one argument at least.
      if (args.length === 0) return [];
      try {
        const keys = await connection.command("COMMAND", "GETKEYS", word, ...args);
        return (keys as AdminReply[]).map(String);
      } catch (error) {
        // A subcommand that does not exist has no keys either.
        expect((error as Error).message, `${word} ${args.join(" ")}`).to.match(
          /no key arguments|Invalid command specified/,
        );
        return [];
      }
    }

    it("are the same for any number of arguments", async function () {
      this.timeout(60_000);
      const { None, Range, Count, DestinationAndCount } = KeyWalk;
      const walks: readonly string[] = [None, Range, Count, DestinationAndCount];
      const words = [...commandNames, ...additionalCommandNames].filter(
        (word) => arities.has(word) && !(word in DIFFERENT) && walks.includes(specOf(word).keys.walk),
      );
      expect(words.length).to.be.greaterThan(200);
      for (const word of words) {
        const { keys: rule } = specOf(word);
        const arity = arities.get(word) as number;
        const size = arity > 0 ? fc.constant(arity - 1) : fc.integer({ min: -arity - 1, max: -arity + 5 });
        await fc.assert(
          fc.asyncProperty(size, fc.integer({ min: 1, max: 3 }), async (length, count) => {
            const args = argumentsFor(rule, length, count);
            expect(keysOf(word, args), `${word} ${args.join(" ")}`).to.deep.equal(
              await keysByServer(word, args),
            );
          }),
          { numRuns: 5 },
        );
      }
    });

    it("are the same where options and subcommands decide", async () => {
      for (const [word = "", ...rest] of CALLS) {
        if (!arities.has(word)) continue;
        const args = rest.map((arg) => (arg === "_" ? "" : arg));
        expect(keysOf(word, args), `${word} ${rest.join(" ")}`).to.deep.equal(await keysByServer(word, args));
      }
    });
  });
}
