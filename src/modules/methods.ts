/**
 * The methods of `redis.json`, `redis.ft` and the other families of module commands, on clients and pipelines. They send
 * ordinary commands through their owner, so keys, routing, limits and batches are the same as for `call()`.
 *
 * JSON values are converted in both directions, and replies whose form differs between RESP2 and RESP3 get one form. A
 * reply that cannot be converted fails its own command. Loaded when a family is used for the first time.
 */

import type { CommandSpec, ReplyMapper } from "../command/command-spec";
import { specOf } from "../command/command-table";
import { attachMethod, bothForms, type Commander, EXECUTE } from "../command/commander";
import { ArgumentError } from "../errors";
import type { Reply } from "../protocol/resp-types";
import { setOwn } from "../util/own-property";
import { toError } from "../util/user-code";
import { MODULE_COMMANDS } from "./generated/names";

const OWNER: unique symbol = Symbol("owner");

class Family implements Commander {
  readonly [OWNER]: Commander;

  constructor(owner: Commander) {
    this[OWNER] = owner;
  }

  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): unknown {
    return this[OWNER][EXECUTE](spec, args, wantsBuffers);
  }
}

const classes = new Map<string, typeof Family>();

/** The methods of a family for a client or a pipeline. */
export function openFamily(owner: Commander, name: string): Commander {
  let OwnFamily = classes.get(name);
  if (OwnFamily === undefined) {
    OwnFamily = class extends Family {};
    for (const member of (MODULE_COMMANDS[name] ?? "").split(" ")) attach(OwnFamily.prototype, name, member);
    classes.set(name, OwnFamily);
  }
  return new OwnFamily(owner);
}

function attach(prototype: Family, family: string, member: string): void {
  const name = `${family}.${member}`;
  const spec = specOf(name.toUpperCase());
  const encode = JSON_VALUES[name];
  const mapper = MAPPERS[name] ?? asSent;
  const mapped = withMapper(spec, mapper);
  const bytes = withMapper(spec, asSent);
  for (const [method, wantsBuffers] of bothForms(member)) {
    // Bytes of JSON are not parsed.
    const plain = wantsBuffers && mapper === parseJson ? bytes : mapped;
    attachMethod(prototype, method, function (this: Family, ...args: unknown[]): unknown {
      if (encode !== undefined) encodeJson(spec.name, args, encode);
      return this[EXECUTE](BY_ARGUMENTS[name]?.(spec, args) ?? plain, args, wantsBuffers);
    });
  }
}

function withMapper(spec: CommandSpec, replyMapper: ReplyMapper): CommandSpec {
  return Object.assign(Object.create(Object.getPrototypeOf(spec)), spec, { replyMapper }) as CommandSpec;
}

/** A mapper without an effect: it prevents `with({ replies })` from changing the form of the reply. */
function asSent(reply: Reply): Reply {
  return reply;
}

// --- JSON ------------------------------------------------------------------------------------

/** Whether an argument is a JSON value, by its position and the number of arguments. */
const JSON_VALUES: Readonly<Record<string, (index: number, count: number) => boolean>> = {
  "json.arrappend": (index) => index >= 2,
  "json.arrindex": (index) => index === 2,
  "json.arrinsert": (index) => index >= 3,
  "json.merge": (index) => index === 2,
  "json.mset": (index) => index % 3 === 2,
  "json.set": (index) => index === 2,
  "json.strappend": (index, count) => index === count - 1,
};

function encodeJson(name: string, args: unknown[], isValue: (index: number, count: number) => boolean): void {
  const count = typeof args.at(-1) === "function" ? args.length - 1 : args.length;
  for (let index = 0; index < count; index++) {
    // Bytes are JSON already.
    if (!isValue(index, count) || ArrayBuffer.isView(args[index])) continue;
    try {
      args[index] = textOf(args[index]);
    } catch (cause) {
      args[index] = new NoJson(new ArgumentError(name, index + 1, reasonOf(cause), { cause }));
    }
  }
}

function textOf(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError("JSON.stringify() returns undefined");
  return text;
}

/** Fails its command when it is written as an argument, so that the caller gets a promise. */
class NoJson {
  constructor(private readonly error: ArgumentError) {}

  toString(): never {
    throw this.error;
  }
}

/** Only the first line, because for a circular value the message also shows the structure. */
function reasonOf(cause: unknown): string {
  const [line] = toError(cause).message.split("\n");
  return `it has no JSON form: ${line}`;
}

/** Parses JSON texts, also in lists. With RESP3, servers return numbers that need no parsing. */
function parseJson(reply: Reply): Reply {
  if (Array.isArray(reply)) return reply.map(parseJson);
  return typeof reply === "string" ? (JSON.parse(reply) as Reply) : reply;
}

// --- maps ------------------------------------------------------------------------------------

