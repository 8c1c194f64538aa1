/**
 * Calls of every method of module commands, in an order in which they find the data they need, with the replies of
 * Redis 7.4 with its modules. FT.CURSOR and the dumps of filters need values of an earlier reply; their test is apart.
 */

import { expect } from "chai";

/**
 * The replies: one for all forms; or one for the mapping `legacy` and one for `resp3`; or one for RESP2 and one each for
 * the mappings of RESP3. An error is its message. Of an object with facts only the named ones count.
 */
type Replies =
  | readonly [all: unknown, resp3?: unknown]
  | readonly [resp2: unknown, legacy: unknown, resp3: unknown];

export type ModuleCall = readonly [name: string, args: readonly unknown[], ...replies: Replies];

const USER = { name: "Ada", visits: 1, tags: ["a", "b"], on: true, at: { x: 1 } };
const TWICE = "ERR TSDB: Error at upsert, update is not supported when DUPLICATE_POLICY is set to BLOCK mode";

const JSON_CALLS: readonly ModuleCall[] = [
  ["json.set", ["doc", "$", USER], "OK"],
  ["json.set", ["doc", "$", {}, "NX"], null],
  ["json.get", ["doc"], USER],
  ["json.get", ["doc", "$"], [USER]],
  ["json.get", ["doc", ".name"], "Ada"],
  ["json.get", ["doc", "$.name", "$.visits"], { "$.name": ["Ada"], "$.visits": [1] }],
  ["json.get", ["none", "$"], null],
  ["json.mset", ["doc2", "$", { name: "Grace" }, "doc3", "$", [1, "x"]], "OK"],
  ["json.mget", ["doc", "none", "doc2", "$.name"], [["Ada"], null, ["Grace"]]],
  ["json.mget", ["doc", "none", ".name"], ["Ada", null]],
  ["json.merge", ["doc", "$", { extra: null, age: 36 }], "OK"],
  ["json.type", ["doc", "$.tags"], ["array"], [["array"]], [["array"]]],
  ["json.type", ["doc", ".tags"], "array", ["array"], ["array"]],
  ["json.type", ["none", "$"], null, [null], [null]],
  ["json.arrappend", ["doc", "$.tags", "c", { d: 1 }], [4]],
  ["json.arrappend", ["doc", ".tags", "e"], 5],
  ["json.arrindex", ["doc", "$.tags", "b"], [1]],
  ["json.arrindex", ["doc", "$.tags", "b", 0, 1], [-1]],
  ["json.arrindex", ["doc", ".tags", { d: 1 }], 3],
  ["json.arrinsert", ["doc", "$.tags", 0, "z", null], [7]],
  ["json.arrlen", ["doc", "$.tags"], [7]],
  ["json.arrlen", ["doc", ".tags"], 7],
  ["json.arrlen", ["doc", "$.name"], [null]],
  ["json.arrpop", ["doc", "$.tags"], ["e"]],
  ["json.arrpop", ["doc", "$.tags", 0], ["z"]],
  ["json.arrpop", ["doc", ".tags"], { d: 1 }],
  ["json.arrpop", ["doc3"], "x"],
  ["json.arrpop", ["doc", "$.name"], [null]],
  ["json.arrtrim", ["doc", "$.tags", 0, 1], [2]],
  ["json.numincrby", ["doc", "$.visits", 2], [3]],
  ["json.numincrby", ["doc", ".visits", 0.5], 3.5, [3.5], [3.5]],
  ["json.numincrby", ["doc", "$.name", 1], [null]],
  ["json.nummultby", ["doc", "$.visits", 2], [7]],
  ["json.nummultby", ["doc", ".visits", 2], 14, [14], [14]],
  ["json.objkeys", ["doc", "$.at"], [["x"]]],
  ["json.objkeys", ["doc", ".at"], ["x"]],
  ["json.objkeys", ["none"], null],
  ["json.objlen", ["doc", "$.at"], [1]],
  ["json.objlen", ["doc", ".at"], 1],
  ["json.resp", ["doc", "$.tags"], [["[", null, "a"]]],
  ["json.strappend", ["doc", "$.name", "!"], [4]],
  ["json.set", ["text", "$", "a"], "OK"],
  ["json.strappend", ["text", "b"], 2],
  ["json.strlen", ["doc", "$.name"], [4]],
  ["json.strlen", ["text"], 2],
  ["json.toggle", ["doc", "$.on"], [0]],
  ["json.toggle", ["doc", ".on"], "true"],
  ["json.toggle", ["doc", "$.name"], [null]],
  ["json.clear", ["doc", "$.tags"], 1],
  ["json.del", ["doc", "$.age"], 1],
  ["json.forget", ["doc", "$.at"], 1],
  ["json.get", ["doc", "$"], [{ name: "Ada!", visits: 14, tags: [], on: true }]],
  ["json.strlen", ["doc"], "WRONGTYPE wrong type of path value - expected string but found object"],
];

