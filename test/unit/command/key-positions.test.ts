import { expect } from "chai";
import fc from "fast-check";
import { commandNames, specOf } from "../../../src/command/command-table";
import { firstKeyPosition, keyPositions, prefixKeys } from "../../../src/command/key-positions";
import type { Argument } from "../../../src/protocol/resp-types";

/** Arguments are written as one string; `_` is the empty string. */
function split(text: string): string[] {
  return text === "" ? [] : text.split(" ").map((word) => (word === "_" ? "" : word));
}

const CASES: readonly (readonly [word: string, args: string, positions: readonly number[]])[] = [
  ["get", "a", [0]],
  ["get", "", []],
  ["GET", "a", [0]],
  ["mget", "a b c", [0, 1, 2]],
  ["mset", "a 1 b 2", [0, 2]],
  ["msetnx", "a 1 b", [0, 2]],
  ["msetex", "2 a 1 b 2 EX 5", [1, 3]],
  ["msetex", "9 a 1", [1]],
  ["del", "a b", [0, 1]],
  ["blpop", "a b 0", [0, 1]],
  ["brpop", "0", []],
  ["bzpopmin", "a 0", [0]],
  ["bitop", "AND d a b", [1, 2, 3]],
  ["bitop", "AND", []],
  ["zrangestore", "d s 0 -1", [0, 1]],
  ["blmove", "a b LEFT RIGHT 0", [0, 1]],
  ["blmovem", "a b LEFT RIGHT 0", [0, 1]],
  ["lmovem", "a b LEFT RIGHT", [0, 1]],
  ["lcs", "a", [0]],
  ["copy", "a b", [0, 1]],
  ["watch", "a b", [0, 1]],
  ["pfdebug", "todense k", [1]],
  ["zunionstore", "d 2 a b WEIGHTS 1 2", [0, 2, 3]],
  ["zinterstore", "d 9 a", [0, 2]],
  ["zdiffstore", "d x a", [0]],
  ["zdiffstore", "", []],
  ["eval", "s 2 a b c", [2, 3]],
  ["eval", "s 0 a", []],
  ["eval", "s -1 a", []],
  ["eval", "s x a", []],
  ["eval", "s 99999999999999999999 a b", [2, 3]],
  ["evalsha", "s 1 a", [2]],
  ["eval_ro", "s 1 a", [2]],
  ["evalsha_ro", "s 1 a", [2]],
  ["fcall", "f 1 a", [2]],
  ["fcall_ro", "f 1 a", [2]],
  ["blmpop", "0 2 a b LEFT", [2, 3]],
  ["bzmpop", "0 1 a MIN", [2]],
  ["zunion", "2 a b", [1, 2]],
  ["zinter", "1 a", [1]],
  ["zdiff", "1 a WITHSCORES", [1]],
  ["zintercard", "1 a", [1]],
  ["sintercard", "1 a", [1]],
  ["sdiffcard", "1 a", [1]],
  ["sunioncard", "2 a b", [1, 2]],
  ["lmpop", "1 a LEFT", [1]],
  ["zmpop", "1 a MIN", [1]],
  ["xread", "COUNT 2 STREAMS a b 0 0", [3, 4]],
  ["xread", "streams a 0", [1]],
  ["xread", "STREAMS streams 0", [1]],
  ["xread", "STREAMS a", []],
  ["xread", "COUNT 2", []],
  ["xreadgroup", "GROUP STREAMS c STREAMS a >", [4]],
  ["georadius", "k 1 2 3 m STORE s STOREDIST t", [0, 6, 8]],
  ["georadius", "k 1 2 3 m store storedist COUNT 1", [0, 6]],
  ["georadius", "k STORE 2 3 m STORE", [0]],
  ["georadiusbymember", "k STORE 3 m STORE x", [0, 5]],
  ["georadius_ro", "k 1 2 3 m STORE x", [0]],
  ["sort", "k BY w_* LIMIT 0 5 GET # GET o_* DESC STORE d", [0, 2, 9, 12]],
  ["sort", "k by nosort", [0, 2]],
  ["sort", "k get # LIMIT 0 1 GET", [0]],
  ["sort", "# BY #", [0, 2]],
  ["sort_ro", "k BY w_*", [0, 2]],
  ["migrate", "h 1 k 0 1", [2]],
  ["migrate", "h 1 _ 0 1 COPY KEYS a b", [7, 8]],
  ["migrate", "h 1 _ 0 1 AUTH KEYS KEYS a", [8]],
  ["migrate", "h 1 _ 0 1 AUTH2 u keys KEYS a", [9]],
  ["migrate", "h 1 _ 0 1 COPY", []],
  ["migrate", "h 1", []],
  ["object", "ENCODING k", [1]],
  ["object", "freq k", [1]],
  ["object", "idletime k", [1]],
  ["object", "refcount k", [1]],
  ["object", "HELP", []],
  ["object", "ENCODING", []],
  ["memory", "USAGE k", [1]],
  ["MEMORY", "usage k", [1]],
  ["memory", "DOCTOR k", []],
  ["xinfo", "STREAM k FULL", [1]],
  ["xinfo", "groups k", [1]],
  ["xinfo", "consumers k g", [1]],
  ["xinfo", "help k", []],
  ["xgroup", "CREATE k g $", [1]],
  ["xgroup", "createconsumer k g c", [1]],
  ["xgroup", "delconsumer k g c", [1]],
  ["xgroup", "destroy k g", [1]],
  ["xgroup", "setid k g 0", [1]],
  ["xgroup", "help", []],
  ["himport", "SET k f", [1]],
  ["himport", "PREPARE f a", []],
  ["ssubscribe", "a b", [0, 1]],
  ["sunsubscribe", "a", [0]],
  ["sunsubscribe", "", []],
  ["spublish", "c m", [0]],
  ["restore-asking", "k 0 x", [0]],
  ["vsim", "k ELE a", [0]],
];

