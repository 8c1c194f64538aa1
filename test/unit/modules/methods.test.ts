/** Methods of module commands: what they send, and the one form of replies that RESP2 and RESP3 send differently. */

import { expect } from "chai";
import { prepareArguments } from "../../../src/command/argument-mappers";
import { Command } from "../../../src/command/command";
import type { CommandSpec, ReplyShape } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import { type Commander, EXECUTE } from "../../../src/command/commander";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { MODULE_COMMANDS } from "../../../src/modules/generated/names";
import { openFamily } from "../../../src/modules/methods";

const RESP2: ReplyShape = { protocol: 2, replyMapping: "legacy" };
const LEGACY: ReplyShape = { protocol: 3, replyMapping: "legacy" };
const RESP3: ReplyShape = { protocol: 3, replyMapping: "resp3" };

/** Answers every command with the next reply, as a connection of that shape does. */
class Answering implements Commander {
  readonly sent: (readonly unknown[])[] = [];

  constructor(
    private readonly shape: ReplyShape,
    private readonly reply: unknown,
  ) {}

  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): unknown {
    const completion = new PromiseCompletion();
    try {
      const command = new Command(spec, prepareArguments(spec, args), wantsBuffers, completion);
      this.sent.push([command.name, ...command.args]);
      command.fulfil(this.reply, this.shape);
    } catch (error) {
      return Promise.reject(error);
    }
    return completion.promise;
  }
}

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

function familyOf(owner: Commander, name: string): Methods {
  return openFamily(owner, name) as unknown as Methods;
}

function call(family: string, method: string, args: unknown[], shape: ReplyShape, reply: unknown): unknown {
  return familyOf(new Answering(shape, reply), family)[method]?.(...args);
}

async function sentBy(family: string, method: string, ...args: unknown[]): Promise<unknown> {
  const owner = new Answering(RESP2, null);
  await familyOf(owner, family)[method]?.(...args);
  return owner.sent[0];
}