const MOON = { title: "hello moon", tag: "blue", n: "2" };
const HELLO = { title: "hello world", tag: "red,green", n: "1" };
const FOUND = { total: 1, documents: [{ id: "h:2", fields: MOON }] };

/** The scan of an index would read new documents twice, which changes their scores. */
const SEARCH_CALLS: readonly ModuleCall[] = [
  [
    "ft.create",
    "idx ON HASH PREFIX 1 h: SKIPINITIALSCAN SCHEMA title TEXT SORTABLE tag TAG n NUMERIC SORTABLE".split(
      " ",
    ),
    "OK",
  ],
  ["ft.create", "jdx ON JSON PREFIX 1 j: SKIPINITIALSCAN SCHEMA $.name AS name TEXT".split(" "), "OK"],
  ["ft.alter", ["idx", "SKIPINITIALSCAN", "SCHEMA", "ADD", "more", "TAG"], "OK"],
  ["ft.synupdate", ["idx", "people", "SKIPINITIALSCAN", "boy", "child"], "OK"],
  ["ft.syndump", ["idx"], { boy: ["people"], child: ["people"] }],
  ["hset", ["h:1", HELLO], 3],
  ["hset", ["h:2", MOON], 3],
  ["json.set", ["j:1", "$", { name: "Ada" }], "OK"],
  ["ft._list", [], ["idx", "jdx"]],
  [
    "ft.search",
    ["idx", "hello"],
    {
      total: 2,
      documents: [
        { id: "h:1", fields: HELLO },
        { id: "h:2", fields: MOON },
      ],
    },
  ],
  ["ft.search", ["idx", "hello", "SORTBY", "n", "DESC", "LIMIT", 0, 1], { ...FOUND, total: 2 }],
  ["ft.search", ["idx", "moon", "NOCONTENT"], { total: 1, documents: [{ id: "h:2", fields: {} }] }],
  ["ft.search", ["idx", "moon", "RETURN", 0], { total: 1, documents: [{ id: "h:2", fields: {} }] }],
  [
    "ft.search",
    ["idx", "moon", "RETURN", 1, "title"],
    { total: 1, documents: [{ id: "h:2", fields: { title: "hello moon" } }] },
  ],
  [
    "ft.search",
    ["idx", "moon", "WITHSCORES", "EXPLAINSCORE"],
    { total: 1, documents: [{ id: "h:2", fields: MOON, score: 2 }] },
  ],
  [
    "ft.search",
    ["idx", "moon", "WITHSORTKEYS", "WITHSCORES", "WITHPAYLOADS", "SORTBY", "n"],
    { total: 1, documents: [{ id: "h:2", fields: MOON, score: 2, payload: null, sortKey: "#2" }] },
  ],
  ["ft.search", ["idx", "@n:[$a $b]", "PARAMS", 4, "a", 2, "b", 9, "DIALECT", 2], FOUND],
  ["ft.search", ["idx", "none"], { total: 0, documents: [] }],
  ["ft.search", ["none", "a"], "none: no such index"],
  ["ft.search", ["jdx", "*"], { total: 1, documents: [{ id: "j:1", fields: { $: '{"name":"Ada"}' } }] }],
  [
    "ft.aggregate",
    ["idx", "*", "GROUPBY", 1, "@n", "REDUCE", "COUNT", 0, "AS", "c", "SORTBY", 2, "@n", "DESC"],
    {
      total: 2,
      rows: [
        { n: "2", c: "1" },
        { n: "1", c: "1" },
      ],
    },
  ],
  [
    "ft.aggregate",
    ["idx", "*", "GROUPBY", 0, "REDUCE", "TOLIST", 1, "@title", "AS", "titles"],
    { total: 1, rows: [{ titles: ["hello world", "hello moon"] }] },
  ],
  ["ft.aggregate", ["idx", "none"], { total: 0, rows: [] }],
  ["ft.aliasadd", ["alias", "idx"], "OK"],
  ["ft.aliasupdate", ["alias", "idx"], "OK"],
  ["ft.search", ["alias", "moon"], FOUND],
  ["ft.aliasdel", ["alias"], "OK"],
  ["ft.dictadd", ["dictionary", "one", "two"], 2],
  ["ft.dictdump", ["dictionary"], ["one", "two"]],
  ["ft.dictdel", ["dictionary", "one", "two"], 2],
  ["ft.explain", ["idx", "hello"], "UNION {\n  hello\n  +hello(expanded)\n}\n"],
  ["ft.explaincli", ["idx", "hello"], ["UNION {", "  hello", "  +hello(expanded)", "}", ""]],
  ["ft.info", ["idx"], { index_name: "idx", num_docs: 2 }],
  ["ft.sugadd", ["sug", "hello world", 1], 1],
  ["ft.sugadd", ["sug", "hello moon", 1, "INCR", "PAYLOAD", "p"], 2],
  ["ft.sugget", ["sug", "hello"], ["hello moon", "hello world"]],
  ["ft.sugget", ["sug", "hello", "WITHPAYLOADS"], ["hello moon", "p", "hello world", null]],
  [
    "ft.sugget",
    ["sug", "hello moon", "WITHSCORES"],
    ["hello moon", "2147483648"],
    ["hello moon", 2147483648],
  ],
  ["ft.sugget", ["sug", "zzz", "FUZZY", "MAX", 1], []],
  ["ft.sugget", ["none", "zzz"], null],
  ["ft.suglen", ["sug"], 2],
  ["ft.sugdel", ["sug", "hello moon"], 1],
  ["ft.tagvals", ["idx", "tag"], ["blue", "green", "red"]],
];

