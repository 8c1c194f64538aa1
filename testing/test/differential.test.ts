/**
 * The proof of the test server: random programs run on it and on the real server of the same
 * version, and everything must be equal: replies, errors, the keyspace afterwards.
 */

import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { fixedRuns } from "../../test/support/properties";
import { serverKinds, sharedServer } from "../../test/support/shared-servers";
import { TestServer, type VersionName } from "../src";
import { type Command, Differential, describeDifference, isDefect, NoAnswer } from "./compare-servers";
import { GRAMMAR, KINDS } from "./support/command-grammar";
import { commandArbitrary } from "./support/grammar";
import { ServerSilent, WireClient } from "./support/wire-client";

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
  return fc
    .array(withOddities(one), { minLength: 1, maxLength: PROGRAM_LENGTH, size: "max" })
    .map(withoutChance);
}

function isRangeByBytes(command: Command): boolean {
  return /^z(?:lexcount|(?:rev|rem)?rangebylex)$/.test(command[0] ?? "") || command.includes("BYLEX");
}

/**
 * SORT leaves a sorted set in its big form, a skip list whose levels are random. A range by bytes of members of
 * different scores begins at a place of chance there, and the pages of these commands leave its result open.
 */
function withoutChance(program: readonly Command[]): readonly Command[] {
  const sortedAt = program.findIndex(([name = ""]) => name.startsWith("sort"));
  return sortedAt < 0 ? program : program.filter((one, at) => at < sortedAt || !isRangeByBytes(one));
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
  "ranges by bytes in the big form": [
    "zadd c 0 a 0 b 0 c 0 d",
    "sort c ALPHA",
    "zlexcount c (a [c",
    "zrangebylex c [b + LIMIT 1 1",
    "zrevrangebylex c + (b",
    "zremrangebylex c [b [c",
    "zremrangebylex c [x [z",
    "zrange c 0 -1",
  ],
  "bits that change nothing": [
    "set d world",
    "setbit d 7 1",
    "object encoding d",
    "set e world",
    "bitfield e SET u8 0 119",
    "object encoding e",
    "set f world",
    "bitfield f GET u8 0",
    "object encoding f",
    "set g world",
    "bitfield g OVERFLOW FAIL INCRBY u8 0 200",
    "object encoding g",
    "set h 12",
    "setbit h 7 1",
    "object encoding h",
    "copy d i",
    "object encoding i",
  ],
  "words of an open selector": ["acl setuser u (+@all (+set"],
  "a rule that replaces another": ["acl setuser u +set +set on", "acl list"],
  "categories as 7.0 describes commands": [
    "acl setuser u +@all +set",
    "acl getuser u",
    "acl setuser u reset +@write +@read -get +config",
    "acl list",
    "acl setuser u reset +@all -@dangerous -@fast +config|get",
    "acl getuser u",
    "acl dryrun u sort a",
    "acl dryrun u lolwut",
    "acl cat dangerous",
  ],
  "digits that are not the nearest": [
    "zadd a 2.8697175391133805e-12 a 5e-324 b 1.1e-109 c",
    "zadd a INCR 0 a",
    "zrange a 0 -1 WITHSCORES",
  ],
  "the sign of nothing": [
    "zadd b 0 a",
    "zunion 2 b a WEIGHTS -5e-324 0 WITHSCORES",
    "zinter 1 b WEIGHTS -1 WITHSCORES",
  ],
  "scores below the places": ["zadd g -5e-324 x 5e-324 y 0 z", "georadius g 15 37 20000 km STORE h"],
  "a stored distance": ["geoadd c 37 15 x", "georadius c 15 37 5000 km STOREDIST a"],
  "elements in no order in a transaction": ["sadd d -4 a b", "multi", "sunion d", "exec"],
  "sums begin with the smallest set": [
    "sadd a a extra",
    "zadd b 1.7e-5 a",
    "zinterstore c 3 a a b",
    "zunion 3 a a b WITHSCORES",
    "zrange c 0 -1 WITHSCORES",
  ],
  "a limit in ranges by bytes of members of different scores": [
    "zadd a 0 d 1e3 a 0 -4",
    "zrange a - [c BYLEX LIMIT 2 1",
    "zrange a [c - BYLEX REV LIMIT 1 5",
    "zrange a - [c BYLEX LIMIT 9 1",
    "zrevrangebylex a [d [b LIMIT 1 1",
  ],
  "a number that is too far below a field": [
    "bitfield a OVERFLOW SAT SET i5 0 -9223372036854775808",
    "bitfield b OVERFLOW SAT SET i5 0 -100",
    "bitfield c OVERFLOW SAT SET u5 0 -9223372036854775808",
    "bitfield d OVERFLOW SAT SET i64 0 -9223372036854775808",
    "bitfield a OVERFLOW SAT INCRBY u63 0 -3",
    "bitfield b SET i63 0 -4611686018427387904 OVERFLOW SAT INCRBY i63 0 -4611686018427387904",
  ],
  "an entry claimed that was not pending": [
    "xgroup CREATE b h 0 MKSTREAM",
    "xadd b 5-5 a 0",
    "xadd b 6-6 a 0",
    "xclaim b h c1 0 5-5 FORCE",
    "xclaim b h c1 0 6-6 FORCE JUSTID",
    "xinfo STREAM b FULL",
  ],
  "a consumer that reads without leaving anything pending": [
    "xgroup CREATE c h 0 MKSTREAM",
    "xadd c 1-1 a x",
    "xreadgroup GROUP h c1 NOACK STREAMS c >",
    "xinfo STREAM c FULL",
  ],
  "a small number that was copied": [
    "set a 5",
    "copy a b",
    "object refcount a",
    "object refcount b",
    "object encoding b",
    "rename b c",
    "object refcount c",
    "incrby c 0",
    "object refcount c",
  ],
  "a word too many behind a category": ["acl cat read extra", "acl CAT nosuch extra"],
  "a name of one byte 0": ["client setname \0", "client getname"],
  "the lowest rank": [
    "lpos a x RANK -9223372036854775808",
    "rpush a x y x x",
    "lpos a x RANK -9223372036854775808",
    "lpos a x RANK -9223372036854775808 COUNT 1",
    "lpos a x RANK -9223372036854775808 COUNT 0 MAXLEN 2",
    "lpos a x RANK -9223372036854775807 COUNT 1",
  ],
  "an approximate trim of all": ["xgroup CREATE c g 0 MKSTREAM", "xadd c MAXLEN ~ 0 1-1 a b", "xlen c"],
  "the hash of a score with decimals": [
    "geoadd c 15.087269 37.502669 Catania",
    "georadius c 15 37 100 km STOREDIST b",
    "geosearch b FROMMEMBER Catania BYRADIUS 100 km ASC WITHHASH",
  ],
  "the encoding of what APPEND made": ["append a x", "object encoding a", "append a y", "object encoding a"],
  "a foreign type before a wrong time": ["set d 0", "hsetex d PX -5 FIELDS 1 a x"],
  "a transaction inside of a transaction": ["hset c f v", "zadd a 0 m", "multi", "scan 0", "multi", "exec"],
  "nothing to move in a transaction": ["multi", "brpoplpush a a 0", "blpop a 0", "exec"],
  "hexadecimal weights": ["zadd a 1 x", "zunion 1 a WEIGHTS 0x10 0"],
  "a HyperLogLog with more behind it": ["pfadd c x", "append c x", "pfcount c"],
  "a time for a field that is not there": ["hset a b x", "hexpire a 4102444 FIELDS 1 c", "object encoding a"],
  "a group behind the end of an empty stream": [
    "xadd a MINID 1-1 0-* a x",
    "xgroup CREATE a g 0",
    "xgroup SETID a g 3",
    "xinfo GROUPS a",
  ],
  "texts with a byte 0, sorted": [
    "rpush c \0b \0a",
    "sort c ALPHA DESC",
    "sort c ALPHA",
    "sort c ALPHA STORE d",
  ],
  "a unit behind places in the wrong order": ["set c x", "bitcount c -1 -2 X", "bitcount c -1 -2 BIT"],
  "places counted from the end": [
    "set c x",
    "bitpos c 0 -2 -100",
    "bitcount c -2 -100",
    "bitpos c 0 1 0 BIT x",
  ],
  "hexadecimal floats": ["set c 0x10", "incrbyfloat c 0.1", "hset d f 0x1.8", "hincrbyfloat d f 1"],
  "scores that no place has": [
    "zadd c -inf a inf b 1e20 c -1e20 d 5e15 e",
    "geopos c a b c d e",
    "geohash c a b c d e",
    "geosearch c FROMLONLAT 0 0 BYRADIUS 1000 km ASC",
  ],
  "the score of a big sorted set": ["zadd d 1.7e-5 a 0.1 b inf c", "sort d ALPHA", "zscan d 0"],
  "whole scores": [
    "zadd a 1e18 a -4e18 b 5e18 c 123456789012345678 d -0 e 5e15 f",
    "zrange a 0 -1 WITHSCORES",
    "zincrby a 1 a",
  ],
  "a score in the middle between two": [
    "zadd a 1e23 x -1e23 y",
    "zrange a 0 -1 WITHSCORES",
    "zunion 1 a WITHSCORES",
  ],
  "a group that was told a wrong count": [
    "xadd d 1-1 a x",
    "xadd d 2-1 a x",
    "xgroup CREATE d h 0 ENTRIESREAD 5",
    "xreadgroup GROUP h c1 COUNT 1 STREAMS d >",
    "xinfo GROUPS d",
    "xdel d 2-1",
    "xadd d 3-1 a x",
    "xreadgroup GROUP h c1 STREAMS d >",
    "xinfo GROUPS d",
  ],
};