const WITHOUT_KEYS =
  `publish subscribe psubscribe unsubscribe punsubscribe pubsub scan keys wait waitaof script
  function config client cluster command acl debug info ping echo auth hello select multi exec discard unwatch
  time flushall flushdb dbsize randomkey MINE.GET FT.SEARCH constructor __proto__ sentinel`.split(/\s+/);

describe("key positions", () => {
  for (const [word, args, positions] of CASES) {
    it(`${word} ${args}`, () => {
      const spec = specOf(word);
      expect(keyPositions(spec, split(args))).to.deep.equal(positions);
      const asBuffers = split(args).map((arg) => Buffer.from(arg));
      const expected = word.startsWith("sort") ? [0] : positions;
      expect(keyPositions(spec, asBuffers), "as Buffers").to.deep.equal(expected);
    });
  }

  for (const word of WITHOUT_KEYS) {
    it(`${word} has none`, () => {
      for (const args of [["a", "b", "c"], ["object", "k"], ["1", "k"], []]) {
        expect(keyPositions(specOf(word), args)).to.deep.equal([]);
        expect(firstKeyPosition(specOf(word), args)).to.equal(-1);
      }
    });
  }

  it("a cursor of CLUSTERSCAN is no key, and leads to a node as one", () => {
    const scan = specOf("clusterscan");
    expect(keyPositions(scan, ["0-{06S}-0", "COUNT", "10"])).to.deep.equal([]);
    expect(firstKeyPosition(scan, ["0-{06S}-0", "COUNT", "10"])).to.equal(0);
    expect(firstKeyPosition(scan, [])).to.equal(-1);
  });

  it("never lie outside the arguments, and the first is the first, whatever the arguments are", () => {
    const word = fc.constantFrom(
      ..."2 9 -1 x BY GET STORE # LIMIT STREAMS KEYS stream usage AUTH".split(" "),
      "",
    );
    const argument = fc.oneof(
      word,
      word.map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...commandNames), fc.array(argument, { maxLength: 9 }), (name, args) => {
        const positions = keyPositions(specOf(name), args);
        expect(firstKeyPosition(specOf(name), args)).to.equal(positions[0] ?? -1);
        expect([...positions].sort((a, b) => a - b)).to.deep.equal(positions);
        expect(new Set(positions).size).to.equal(positions.length);
        for (const position of positions) expect(args[position]).to.not.equal(undefined);
      }),
      { numRuns: 5000 },
    );
  });
});

describe("key prefix", () => {
  function prefixed(word: string, args: Argument[], prefix: Argument = "p:"): Argument[] {
    prefixKeys(specOf(word), args, prefix);
    return args;
  }

  it("goes in front of every key and of nothing else", () => {
    expect(prefixed("mset", ["a", "1", "b", "2"])).to.deep.equal(["p:a", "1", "p:b", "2"]);
    expect(prefixed("eval", ["s", "1", "a", "b"])).to.deep.equal(["s", "1", "p:a", "b"]);
    expect(prefixed("scan", ["0", "MATCH", "a*"])).to.deep.equal(["0", "MATCH", "a*"]);
    expect(prefixed("MINE.GET", ["a"])).to.deep.equal(["a"]);
    expect(prefixed("JSON.GET", ["a", "$"])).to.deep.equal(["p:a", "$"]);
    expect(prefixed("debug", ["OBJECT", "a"])).to.deep.equal(["OBJECT", "a"]);
  });

  it("covers the patterns of SORT except #", () => {
    const args = "k BY w_* GET # GET o_* STORE d".split(" ");
    expect(prefixed("sort", args)).to.deep.equal("p:k BY p:w_* GET # GET p:o_* STORE p:d".split(" "));
  });

  it("makes a Buffer where the key or the prefix is one", () => {
    expect(prefixed("get", [Buffer.from([0xff])])).to.deep.equal([Buffer.from([0x70, 0x3a, 0xff])]);
    expect(prefixed("get", ["k"], Buffer.from([0xfe]))).to.deep.equal([Buffer.from([0xfe, 0x6b])]);
  });

  it("leaves everything alone when it is empty", () => {
    const key = Buffer.from("k");
    expect(prefixed("get", [key], "")[0]).to.equal(key);
  });
});