/** A series with values as the mapping has them. */
function series(key: string, labels: object, ...samples: readonly (readonly [number, number])[]): Replies {
  const texts = samples.map(([time, value]) => [time, String(value)]);
  return [[{ key, labels, samples: texts }], [{ key, labels, samples }]];
}

const LABELS = { host: "a", kind: "cpu" };
const SERIES_CALLS: readonly ModuleCall[] = [
  ["ts.create", ["cpu", "RETENTION", 0, "LABELS", "host", "a"], "OK"],
  ["ts.alter", ["cpu", "LABELS", "host", "a", "kind", "cpu"], "OK"],
  ["ts.create", ["avg", "LABELS", "host", "b"], "OK"],
  ["ts.createrule", ["cpu", "avg", "AGGREGATION", "avg", 1000], "OK"],
  ["ts.add", ["cpu", 1000, 1.5], 1000],
  ["ts.add", ["cpu", 1000, 2], TWICE],
  ["ts.add", ["cpu", 2000, 2.5, "ON_DUPLICATE", "LAST"], 2000],
  ["ts.madd", ["cpu", 3000, 3, "cpu", 2000, 1], [3000, TWICE]],
  ["ts.incrby", ["count", 1, "TIMESTAMP", 1000, "LABELS", "host", "c"], 1000],
  ["ts.decrby", ["count", 3, "TIMESTAMP", 2000], 2000],
  ["ts.create", ["empty", "LABELS", "host", "z"], "OK"],
  ["ts.get", ["cpu"], [3000, "3"], [3000, 3]],
  ["ts.get", ["avg", "LATEST"], [3000, "3"], [3000, 3]],
  ["ts.get", ["empty"], []],
  ["ts.range", ["cpu", 1000, "+", "COUNT", 1], [[1000, "1.5"]], [[1000, 1.5]]],
  ["ts.range", ["empty", "-", "+"], []],
  ["ts.revrange", ["cpu", "-", "+", "AGGREGATION", "sum", 9000], [[0, "7"]], [[0, 7]]],
  ["ts.mget", ["FILTER", "host=a"], ...series("cpu", {}, [3000, 3])],
  ["ts.mget", ["WITHLABELS", "FILTER", "host=a"], ...series("cpu", LABELS, [3000, 3])],
  [
    "ts.mget",
    ["SELECTED_LABELS", "host", "none", "FILTER", "host=a"],
    ...series("cpu", { host: "a", none: null }, [3000, 3]),
  ],
  ["ts.mget", ["FILTER", "host=z"], ...series("empty", {})],
  ["ts.mget", ["FILTER", "host=none"], []],
  ["ts.mrange", ["-", 2000, "FILTER", "host=a"], ...series("cpu", {}, [1000, 1.5], [2000, 2.5])],
  [
    "ts.mrange",
    ["-", "+", "WITHLABELS", "AGGREGATION", "sum", 9000, "FILTER", "host=a"],
    ...series("cpu", LABELS, [0, 7]),
  ],
  [
    "ts.mrange",
    ["-", 1000, "WITHLABELS", "FILTER", "host=(a,b)", "GROUPBY", "host", "REDUCE", "sum"],
    [
      {
        key: "host=a",
        labels: { host: "a", __reducer__: "sum", __source__: "cpu" },
        samples: [[1000, "1.5"]],
      },
      {
        key: "host=b",
        labels: { host: "b", __reducer__: "sum", __source__: "avg" },
        samples: [[1000, "1.5"]],
      },
    ],
    [
      { key: "host=a", labels: { host: "a", __reducer__: "sum", __source__: "cpu" }, samples: [[1000, 1.5]] },
      { key: "host=b", labels: { host: "b", __reducer__: "sum", __source__: "avg" }, samples: [[1000, 1.5]] },
    ],
  ],
  [
    "ts.mrange",
    ["-", 1000, "FILTER", "host=a", "GROUPBY", "host", "REDUCE", "max"],
    ...series("host=a", {}, [1000, 1.5]),
  ],
  ["ts.mrevrange", ["-", "+", "COUNT", 1, "FILTER", "host=c"], ...series("count", {}, [2000, -2])],
  ["ts.queryindex", ["host=(a,c)"], ["count", "cpu"]],
  ["ts.info", ["cpu"], { totalSamples: 3, labels: LABELS, rules: { avg: [1000, "AVG", 0] } }],
  ["ts.info", ["avg", "DEBUG"], { sourceKey: "cpu", labels: { host: "b" }, rules: {} }],
  ["ts.deleterule", ["cpu", "avg"], "OK"],
  ["ts.del", ["cpu", 1000, 2000], 2],
];

