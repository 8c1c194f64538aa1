/**
 * The commands of the modules that servers ship: JSON, search, time series, and the probabilistic types. They
 * were written by hand from their documentation and compared with Redis 7.4 and its modules
 * (test/integration/modules.test.ts). One line per command: its arguments in the notation of `syntax.ts`,
 * then further forms, and the reply of the method of `redis.json` and its siblings.
 *
 * `call` is the reply as the server sends it; it is left out where the method returns the same.
 */

import type { ReplyText } from "./replies";

export interface ModuleCommand {
  readonly syntax: readonly string[];
  readonly reply: ReplyText;
  readonly call?: string;
  /** The method parses JSON. Its twin with Buffers does not, so it returns the same as `call`. */
  readonly isParsed?: boolean;
}

export interface ModuleFamily {
  /** The name for titles. */
  readonly title: string;
  /** The key positions of its commands, in the notation of src/command/key-positions.ts. */
  readonly keys: string;
  /** The key positions of the commands that differ. */
  readonly otherKeys?: Readonly<Record<string, string>>;
  readonly commands: Readonly<Record<string, ModuleCommand>>;
}

const OK = '"OK"';
const FLAG = "number => boolean";
const FLAGS = "number[] => boolean[]";
const INFO = "Record<string, unknown>";
const DOUBLE = "V => number";
const DOUBLES = "V[] => number[]";
const SAMPLE = "[timestamp: number, value: V]";
const SAMPLES = `${SAMPLE}[] => [timestamp: number, value: number][]`;
const SERIES = "TimeSeries<V>[] => TimeSeries<number>[]";
/** With their scores; a suggestion without a payload has null. */
const SUGGESTIONS = "(V | null)[] | null => (V | number | null)[] | null";
/** JSON texts, which the methods parse. */
const JSON_TEXT = "V | null";
const ANY = "args:ModuleValue ...";

function of(syntax: string | readonly string[], reply: ReplyText, call?: string): ModuleCommand {
  const forms = typeof syntax === "string" ? [syntax] : syntax;
  return call === undefined ? { syntax: forms, reply } : { syntax: forms, reply, call };
}

function parsed(syntax: string | readonly string[], reply: string, call: string): ModuleCommand {
  return { ...of(syntax, reply, call), isParsed: true };
}

const PATH = "key! [path]";
const JSON_COMMANDS = {
  arrappend: of("key! path value:unknown ...", "JsonMatches<number>"),
  arrindex: of("key! path value:unknown [start# [stop#]]", "JsonMatches<number>"),
  arrinsert: of("key! path index# value:unknown ...", "JsonMatches<number>"),
  arrlen: of(PATH, "JsonMatches<number>"),
  arrpop: parsed("key! [path [index#]]", "T", "V | (V | null)[] | null"),
  arrtrim: of("key! path start# stop#", "JsonMatches<number>"),
  clear: of(PATH, "number"),
  del: of(PATH, "number"),
  forget: of(PATH, "number"),
  get: parsed(["key!", "key! path..."], "T | null", JSON_TEXT),
  merge: of("key! path value:unknown", OK),
  mget: parsed("key!... path", "(T | null)[]", "(V | null)[]"),
  mset: of("key! path value:unknown args:unknown ...", OK),
  numincrby: parsed("key! path increment#", "JsonMatches<number>", "unknown"),
  nummultby: parsed("key! path factor#", "JsonMatches<number>", "unknown"),
  objkeys: of(PATH, "JsonMatches<V[]>"),
  objlen: of(PATH, "JsonMatches<number>"),
  resp: of(PATH, "unknown"),
  set: of("key! path value:unknown [NX|XX]", '"OK" | null'),
  strappend: of(["key! path value:unknown", "key! value:unknown"], "JsonMatches<number>"),
  strlen: of(PATH, "JsonMatches<number>"),
  toggle: of("key! path", "JsonMatches<number> | V"),
  type: of(PATH, "unknown"),
} as const;

