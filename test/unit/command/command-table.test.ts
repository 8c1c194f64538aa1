import { expect } from "chai";
import { CommandFlag, encodeName } from "../../../src/command/command-spec";
import {
  additionalCommandNames,
  commandNames,
  flagsFor,
  replyTransformers,
  specOf,
} from "../../../src/command/command-table";
import { READONLY } from "../../support/readonly-commands";

const NEVER_AUTO_PIPELINED =
  `asking auth blmove blmovem blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin
  client cluster debug discard exec hello himport info monitor multi psubscribe psync punsubscribe quit readonly
  readwrite reset script select ssubscribe subscribe sunsubscribe sync unsubscribe unwatch wait waitaof watch
  xread xreadgroup`.split(/\s+/);

function withFlag(bit: number): string[] {
  return [...commandNames, ...additionalCommandNames].filter((name) => specOf(name).flags & bit).sort();
}

describe("command table", () => {
  it("has the methods of the API, sorted, without MONITOR", () => {
    expect(commandNames).to.have.length(301);
    expect(commandNames).to.deep.equal([...new Set(commandNames)].sort());
    expect(commandNames).to.include.members(["get", "restore-asking", "sentinel", "arcount", "zunionstore"]);
    expect(commandNames).to.not.include("monitor");
    expect(additionalCommandNames).to.include("monitor");
  });

  it("takes exactly these as reads that a replica may serve", () => {
    expect(withFlag(CommandFlag.Readonly).filter((name) => name !== "clusterscan")).to.deep.equal(READONLY);
    for (const name of READONLY) expect(specOf(name).flags & CommandFlag.Write, name).to.equal(0);
  });

  it("keeps exactly these out of automatic batches", () => {
    expect(withFlag(CommandFlag.NeverAutoPipelined)).to.deep.equal(NEVER_AUTO_PIPELINED);
  });

  it("marks every row, and nothing else, as known", () => {
    expect(withFlag(CommandFlag.Known)).to.have.length(commandNames.length + additionalCommandNames.length);
    expect(specOf("JSON.GET").flags).to.equal(0);
  });
});

describe("specOf", () => {
  it("gives one spec a spelling; flags and keys are shared", () => {
    expect(specOf("get")).to.equal(specOf("get"));
    expect(specOf("GET")).to.equal(specOf("GET"));
    expect(specOf("GET")).to.not.equal(specOf("get"));
    expect(specOf("GeT").flags).to.equal(specOf("get").flags);
    expect(specOf("GeT").keys).to.equal(specOf("get").keys);
    expect(specOf("GeT")).to.include({ name: "GeT", lowerName: "get" });
  });

  it("has the word encoded as a bulk string", () => {
    expect(encodeName(specOf("get")).toString()).to.equal("$3\r\nget\r\n");
    expect(encodeName(specOf("GÉT")).toString()).to.equal("$4\r\nGÉT\r\n");
    expect(encodeName(specOf("")).toString()).to.equal("$0\r\n\r\n");
  });

  it("takes words such as __proto__ for what they are: unknown", () => {
    for (const word of ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"]) {
      expect(specOf(word)).to.include({ name: word, flags: 0, replyMapper: null, argumentMapper: null });
    }
  });

  it("gives transformers to the exact word only", () => {
    expect(specOf("hgetall").replyMapper).to.be.a("function");
    expect(specOf("HGETALL").replyMapper).to.equal(null);
    expect(specOf("hset").argumentMapper).to.be.a("function");
    expect(specOf("HSET").argumentMapper).to.equal(null);
  });

  it("shows a changed transformer at once, on specs that exist and on later ones", () => {
    const spec = specOf("hgetall");
    const original = spec.replyMapper;
    const own = (reply: unknown) => reply;
    const hostile = "__proto__";
    try {
      replyTransformers.hgetall = own;
      expect(spec.replyMapper).to.equal(own);
      replyTransformers[hostile] = own;
      expect(specOf(hostile).replyMapper).to.equal(own);
      delete replyTransformers.hgetall;
      expect(spec.replyMapper).to.equal(null);
    } finally {
      replyTransformers.hgetall = original ?? undefined;
      delete replyTransformers[hostile];
    }
    expect(spec.replyMapper).to.equal(original);
    expect(specOf(hostile).replyMapper).to.equal(null);
  });

  it("does not grow with the number of unknown words", () => {
    const spec = specOf("known.module");
    for (let index = 0; index < 20_000; index++) specOf(`unknown-${index}`);
    expect(specOf("known.module"), "still there").to.not.equal(spec);
    expect(specOf("get")).to.equal(specOf("get"));
  });
});

describe("flagsFor", () => {
  function has(word: string, bit: number, ...args: (string | Buffer)[]): boolean {
    return (flagsFor(specOf(word), args) & bit) !== 0;
  }

  it("says that XREAD blocks only with BLOCK", () => {
    for (const bit of [CommandFlag.Blocking, CommandFlag.NeverAutoPipelined]) {
      expect(has("xread", bit, "BLOCK", "0", "STREAMS", "a", "$")).to.equal(true);
      expect(has("xread", bit, "COUNT", "1", Buffer.from("block"), "0", "STREAMS", "a", "$")).to.equal(true);
      expect(has("xread", bit, "STREAMS", "block", "$")).to.equal(false);
      expect(has("xreadgroup", bit, "GROUP", "block", "block", "STREAMS", "a", ">")).to.equal(false);
      expect(has("XREADGROUP", bit, "group", "g", "c", "block", "5", "STREAMS", "a", ">")).to.equal(true);
    }
    expect(has("xread", CommandFlag.Readonly, "STREAMS", "a", "$")).to.equal(true);
  });

  it("asks the subcommand", () => {
    expect(has("xinfo", CommandFlag.Readonly, "STREAM", "k")).to.equal(true);
    expect(has("xinfo", CommandFlag.Readonly, "HELP")).to.equal(false);
    expect(has("XGROUP", CommandFlag.Write, Buffer.from("Create"), "k", "g", "$")).to.equal(true);
    expect(has("object", CommandFlag.Readonly, "encoding", "k")).to.equal(true);
    expect(has("memory", CommandFlag.Readonly, "usage", "k")).to.equal(true);
    expect(has("function", CommandFlag.Write, "load", "x")).to.equal(true);
    expect(has("xgroup", CommandFlag.Known, "CREATE")).to.equal(true);
    expect(flagsFor(specOf("xinfo"), [])).to.equal(specOf("xinfo").flags);
  });

  it("leaves ordinary commands as they are", () => {
    expect(flagsFor(specOf("get"), ["BLOCK"])).to.equal(specOf("get").flags);
    expect(flagsFor(specOf("blpop"), ["k", "0"])).to.equal(specOf("blpop").flags);
  });
});