const FILTER_CALLS: readonly ModuleCall[] = [
  ["bf.reserve", ["bf", 0.01, 100, "EXPANSION", 2], "OK"],
  ["bf.add", ["bf", "a"], 1, true],
  ["bf.add", ["bf", "a"], 0, false],
  ["bf.madd", ["bf", "a", "b"], [0, 1], [false, true]],
  ["bf.exists", ["bf", "a"], 1, true],
  ["bf.mexists", ["bf", "a", "z"], [1, 0], [true, false]],
  ["bf.card", ["bf"], 2],
  ["bf.info", ["bf"], { Capacity: 100, "Number of items inserted": 2 }],
  ["bf.info", ["bf", "CAPACITY"], { Capacity: 100 }],
  ["bf.info", ["bf", "SIZE"], { Size: 240 }],
  ["bf.info", ["bf", "FILTERS"], { "Number of filters": 1 }],
  ["bf.info", ["bf", "ITEMS"], { "Number of items inserted": 2 }],
  ["bf.info", ["bf", "EXPANSION"], { "Expansion rate": 2 }],
  ["bf.insert", ["bf2", "CAPACITY", 100, "ERROR", 0.01, "ITEMS", "a", "b"], [1, 1], [true, true]],
  ["bf.insert", ["none", "NOCREATE", "ITEMS", "a"], "ERR not found"],
  ["cf.reserve", ["cf", 100, "BUCKETSIZE", 2, "MAXITERATIONS", 20, "EXPANSION", 1], "OK"],
  ["cf.add", ["cf", "a"], 1, true],
  ["cf.addnx", ["cf", "a"], 0, false],
  ["cf.insert", ["cf", "ITEMS", "a", "c"], [1, 1], [true, true]],
  ["cf.insertnx", ["cf", "CAPACITY", 100, "ITEMS", "a", "d"], [0, 1], [0, 1]],
  ["cf.exists", ["cf", "a"], 1, true],
  ["cf.mexists", ["cf", "a", "z"], [1, 0], [true, false]],
  ["cf.count", ["cf", "a"], 2],
  ["cf.del", ["cf", "a"], 1, true],
  ["cf.info", ["cf"], { "Bucket size": 2, "Number of items inserted": 3 }],
];