const SEARCH_COMMANDS = {
  _list: of("", "V[]"),
  aggregate: of(`index query ${ANY}`, "SearchRows<V>", "unknown"),
  aliasadd: of("alias index", OK),
  aliasdel: of("alias", OK),
  aliasupdate: of("alias index", OK),
  alter: of(`index ${ANY}`, OK),
  create: of(`index ${ANY}`, OK),
  cursor: of(
    ["READ index cursor-id# [COUNT count#]", "DEL index cursor-id#"],
    { READ: "SearchRows<V>", else: OK },
    "unknown",
  ),
  dictadd: of("dictionary term...", "number"),
  dictdel: of("dictionary term...", "number"),
  dictdump: of("dictionary", "V[]"),
  dropindex: of("index [DD]", OK),
  explain: of("index query [DIALECT dialect#]", "V"),
  explaincli: of("index query [DIALECT dialect#]", "V[]"),
  hybrid: of(`index ${ANY}`, "unknown"),
  info: of("index", INFO, "unknown"),
  profile: of(`index ${ANY}`, "unknown"),
  search: of(`index query ${ANY}`, "SearchReply<V>", "unknown"),
  spellcheck: of(`index query ${ANY}`, "unknown"),
  sugadd: of("key! text score# [INCR] [PAYLOAD payload]", "number"),
  sugdel: of("key! text", "number"),
  sugget: of(
    "key! prefix [FUZZY] [WITHSCORES] [WITHPAYLOADS] [MAX count#]",
    { WITHSCORES: SUGGESTIONS, WITHPAYLOADS: "(V | null)[] | null", else: "V[] | null" },
    "unknown",
  ),
  suglen: of("key!", "number"),
  syndump: of("index", "Record<string, V[]>", "unknown"),
  synupdate: of("index group [SKIPINITIALSCAN] term...", OK),
  tagvals: of("index field", "V[]"),
} as const;

const SERIES_COMMANDS = {
  add: of(`key! timestamp value# ${ANY}`, "number"),
  alter: of(`key! ${ANY}`, OK),
  create: of(`key! ${ANY}`, OK),
  createrule: of("source! destination! AGGREGATION aggregator bucket-duration# [align-timestamp#]", OK),
  decrby: of(`key! subtrahend# ${ANY}`, "number"),
  del: of("key! from# to#", "number"),
  deleterule: of("source! destination!", OK),
  get: of("key! [LATEST]", `${SAMPLE} | [] => [timestamp: number, value: number] | []`),
  incrby: of(`key! addend# ${ANY}`, "number"),
  info: of("key! [DEBUG]", INFO, "unknown"),
  madd: of("(key! timestamp value#) ...", "(number | Error)[]"),
  mget: of(ANY, SERIES, "unknown"),
  mrange: of(`from to ${ANY}`, SERIES, "unknown"),
  mrevrange: of(`from to ${ANY}`, SERIES, "unknown"),
  queryindex: of("filter...", "V[]"),
  range: of(`key! from to ${ANY}`, SAMPLES),
  revrange: of(`key! from to ${ANY}`, SAMPLES),
} as const;

const DUMP = "[iterator: number, data: V | null]";
const BLOOM_COMMANDS = {
  add: of("key! item", FLAG),
  card: of("key!", "number"),
  exists: of("key! item", FLAG),
  info: of("key! [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION]", INFO, "unknown"),
  insert: of(
    "key! [CAPACITY capacity#] [ERROR error#] [EXPANSION expansion#] [NOCREATE] [NONSCALING] ITEMS item...",
    FLAGS,
  ),
  loadchunk: of("key! iterator# data", OK),
  madd: of("key! item...", FLAGS),
  mexists: of("key! item...", FLAGS),
  reserve: of("key! error-rate# capacity# [EXPANSION expansion#] [NONSCALING]", OK),
  scandump: of("key! iterator#", DUMP),
} as const;

const CUCKOO_COMMANDS = {
  add: of("key! item", FLAG),
  addnx: of("key! item", FLAG),
  count: of("key! item", "number"),
  del: of("key! item", FLAG),
  exists: of("key! item", FLAG),
  info: of("key!", INFO, "unknown"),
  insert: of("key! [CAPACITY capacity#] [NOCREATE] ITEMS item...", FLAGS),
  insertnx: of("key! [CAPACITY capacity#] [NOCREATE] ITEMS item...", "number[]"),
  loadchunk: of("key! iterator# data", OK),
  mexists: of("key! item...", FLAGS),
  reserve: of(
    "key! capacity# [BUCKETSIZE bucketsize#] [MAXITERATIONS maxiterations#] [EXPANSION expansion#]",
    OK,
  ),
  scandump: of("key! iterator#", DUMP),
} as const;

