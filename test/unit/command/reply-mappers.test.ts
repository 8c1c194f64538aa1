import { expect } from "chai";
import type { ReplyContext } from "../../../src/command/command-spec";
import { BUILTIN_REPLY_MAPPERS, withText } from "../../../src/command/reply-mappers";
import { MAX_DEPTH } from "../../../src/protocol/limits";

const RESP2: Omit<ReplyContext, "commandName"> = { protocol: 2, replyMapping: "legacy" };
const RESP3_LEGACY: Omit<ReplyContext, "commandName"> = { protocol: 3, replyMapping: "legacy" };
const RESP3: Omit<ReplyContext, "commandName"> = { protocol: 3, replyMapping: "resp3" };

function map(commandName: string, reply: unknown, shape: Omit<ReplyContext, "commandName">): unknown {
  return BUILTIN_REPLY_MAPPERS[commandName]?.(reply, { commandName, ...shape });
}

const SCORE_PAIRS = `hrandfield zdiff zinter zpopmax zpopmin zrandmember zrange zrangebyscore zrevrange
  zrevrangebyscore zunion`.split(/\s+/);

describe("hgetall", () => {
  it("becomes an object of strings, for a missing key an empty one", () => {
    for (const shape of [RESP2, RESP3_LEGACY]) {
      expect(map("hgetall", ["a", "1", "b", "2"], shape)).to.deep.equal({ a: "1", b: "2" });
      expect(map("hgetall", [], shape)).to.deep.equal({});
    }
    expect(Object.getPrototypeOf(map("hgetall", [], RESP2))).to.equal(Object.prototype);
    expect(map("hgetall", { a: "1" }, RESP3)).to.deep.equal({ a: "1" });
  });

  it("takes any field name as an ordinary property", () => {
    const object = map("hgetall", ["__proto__", "x", "constructor", "y"], RESP2) as object;
    expect(Object.keys(object)).to.deep.equal(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(object)).to.equal(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(object, "__proto__")).to.deep.equal({
      value: "x",
      configurable: true,
      enumerable: true,
      writable: true,
    });
  });

  it("has string names and Buffer values when Buffers are asked for", () => {
    const value = Buffer.from([0xff]);
    expect(map("hgetall", [Buffer.from("ключ"), value], RESP2)).to.deep.equal({ ключ: value });
  });

  it("lets QUEUED and null pass", () => {
    expect(map("hgetall", "QUEUED", RESP2)).to.equal("QUEUED");
    expect(map("hgetall", null, RESP3_LEGACY)).to.equal(null);
  });
});

describe("score pairs", () => {
  for (const word of SCORE_PAIRS) {
    it(`${word}: nested pairs of RESP3 are flat under the legacy mapping only`, () => {
      const nested = () => [
        ["a", "1"],
        ["b", "inf"],
      ];
      expect(map(word, nested(), RESP3_LEGACY)).to.deep.equal(["a", "1", "b", "inf"]);
      expect(map(word, ["a", "1", "b", "inf"], RESP2)).to.deep.equal(["a", "1", "b", "inf"]);
      expect(map(word, nested(), RESP3)).to.deep.equal(nested());
      for (const shape of [RESP2, RESP3_LEGACY, RESP3]) {
        for (const reply of [[], null, "a", ["a", "b"]]) expect(map(word, reply, shape)).to.equal(reply);
      }
    });
  }
});

describe("stream reads", () => {
  for (const word of ["xread", "xreadgroup"]) {
    it(`${word}: pairs under the legacy mapping, an object under resp3`, () => {
      const entries = [["1-0", ["f", "v"]]];
      const pairs = [
        ["s", entries],
        ["t", []],
      ];
      expect(map(word, ["s", entries, "t", []], RESP3_LEGACY)).to.deep.equal(pairs);
      expect(map(word, pairs, RESP2)).to.equal(pairs);
      const object = { s: entries };
      expect(map(word, object, RESP3)).to.equal(object);
      for (const shape of [RESP2, RESP3_LEGACY, RESP3]) expect(map(word, null, shape)).to.equal(null);
    });
  }
});

describe("vsim", () => {
  it("is flat under the legacy mapping", () => {
    expect(map("vsim", ["a", ["1", "x"], "b", ["0.5", null]], RESP3_LEGACY)).to.deep.equal([
      "a",
      "1",
      "x",
      "b",
      "0.5",
      null,
    ]);
    expect(map("vsim", ["a", "1"], RESP3_LEGACY)).to.deep.equal(["a", "1"]);
    const object = { a: [1, "x"] };
    expect(map("vsim", object, RESP3)).to.equal(object);
    expect(map("vsim", [], RESP3_LEGACY)).to.deep.equal([]);
  });
});

describe("built-in reply mappers", () => {
  it("take a missing context for the legacy mapping", () => {
    const mapper = BUILTIN_REPLY_MAPPERS.zrange as (reply: unknown) => unknown;
    expect(mapper([["a", "1"]])).to.deep.equal(["a", "1"]);
  });
});

describe("withText", () => {
  it("turns Buffers to strings at any depth and leaves the rest", () => {
    const error = new Error("x");
    const reply = [Buffer.from("a"), 1, null, [Buffer.from("ю"), [Buffer.from("c")]], error, true];
    expect(withText(reply)).to.deep.equal(["a", 1, null, ["ю", ["c"]], error, true]);
    expect(withText(Buffer.from([0x61, 0xff]))).to.equal("a\ufffd");
    expect(withText("x")).to.equal("x");
    expect(withText(null)).to.equal(null);
    expect(withText(7)).to.equal(7);
  });

  it("reaches into the objects of resp3", () => {
    const object = JSON.parse('{"__proto__": 1, "b": 2}') as Record<string, unknown>;
    Object.defineProperty(object, "__proto__", { value: Buffer.from("x"), enumerable: true });
    object.b = { c: [Buffer.from("y")] };
    withText(object);
    expect(Object.entries(object)).to.deep.equal([
      ["__proto__", "x"],
      ["b", { c: ["y"] }],
    ]);
  });

  it("reaches into the maps of resp3", () => {
    const map = new Map<string, unknown>([["a", [Buffer.from("x")]]]);
    expect(withText(map)).to.equal(map);
    expect([...map]).to.deep.equal([["a", ["x"]]]);
  });

  it("copies lists", () => {
    const list = [Buffer.from("x")];
    expect(withText(list)).to.deep.equal(["x"]);
    expect(Buffer.isBuffer(list[0])).to.equal(true);
  });

  it("takes the deepest replies that the parser accepts", () => {
    let reply: unknown[] = [Buffer.from("deep")];
    for (let depth = 1; depth < MAX_DEPTH; depth++) reply = [reply];
    let inner: unknown = withText(reply);
    while (Array.isArray(inner)) inner = inner[0];
    expect(inner).to.equal("deep");
  });
});