const SKETCH_CALLS: readonly ModuleCall[] = [
  ["cms.initbydim", ["cms", 100, 3], "OK"],
  ["cms.initbyprob", ["cms2", 0.01, 0.01], "OK"],
  ["cms.initbydim", ["cms3", 100, 3], "OK"],
  ["cms.incrby", ["cms", "a", 2, "b", 1], [2, 1]],
  ["cms.merge", ["cms3", 1, "cms"], "OK"],
  ["cms.merge", ["cms3", 2, "cms", "cms3", "WEIGHTS", 2, 1], "OK"],
  ["cms.query", ["cms3", "a", "z"], [6, 0]],
  ["cms.info", ["cms"], { width: 100, depth: 3, count: 3 }],
  ["cms.info", ["none"], "CMS: key does not exist"],
  ["topk.reserve", ["topk", 2, 1009, 5, 0.9], "OK"],
  ["topk.add", ["topk", "a", "b"], [null, null]],
  ["topk.incrby", ["topk", "a", 3, "b", 1, "c", 9], [null, null, "b"]],
  ["topk.query", ["topk", "a", "z"], [1, 0], [true, false]],
  ["topk.count", ["topk", "a", "z"], [4, 0]],
  ["topk.list", ["topk"], ["c", "a"]],
  ["topk.list", ["topk", "WITHCOUNT"], ["c", 9, "a", 4]],
  ["topk.info", ["topk"], { k: 2, width: 1009, depth: 5 }],
  ["tdigest.create", ["td", "COMPRESSION", 100], "OK"],
  ["tdigest.create", ["td2"], "OK"],
  ["tdigest.add", ["td", 1, 2, 3], "OK"],
  ["tdigest.merge", ["td2", 1, "td", "COMPRESSION", 50, "OVERRIDE"], "OK"],
  ["tdigest.min", ["td2"], "1", 1],
  ["tdigest.max", ["td2"], "3", 3],
  ["tdigest.quantile", ["td", 0, 0.5, 1], ["1", "2", "3"], [1, 2, 3]],
  ["tdigest.cdf", ["td", 2, 9], ["0.5", "1"], [0.5, 1]],
  ["tdigest.rank", ["td", 0, 2], [-1, 1]],
  ["tdigest.revrank", ["td", 0, 2], [3, 1]],
  ["tdigest.byrank", ["td", 0, 9], ["1", "inf"], [1, Infinity]],
  ["tdigest.byrevrank", ["td", 0, 9], ["3", "-inf"], [3, -Infinity]],
  ["tdigest.trimmed_mean", ["td", 0.1, 0.9], "2", 2],
  ["tdigest.info", ["td"], { Compression: 100, Observations: 3 }],
  ["tdigest.reset", ["td"], "OK"],
  ["tdigest.min", ["td"], "nan", NaN],
];

/** The index of the documents is gone after these, so that the calls can be repeated. */
const LAST_CALLS: readonly ModuleCall[] = [
  ["ft.dropindex", ["jdx"], "OK"],
  ["ft.dropindex", ["idx", "DD"], "OK"],
  ["exists", ["h:1", "h:2", "j:1"], 1],
];

export const MODULE_CALLS: readonly ModuleCall[] = [
  ...JSON_CALLS,
  ...SEARCH_CALLS,
  ...SERIES_CALLS,
  ...FILTER_CALLS,
  ...SKETCH_CALLS,
  ...LAST_CALLS,
];

/** The options of a client that replies depend on. */
export interface ReplyForm {
  readonly protocol: 2 | 3;
  readonly replyMapping: "legacy" | "resp3";
}

type Method = (...args: readonly unknown[]) => unknown;

/** Calls a method of a client or pipeline: `json.set`, or one without a family. */
export function invoke(owner: object, name: string, args: readonly unknown[]): unknown {
  const [family, member] = name.includes(".") ? name.split(".") : [undefined, name];
  const target = family === undefined ? owner : (Reflect.get(owner, family) as object);
  return Reflect.apply(Reflect.get(target, member ?? "") as Method, target, args);
}

function expectedIn({ protocol, replyMapping }: ReplyForm, [, , ...replies]: ModuleCall): unknown {
  const [first] = replies;
  if (replyMapping === "resp3") return replies.at(-1);
  return protocol === 3 && replies.length === 3 ? replies[1] : first;
}

/** Errors as their messages. */
function plain(value: unknown): unknown {
  if (value instanceof Error) return value.message;
  return Array.isArray(value) ? value.map(plain) : value;
}

/** Compares a reply, or an error, with what the call expects. */
export function checkReply(form: ReplyForm, call: ModuleCall, value: unknown): void {
  const [name, args] = call;
  const expected = expectedIn(form, call);
  const title = [name, ...args].join(" ");
  const isPartial = name.endsWith(".info") && typeof expected === "object";
  if (isPartial) expect(plain(value), title).to.deep.include(expected as object);
  else expect(plain(value), title).to.deep.equal(expected);
}