describe("methods of module commands", () => {
  it("exist for every command, in both forms, and send its name", async () => {
    for (const [family, names] of Object.entries(MODULE_COMMANDS)) {
      for (const name of names.split(" ")) {
        for (const method of [name, `${name}Buffer`]) {
          const [word] = (await sentBy(family, method, "key")) as unknown[];
          expect(word).to.equal(`${family}.${name}`.toUpperCase());
        }
      }
    }
    expect(specOf("JSON.GET").replyMapper).to.equal(null);
  });

  it("send JSON values as JSON, and bytes as they are", async () => {
    const value = { name: "Ada", tags: ["a"] };
    expect(await sentBy("json", "set", "k", "$", value, "NX")).to.deep.equal([
      "JSON.SET",
      "k",
      "$",
      '{"name":"Ada","tags":["a"]}',
      "NX",
    ]);
    expect(await sentBy("json", "set", "k", "$", "text")).to.include('"text"');
    expect(await sentBy("json", "set", "k", "$", [1, 2])).to.include("[1,2]");
    expect(await sentBy("json", "set", "k", "$", null)).to.include("null");
    expect(await sentBy("json", "set", "k", "$", Buffer.from("{}"))).to.deep.include(Buffer.from("{}"));
    expect(await sentBy("json", "mset", "a", "$", 1, "b", "$", [2])).to.deep.equal([
      "JSON.MSET",
      "a",
      "$",
      "1",
      "b",
      "$",
      "[2]",
    ]);
    expect(await sentBy("json", "arrinsert", "k", "$", 0, "x", {})).to.deep.equal([
      "JSON.ARRINSERT",
      "k",
      "$",
      "0",
      '"x"',
      "{}",
    ]);
    expect(await sentBy("json", "strappend", "k", "x")).to.deep.equal(["JSON.STRAPPEND", "k", '"x"']);
    expect(await sentBy("json", "strappend", "k", "$", "x")).to.include('"x"');
  });

  it("fail the call for a value without a JSON form", async () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    for (const [value, reason] of [
      [{ id: 1n }, "Do not know how to serialize a BigInt"],
      [cyclic, "Converting circular structure to JSON"],
      [undefined, "JSON.stringify() returns undefined"],
      [Symbol("s"), "JSON.stringify() returns undefined"],
    ] as const) {
      const outcome = await sentBy("json", "set", "k", "$", value).catch((error: unknown) => error);
      expect(outcome).to.include({
        code: "INVALID_ARGUMENT",
        message: `Argument 3 of "JSON.SET" cannot be sent: it has no JSON form: ${reason}`,
      });
    }
  });

  it("parse JSON texts, but not the bytes of the Buffer form", async () => {
    expect(await call("json", "get", ["k", "$"], RESP2, '[{"a":1}]')).to.deep.equal([{ a: 1 }]);
    expect(await call("json", "get", ["k"], RESP2, null)).to.equal(null);
    expect(await call("json", "mget", ["a", "b", "$"], RESP3, ["[1]", null])).to.deep.equal([[1], null]);
    expect(await call("json", "numincrby", ["k", "$", 1], RESP2, "[3]")).to.deep.equal([3]);
    expect(await call("json", "numincrby", ["k", "$", 1], RESP3, [3])).to.deep.equal([3]);
    expect(await call("json", "numincrby", ["k", "$", 1], LEGACY, ["3"])).to.deep.equal([3]);
    const bytes = Buffer.from("[1]");
    expect(await call("json", "getBuffer", ["k"], RESP2, bytes)).to.equal(bytes);
    const broken = Promise.resolve(call("json", "get", ["k"], RESP2, "{")).catch((error: unknown) => error);
    expect(await broken).to.be.instanceOf(SyntaxError);
  });

  it("return the documents of a search in one form", async () => {
    const documents = [
      { id: "a", fields: { name: "Ada", $: "{}" } },
      { id: "b", fields: {} },
    ];
    const listed = [7, "a", ["name", "Ada", "$", "{}"], "b", null];
    const results = [
      { id: "a", extra_attributes: { name: "Ada", $: "{}" }, values: [] },
      { id: "b", extra_attributes: null, values: [] },
    ];
    const flat = [
      ["id", "a", "extra_attributes", ["name", "Ada", "$", "{}"], "values", []],
      ["id", "b", "extra_attributes", null, "values", []],
    ];
    const expected = { total: 7, documents };
    const args = ["index", "*"];
    expect(await call("ft", "search", args, RESP2, listed)).to.deep.equal(expected);
    expect(
      await call("ft", "search", args, RESP3, { attributes: [], results, total_results: 7 }),
    ).to.deep.equal(expected);
    expect(await call("ft", "search", args, LEGACY, ["results", flat, "total_results", 7])).to.deep.equal(
      expected,
    );
  });

  it("read a search by the options that change its reply", async () => {
    const search = (options: unknown[], reply: unknown[]): unknown =>
      call("ft", "search", ["index", "NOCONTENT", ...options], RESP2, reply);
    expect(await search(["nocontent"], [2, "a", "b"])).to.deep.equal({
      total: 2,
      documents: [
        { id: "a", fields: {} },
        { id: "b", fields: {} },
      ],
    });
    expect(await search(["RETURN", 0], [1, "a"])).to.deep.equal({
      total: 1,
      documents: [{ id: "a", fields: {} }],
    });
    expect(await search([["WITHSCORES", "EXPLAINSCORE"]], [1, "a", ["0.5", []], ["f", "v"]])).to.deep.equal({
      total: 1,
      documents: [{ id: "a", score: 0.5, fields: { f: "v" } }],
    });
    const all = ["WITHSCORES", "WITHPAYLOADS", "WITHSORTKEYS"];
    expect(await search(all, [1, "a", "2", null, "$key", ["f", "v"]])).to.deep.equal({
      total: 1,
      documents: [{ id: "a", score: 2, payload: null, sortKey: "$key", fields: { f: "v" } }],
    });
    const mapped = {
      results: [{ id: "a", score: 2, payload: "p", sortkey: "$k", extra_attributes: {} }],
      total_results: 1,
    };
    expect(await call("ft", "search", ["index", "*"], RESP3, mapped)).to.deep.equal({
      total: 1,
      documents: [{ id: "a", score: 2, payload: "p", sortKey: "$k", fields: {} }],
    });
  });

  it("return the rows of an aggregation in one form, with the cursor", async () => {
    const rows = [{ city: "Paris", n: "2" }];
    const listed = [1, ["city", "Paris", "n", "2"]];
    const mapped = { total_results: 1, results: [{ extra_attributes: rows[0], values: [] }] };
    const flat = [
      "total_results",
      1,
      "results",
      [["extra_attributes", ["city", "Paris", "n", "2"], "values", []]],
    ];
    for (const [shape, page] of [
      [RESP2, listed],
      [RESP3, mapped],
      [LEGACY, flat],
    ] as const) {
      expect(await call("ft", "aggregate", ["i", "*"], shape, page)).to.deep.equal({ total: 1, rows });
      expect(await call("ft", "aggregate", ["i", "*"], shape, [page, 42])).to.deep.equal({
        total: 1,
        rows,
        cursor: 42,
      });
    }
  });

  it("return series in one form", async () => {
    const samples = [[1000, "1.5"]];
    const expected = [{ key: "s", labels: { a: "b", none: null }, samples }];
    const replies = [
      [
        RESP2,
        [
          [
            "s",
            [
              ["a", "b"],
              ["none", null],
            ],
            samples,
          ],
        ],
      ],
      [LEGACY, ["s", [["a", "b", "none", null], ["aggregators", []], samples]]],
      [RESP3, { s: [{ a: "b", none: null }, { aggregators: [] }, samples] }],
    ] as const;
    for (const [shape, reply] of replies) {
      expect(
        await call("ts", "mrange", ["-", "+", "FILTER", "a=b"], shape, structuredClone(reply)),
      ).to.deep.equal(expected);
    }
    const last = [
      ["s", [], [1000, "1.5"]],
      ["empty", [], []],
    ];
    expect(await call("ts", "mget", ["FILTER", "a=b"], RESP2, last)).to.deep.equal([
      { key: "s", labels: {}, samples },
      { key: "empty", labels: {}, samples: [] },
    ]);
    for (const empty of [[], {}])
      expect(await call("ts", "mget", ["FILTER", "a=b"], RESP2, empty)).to.deep.equal([]);
  });

  it("return facts as objects", async () => {
    for (const [shape, reply] of [
      [RESP2, ["Size", 2]],
      [RESP3, { Size: 2 }],
    ] as const) {
      expect(await call("bf", "info", ["k"], shape, reply)).to.deep.equal({ Size: 2 });
    }
  });

  it("return the facts of a series in one form", async () => {
    const expected = { total: 1, labels: { a: "b" }, rules: { avg: [1000, "AVG", 0] } };
    const listed = ["total", 1, "labels", [["a", "b"]], "rules", [["avg", 1000, "AVG", 0]]];
    const flat = ["total", 1, "labels", ["a", "b"], "rules", ["avg", [1000, "AVG", 0]]];
    for (const [shape, reply] of [
      [RESP2, listed],
      [LEGACY, flat],
      [RESP3, structuredClone(expected)],
    ] as const) {
      expect(await call("ts", "info", ["s"], shape, reply)).to.deep.equal(expected);
    }
    const debug = [...listed, "Chunks", [["samples", 2]]];
    expect(await call("ts", "info", ["s", "DEBUG"], RESP2, debug)).to.deep.equal({
      ...expected,
      Chunks: [{ samples: 2 }],
    });
  });

  it("return one fact of a filter by its name", async () => {
    for (const [shape, reply] of [
      [RESP2, [100]],
      [LEGACY, ["Capacity", 100]],
      [RESP3, { Capacity: 100 }],
    ] as const) {
      expect(await call("bf", "info", ["k", "capacity"], shape, reply)).to.deep.equal({ Capacity: 100 });
    }
  });

  it("return groups of series with their labels, and pages of a cursor, in one form", async () => {
    const labels = { a: "b", __reducer__: "sum", __source__: "s,t" };
    const expected = [{ key: "a=b", labels, samples: [[1000, "3"]] }];
    const args = ["-", "+", "withlabels", "FILTER", "a=b", "GROUPBY", "a", "REDUCE", "sum"];
    const listed = [["a=b", Object.entries(labels), [[1000, "3"]]]];
    const mapped = { "a=b": [{ a: "b" }, { reducers: ["sum"] }, { sources: ["s", "t"] }, [[1000, "3"]]] };
    expect(await call("ts", "mrange", args, RESP2, listed)).to.deep.equal(expected);
    expect(await call("ts", "mrange", args, RESP3, mapped)).to.deep.equal(expected);
    const page = [[1, ["n", "2"]], 7];
    expect(await call("ft", "cursor", ["READ", "i", 5], RESP2, page)).to.deep.equal({
      total: 1,
      rows: [{ n: "2" }],
      cursor: 7,
    });
    expect(await call("ft", "cursor", ["DEL", "i", 5], RESP2, "OK")).to.equal("OK");
  });
});