// RESP2  [name, value, name, value]      also RESP3 with the legacy mapping
// RESP3  { name: value }
function recordOf(reply: Reply): Record<string, unknown> {
  if (!Array.isArray(reply)) return (reply ?? {}) as Record<string, unknown>;
  const record: Record<string, unknown> = {};
  for (let index = 0; index < reply.length; index += 2)
    setOwn(record, String(reply[index]), reply[index + 1]);
  return record;
}

// --- search ----------------------------------------------------------------------------------

/** The parts of a document in a RESP2 reply, which depend on the options of the query. */
interface SearchLayout {
  readonly hasScores: boolean;
  readonly hasPayloads: boolean;
  readonly hasSortKeys: boolean;
  readonly hasFields: boolean;
}

interface FoundDocument {
  id: unknown;
  fields: Record<string, unknown>;
  score?: number;
  payload?: unknown;
  sortKey?: unknown;
}

/** The arguments in upper case, for the comparison with names of options. */
function wordsOf(args: readonly unknown[]): readonly unknown[] {
  return args.flat(1).map((word) => (typeof word === "string" ? word.toUpperCase() : word));
}

const searchSpecs = new Map<string, CommandSpec>();

function searchSpec(spec: CommandSpec, args: readonly unknown[]): CommandSpec {
  const words = wordsOf(args.slice(2));
  const layout = {
    hasScores: words.includes("WITHSCORES"),
    hasPayloads: words.includes("WITHPAYLOADS"),
    hasSortKeys: words.includes("WITHSORTKEYS"),
    hasFields: !words.includes("NOCONTENT") && !returnsNothing(words),
  };
  const key = Object.values(layout).join();
  let own = searchSpecs.get(key);
  if (own === undefined) {
    own = withMapper(spec, (reply) => searchReply(reply, layout));
    searchSpecs.set(key, own);
  }
  return own;
}

/** RETURN 0 has the reply of NOCONTENT. */
function returnsNothing(words: readonly unknown[]): boolean {
  const at = words.indexOf("RETURN");
  return at >= 0 && Number(words[at + 1]) === 0;
}

// RESP2  [total, id, score, payload, sort key, [field, value, …], id, …]
// RESP3  { total_results, results: [{ id, score, payload, sortkey, extra_attributes: { field: value } }] }
function searchReply(reply: Reply, layout: SearchLayout): Reply {
  if (Array.isArray(reply) && typeof reply[0] === "number") {
    return { total: reply[0], documents: [...listedDocuments(reply, layout)] };
  }
  const { total_results: total, results } = recordOf(reply);
  return { total: Number(total), documents: listOf(results).map(mappedDocument) };
}

function* listedDocuments(reply: readonly unknown[], layout: SearchLayout): Generator<FoundDocument> {
  for (let at = 1; at < reply.length; ) {
    const document: FoundDocument = { id: reply[at++], fields: {} };
    if (layout.hasScores) document.score = scoreOf(reply[at++]);
    if (layout.hasPayloads) document.payload = reply[at++];
    if (layout.hasSortKeys) document.sortKey = reply[at++];
    if (layout.hasFields) document.fields = recordOf(reply[at++]);
    yield document;
  }
}

function mappedDocument(result: unknown): FoundDocument {
  const { id, score, payload, sortkey, extra_attributes: fields } = recordOf(result);
  const document: FoundDocument = { id, fields: recordOf(fields) };
  if (score !== undefined) document.score = scoreOf(score);
  if (payload !== undefined) document.payload = payload;
  if (sortkey !== undefined) document.sortKey = sortkey;
  return document;
}

/** With EXPLAINSCORE the score is the first element of a list. */
function scoreOf(score: unknown): number {
  return Number(Array.isArray(score) ? score[0] : score);
}

// RESP2  [total, [name, value, …], …]      with a cursor: [that, cursor]
// RESP3  { total_results, results: [{ extra_attributes: { name: value } }] }      with a cursor: [that, cursor]
function aggregateReply(reply: Reply): Reply {
  const hasCursor = Array.isArray(reply) && reply.length === 2 && isContainer(reply[0]);
  const [page, cursor] = hasCursor ? (reply as [Reply, unknown]) : [reply, undefined];
  const rows = rowsOf(page);
  return hasCursor ? { ...rows, cursor: Number(cursor) } : rows;
}

/** FT.CURSOR READ has the reply of the aggregation; DEL returns OK. */
function cursorReply(reply: Reply): Reply {
  return isContainer(reply) ? aggregateReply(reply) : reply;
}