/**
 * True if the real server is gone, or owes an answer without end: Redis 7.0 once forgot a BLMPOP that names a key twice
 * and waits for a millisecond. A process that ends closes its connections first.
 */
async function hasFailed(real: ServerProcess, { cause }: NoAnswer): Promise<boolean> {
  if (cause instanceof ServerSilent) return true;
  for (let waitedMs = 0; real.isRunning && waitedMs < CRASH_MS; waitedMs += LOOK_MS) await delay(LOOK_MS);
  return !real.isRunning;
}

/** Over all kinds of server. */
const MIN_COMMANDS = IS_LONG ? 1_000_000 : 50_000;
/** A failure is the server's own defect; more of them are one of this test. */
const MOST_CRASHES = 20;
const CRASH_MS = 5_000;
const LOOK_MS = 20;
/** A real server looks for blocked clients whose time is over so many times a second; 10 would make it a pause of 100 ms. */
const ROUNDS_PER_SECOND = 500;
const USUAL_ROUNDS_PER_SECOND = 10;
const KIND_COUNT = Object.keys(VERSIONS).length;

describe("the test server answers as the real ones do", () => {
  for (const kind of serverKinds()) {
    describe(`${kind}`, () => {
      let server: TestServer;
      let real: ServerProcess;
      let differential: Differential;
      let compared = 0;
      const crashes: string[] = [];
      let defects = 0;

      before(async () => {
        server = await TestServer.start({ version: VERSIONS[kind] ?? "8.2" });
        await connect();
      });

      after(async () => {
        await differential.close();
        await setRounds(USUAL_ROUNDS_PER_SECOND);
        await server.stop();
      });

      async function connect(): Promise<void> {
        real = await sharedServer(kind);
        differential = new Differential(
          { path: real.unixSocketPath },
          { host: server.host, port: server.port },
        );
        await differential.connect();
        await setRounds(ROUNDS_PER_SECOND);
      }

      async function setRounds(perSecond: number): Promise<void> {
        const client = await WireClient.connect({ path: real.unixSocketPath });
        const replies = await client.run([["config", "set", "hz", String(perSecond)]]);
        await client.close();
        expect(replies).to.deep.equal([["+", "OK"]]);
      }

      /** Null also for a program on which the real server fails: it is named, and another one takes its place. */
      async function compare(program: readonly Command[], protocol: 2 | 3): Promise<string | null> {
        try {
          const difference = await differential.run(program, protocol);
          if (difference === null) return null;
          if (isDefect(difference)) {
            defects++;
            return null;
          }
          return describeDifference(difference, program);
        } catch (error) {
          if (!(error instanceof NoAnswer) || error.side === "test" || !(await hasFailed(real, error)))
            throw error;
          crashes.push(error.message);
          console.log(`      the real server failed, the program is skipped: ${error.message}`);
          await connect();
          return null;
        }
      }

      for (const family of Object.keys(GRAMMAR)) {
        it(family, async function () {
          this.timeout(600_000);
          let commands = 0;
          const property = fc.asyncProperty(
            programsOf(family),
            fc.constantFrom(2 as const, 3 as const),
            async (program, protocol) => {
              commands += program.length;
              const difference = await compare(program, protocol);
              if (difference !== null) throw new Error(difference);
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
            expect((await compare(program, protocol)) ?? "").to.equal("");
          }
        });
      }

      it(`compared its share of ${MIN_COMMANDS} commands`, () => {
        console.log(
          `      ${compared} commands, ${crashes.length} programs skipped for a failure, ${defects} for a known defect`,
        );
        expect(compared).to.be.at.least(MIN_COMMANDS / KIND_COUNT);
        expect(crashes).to.have.length.at.most(MOST_CRASHES);
      });
    });
  }
});
