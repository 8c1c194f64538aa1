/**
 * The proof of the test server: random programs run on it and on the real server of the same
 * version, and everything must be equal: replies, errors, the keyspace afterwards.
 */

import { expect } from "chai";
import fc from "fast-check";
import { ServerKind } from "../../scripts/servers/find-server";
import { TestServer, type VersionName } from "../../src/testing";
import { fixedRuns } from "../support/properties";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { GRAMMAR, KINDS } from "./support/command-grammar";
import { type Command, Differential, describeDifference } from "./support/differential";
import { commandArbitrary } from "./support/grammar";

const VERSIONS: Readonly<Record<string, VersionName>> = {
  [ServerKind.Redis]: "7.0",
  [ServerKind.Redis8]: "8.2",
  [ServerKind.Valkey]: "valkey-9.1",
};
const PROGRAM_LENGTH = 60;
const IS_LONG = process.env.SLUICE_LONG === "1";
/** The long run takes a hundred times as many. */
const RUNS_PER_FAMILY = Number(process.env.SLUICE_DIFFERENTIAL_RUNS ?? (IS_LONG ? 7 : 55));
/** Commands of other families come in between, so that keys hold other kinds of values. */
const MIXED_IN = ["strings", "keys", "lists", "sets", "hashes", "sorted sets"];
const RANDOM: ReadonlySet<string> = new Set(["spop", "srandmember", "hrandfield", "zrandmember"]);
const ODDITY = fc.oneof(
  { weight: 30, arbitrary: fc.constant("none" as const) },
  { weight: 1, arbitrary: fc.constant("drop" as const) },
  { weight: 1, arbitrary: fc.constant("add" as const) },
);

function commandsOf(family: string): fc.Arbitrary<Command> {
  return fc.oneof(...(GRAMMAR[family] ?? []).map((line) => commandArbitrary(line, KINDS)));
}

/** Now and then an argument is missing or too many. */
function withOddities(commands: fc.Arbitrary<Command>): fc.Arbitrary<Command> {
  return fc.tuple(commands, ODDITY).map(([command, oddity]) => {
    // Without its count a command answers something random.
    if (RANDOM.has(command[0] ?? "")) return command;
    if (oddity === "drop" && command.length > 1) return command.slice(0, -1);
    return oddity === "add" ? [...command, "extra"] : command;
  });
}

/** A HyperLogLog with foreign bytes inside is broken; how far a server gets with it is no promise. */
const DAMAGING: ReadonlySet<string> = new Set(["append", "setrange", "setbit", "bitfield", "bitop"]);

function programsOf(family: string): fc.Arbitrary<readonly Command[]> {
  const others = fc
    .oneof(...MIXED_IN.map(commandsOf))
    .filter(([name = ""]) => family !== "hyperloglog" || !DAMAGING.has(name));
  const one = fc.oneof({ weight: 5, arbitrary: commandsOf(family) }, { weight: 1, arbitrary: others });
  return fc.array(withOddities(one), { minLength: 1, maxLength: PROGRAM_LENGTH, size: "max" });
}

/** Programs on which the servers differed once, by what they are about. */
const ONCE_DIFFERENT: Readonly<Record<string, readonly string[]>> = {
  "ranges by bytes of members of different scores": [
    "zadd c 1.5 1 0 a",
    "zlexcount c - (a",
    "zrevrangebylex c (a -",
    "zrangebylex c [1 +",
  ],
  "SORT leaves a sorted set in its big form": ["zadd d inf a", "sort_ro d", "object encoding d"],
  "words of an open selector": ["acl setuser u (+@all (+set"],
  "a rule that replaces another": ["acl setuser u +set +set on", "acl list"],
  "a name of one byte 0": ["client setname \0", "client getname"],
  "the lowest rank": ["lpos a x RANK -9223372036854775808"],
  "an approximate trim of all": ["xgroup CREATE c g 0 MKSTREAM", "xadd c MAXLEN ~ 0 1-1 a b", "xlen c"],
  "the hash of a score with decimals": [
    "geoadd c 15.087269 37.502669 Catania",
    "georadius c 15 37 100 km STOREDIST b",
    "geosearch b FROMMEMBER Catania BYRADIUS 100 km ASC WITHHASH",
  ],
  "the encoding of what APPEND made": ["append a x", "object encoding a", "append a y", "object encoding a"],
  "a foreign type before a wrong time": ["set d 0", "hsetex d PX -5 FIELDS 1 a x"],
  "nothing to move in a transaction": ["multi", "brpoplpush a a 0", "blpop a 0", "exec"],
  "hexadecimal weights": ["zadd a 1 x", "zunion 1 a WEIGHTS 0x10 0"],
  "a HyperLogLog with more behind it": ["pfadd c x", "append c x", "pfcount c"],
};

/** Over all kinds of server. */
const MIN_COMMANDS = IS_LONG ? 1_000_000 : 50_000;
const KIND_COUNT = Object.keys(VERSIONS).length;

describe("the test server answers as the real ones do", () => {
  for (const kind of serverKinds()) {
    describe(`${kind}`, () => {
      let server: TestServer;
      let differential: Differential;
      let compared = 0;

      before(async () => {
        server = await TestServer.start({ version: VERSIONS[kind] ?? "8.2" });
        const real = await sharedServer(kind);
        differential = await Differential.open(
          { path: real.unixSocketPath },
          { host: server.host, port: server.port },
        );
      });

      after(async () => {
        await differential.close();
        await server.stop();
      });

      for (const family of Object.keys(GRAMMAR)) {
        it(family, async function () {
          this.timeout(600_000);
          let commands = 0;
          const property = fc.asyncProperty(
            programsOf(family),
            fc.constantFrom(2 as const, 3 as const),
            async (program, protocol) => {
              commands += program.length;
              const difference = await differential.run(program, protocol);
              if (difference !== null) throw new Error(describeDifference(difference, program));
            },
          );
          await fc.assert(property, fixedRuns(RUNS_PER_FAMILY));
          expect(commands).to.be.greaterThan(RUNS_PER_FAMILY * (PROGRAM_LENGTH / 4));
          compared += commands;
        });
      }

      for (const [about, lines] of Object.entries(ONCE_DIFFERENT)) {
        it(about, async () => {
          const program = lines.map((line) => line.split(" "));
          for (const protocol of [2, 3] as const) {
            const difference = await differential.run(program, protocol);
            expect(difference && describeDifference(difference, program)).to.equal(null);
          }
        });
      }

      it(`compared its share of ${MIN_COMMANDS} commands`, () => {
        console.log(`      ${compared} commands`);
        expect(compared).to.be.at.least(MIN_COMMANDS / KIND_COUNT);
      });
    });
  }
});