const SKETCH_COMMANDS = {
  incrby: of("key! (item increment#)...", "number[]"),
  info: of("key!", INFO, "unknown"),
  initbydim: of("key! width# depth#", OK),
  initbyprob: of("key! error# probability#", OK),
  merge: of(["destination! numkeys# source!... WEIGHTS weight#...", "destination! numkeys# source!..."], OK),
  query: of("key! item...", "number[]"),
} as const;

const TOP_COMMANDS = {
  add: of("key! item...", "(V | null)[]"),
  count: of("key! item...", "number[]"),
  incrby: of("key! (item increment#)...", "(V | null)[]"),
  info: of("key!", INFO, "unknown"),
  list: of("key! [WITHCOUNT]", { WITHCOUNT: "(V | number)[]", else: "V[]" }, "unknown[]"),
  query: of("key! item...", FLAGS),
  reserve: of("key! topk# [width# depth# decay#]", OK),
} as const;

const DIGEST_COMMANDS = {
  add: of("key! value#...", OK),
  byrank: of("key! rank#...", DOUBLES),
  byrevrank: of("key! reverse-rank#...", DOUBLES),
  cdf: of("key! value#...", DOUBLES),
  create: of("key! [COMPRESSION compression#]", OK),
  info: of("key!", INFO, "unknown"),
  max: of("key!", DOUBLE),
  merge: of("destination! numkeys# source!... [COMPRESSION compression#] [OVERRIDE]", OK),
  min: of("key!", DOUBLE),
  quantile: of("key! quantile#...", DOUBLES),
  rank: of("key! value#...", "number[]"),
  reset: of("key!", OK),
  revrank: of("key! value#...", "number[]"),
  trimmed_mean: of("key! low-cut-quantile# high-cut-quantile#", DOUBLE),
} as const;

const FIRST_KEY = "r0.0.1";
const NO_KEY = "-";
/** Names of search indexes are not keys, because every node answers for all of them. Suggestion dictionaries are keys. */
const SUGGESTION_KEYS = { sugadd: FIRST_KEY, sugget: FIRST_KEY, sugdel: FIRST_KEY, suglen: FIRST_KEY };
const SERIES_KEYS = {
  madd: "r0.-1.3",
  createrule: "r0.1.1",
  deleterule: "r0.1.1",
  // These commands select by labels.
  mget: NO_KEY,
  mrange: NO_KEY,
  mrevrange: NO_KEY,
  queryindex: NO_KEY,
};
/** destination numkeys source ... */
const MERGE_KEYS = { merge: "d1.2.1" };

/** By the part of the names before the dot. */
export const MODULES: Readonly<Record<string, ModuleFamily>> = {
  json: {
    title: "JSON",
    keys: FIRST_KEY,
    otherKeys: { debug: "s", mget: "r0.-2.1", mset: "r0.-1.3" },
    commands: JSON_COMMANDS,
  },
  ft: { title: "Search", keys: NO_KEY, otherKeys: SUGGESTION_KEYS, commands: SEARCH_COMMANDS },
  ts: { title: "TimeSeries", keys: FIRST_KEY, otherKeys: SERIES_KEYS, commands: SERIES_COMMANDS },
  bf: { title: "Bloom", keys: FIRST_KEY, commands: BLOOM_COMMANDS },
  cf: { title: "Cuckoo", keys: FIRST_KEY, commands: CUCKOO_COMMANDS },
  cms: { title: "CountMin", keys: FIRST_KEY, otherKeys: MERGE_KEYS, commands: SKETCH_COMMANDS },
  topk: { title: "TopK", keys: FIRST_KEY, commands: TOP_COMMANDS },
  tdigest: { title: "TDigest", keys: FIRST_KEY, otherKeys: MERGE_KEYS, commands: DIGEST_COMMANDS },
};

/** The subcommands of module commands, as in the details of the command table. JSON.DEBUG HELP has no key. */
export const MODULE_DETAILS: Readonly<Record<string, string>> = { "json.debug": ";memory 0 r1.1.1" };