function rowsOf(page: Reply): { total: number; rows: Record<string, unknown>[] } {
  if (Array.isArray(page) && typeof page[0] === "number") {
    return { total: page[0], rows: page.slice(1).map(recordOf) };
  }
  const { total_results: total, results } = recordOf(page);
  return {
    total: Number(total),
    rows: listOf(results).map((result) => recordOf(recordOf(result)["extra_attributes"])),
  };
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Buffer.isBuffer(value);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

// --- time series -----------------------------------------------------------------------------

// RESP2  [[key, [[label, value], …], samples], …]
// RESP3  { key: [{ label: value }, …, samples] }      a flat list with the legacy mapping
function seriesReply(reply: Reply): Reply {
  return seriesList(reply, ([labels]) => labelsOf(labels));
}

function seriesList(reply: Reply, labelsIn: (parts: unknown[]) => Record<string, unknown>): Reply {
  const isListed = Array.isArray(reply) && reply.every(Array.isArray);
  const entries: [string, unknown[]][] = isListed
    ? (reply as unknown[][]).map(([key, ...parts]) => [String(key), parts])
    : Object.entries(recordOf(reply)).map(([key, parts]) => [key, listOf(parts)]);
  return entries.map(([key, parts]) => ({
    key,
    labels: labelsIn(parts),
    samples: samplesOf(listOf(parts.at(-1))),
  }));
}

/** With WITHLABELS, RESP2 adds two labels to a group, and RESP3 two maps. */
function reducedSpec(spec: CommandSpec, args: readonly unknown[]): CommandSpec | undefined {
  const words = wordsOf(args);
  const hasBoth = words.includes("WITHLABELS") && words.includes("GROUPBY");
  return hasBoth ? withMapper(spec, (reply) => seriesList(reply, groupLabels)) : undefined;
}

// RESP3  [labels, { reducers: [name, …] }, { sources: [key, …] }, samples]
function groupLabels([labels, reducers, sources, samples]: unknown[]): Record<string, unknown> {
  if (samples === undefined) return labelsOf(labels);
  const { reducers: names, sources: keys } = { ...recordOf(reducers), ...recordOf(sources) };
  return { ...labelsOf(labels), __reducer__: listOf(names).join(), __source__: listOf(keys).join() };
}

// RESP2  labels: [[label, value], …]      rules: [[key, duration, aggregator, alignment], …]
// RESP3  labels: { label: value }      rules: { key: [duration, aggregator, alignment] }
function seriesInfo(reply: Reply): Record<string, unknown> {
  const { labels, rules, Chunks: chunks, ...facts } = recordOf(reply);
  const isListed = Array.isArray(rules) && rules.every(Array.isArray);
  const pairs = isListed ? (rules as unknown[][]).flatMap(([key, ...rule]) => [key, rule]) : rules;
  const info = { ...facts, labels: labelsOf(labels), rules: recordOf(pairs) };
  return chunks === undefined ? info : { ...info, Chunks: listOf(chunks).map(recordOf) };
}

function labelsOf(labels: unknown): Record<string, unknown> {
  const record = recordOf(Array.isArray(labels) && labels.every(Array.isArray) ? labels.flat(1) : labels);
  for (const [name, value] of Object.entries(record))
    setOwn(record, name, value === null ? null : String(value));
  return record;
}

/** TS.MGET returns one sample, or an empty list. */
function samplesOf(samples: unknown[]): unknown[] {
  return samples.length > 0 && !Array.isArray(samples[0]) ? [samples] : samples;
}

// --- Bloom filters ---------------------------------------------------------------------------

/** The fields in the reply of BF.INFO, by the option that requests one of them. */
const FACTS: Readonly<Record<string, string>> = {
  CAPACITY: "Capacity",
  SIZE: "Size",
  FILTERS: "Number of filters",
  ITEMS: "Number of items inserted",
  EXPANSION: "Expansion rate",
};

// RESP2  [value]
// RESP3  { name: value }
function factSpec(spec: CommandSpec, args: readonly unknown[]): CommandSpec | undefined {
  const fact = FACTS[String(wordsOf(args)[1])];
  if (fact === undefined) return undefined;
  const mapper: ReplyMapper = (reply) => {
    return Array.isArray(reply) && reply.length === 1 ? { [fact]: reply[0] } : recordOf(reply);
  };
  return withMapper(spec, mapper);
}

// ---------------------------------------------------------------------------------------------

/** The mappers of commands whose reply depends on their options. */
const BY_ARGUMENTS: Readonly<
  Record<string, (spec: CommandSpec, args: readonly unknown[]) => CommandSpec | undefined>
> = {
  "ft.search": searchSpec,
  "ts.mrange": reducedSpec,
  "ts.mrevrange": reducedSpec,
  "bf.info": factSpec,
};

const MAPPERS: Readonly<Record<string, ReplyMapper>> = {
  "json.arrpop": parseJson,
  "json.get": parseJson,
  "json.mget": parseJson,
  "json.numincrby": parseJson,
  "json.nummultby": parseJson,
  "ft.aggregate": aggregateReply,
  "ft.cursor": cursorReply,
  "ft.info": recordOf,
  "ft.syndump": recordOf,
  "ts.info": seriesInfo,
  "ts.mget": seriesReply,
  "ts.mrange": seriesReply,
  "ts.mrevrange": seriesReply,
  "bf.info": recordOf,
  "cf.info": recordOf,
  "cms.info": recordOf,
  "topk.info": recordOf,
  "tdigest.info": recordOf,
};
