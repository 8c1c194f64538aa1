/**
 * Streams: adding, reading, trimming. Consumer groups are in stream-groups.ts.
 */

import {
  idText,
  MAX_ID,
  MAX_PART,
  makeId,
  millisecondsOf,
  type StreamEntry,
  type StreamId,
  StreamValue,
  sequenceOf,
} from "../keyspace/stream-value";
import { integerOf } from "../protocol/numbers";
import { BLOCKED, ErrorReply, MapReply, NULL_ARRAY, OK, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, following, NO_SUCH_KEY, syntaxError, word } from "./arguments";
import { INVALID_ID, parseId, rangeEnd } from "./stream-ids";
import { TrimOptions } from "./stream-trimming";

const TOO_SMALL = "ERR The ID specified in XADD is equal or smaller than the target stream top item";

export function streamOf(caller: Caller, key: string): StreamValue | undefined {
  return caller.database.read(key, StreamValue);
}

export function showEntry({ id, fields }: StreamEntry): ReplyValue {
  return [idText(id), fields];
}

/** `*`, `5-*`, `5-1` or `5`. */
function newId(caller: Caller, text: string, last: StreamId): StreamId {
  if (text === "*") {
    const now = BigInt(caller.engine.clock.now);
    return now > millisecondsOf(last) ? makeId(now, 0n) : last + 1n;
  }
  const auto = /^(\d{1,20})-\*$/.exec(text);
  if (auto === null) return parseId(text);
  const milliseconds = BigInt(auto[1] ?? 0);
  if (milliseconds > MAX_PART) throw new ErrorReply(INVALID_ID);
  if (milliseconds < millisecondsOf(last)) throw new ErrorReply(TOO_SMALL);
  if (milliseconds > millisecondsOf(last)) return makeId(milliseconds, 0n);
  if (sequenceOf(last) === MAX_PART) throw new ErrorReply(TOO_SMALL);
  return last + 1n;
}

interface Addition {
  readonly options: TrimOptions;
  creates: boolean;
  /** Where the id stands. */
  idAt: number;
}

function additionOf(caller: Caller, args: readonly string[]): Addition {
  const options = new TrimOptions(caller);
  const found: Addition = { options, creates: true, idAt: 2 };
  while (found.idAt < args.length) {
    if (word(args, found.idAt) === "NOMKSTREAM") {
      found.creates = false;
      found.idAt++;
    } else {
      const next = options.read(args, found.idAt);
      if (next === found.idAt) break;
      found.idAt = next;
    }
  }
  return found;
}

function checkNewId(id: StreamId, stream: StreamValue | undefined, text: string): void {
  if (id === 0n) throw new ErrorReply("ERR The ID specified in XADD must be greater than 0-0");
  if (stream === undefined) return;
  if (stream.lastId === MAX_ID) {
    throw new ErrorReply("ERR The stream has exhausted the last possible ID, unable to add more items");
  }
  if (text !== "*" && id <= stream.lastId) throw new ErrorReply(TOO_SMALL);
}

function xadd(caller: Caller, args: readonly string[]): ReplyValue {
  const { options, creates, idAt } = additionOf(caller, args);
  const fieldCount = args.length - idAt - 1;
  const text = args[idAt] ?? "";
  // The id is read before the fields are counted.
  if (text !== "*" && !/^\d{1,20}-\*$/.test(text) && idAt < args.length) {
    parseId(text);
  }
  options.check(false);
  if (fieldCount < 2 || fieldCount % 2 === 1)
    throw new ErrorReply("ERR wrong number of arguments for 'xadd' command");
  const isGiven = text !== "*" && !text.endsWith("-*");
  if (isGiven) checkNewId(parseId(text), undefined, text);
  const { database } = caller;
  const key = at(args, 1);
  const present = streamOf(caller, key);
  if (present === undefined && !creates) return null;
  const id = newId(caller, text, present?.lastId ?? 0n);
  checkNewId(id, present, text);
  const stream = database.writeOrCreate(key, StreamValue);
  stream.entries.push({ id, fields: args.slice(idAt + 1) });
  stream.lastId = id;
  stream.entriesAdded++;
  database.modified(key, "t", "xadd");
  if (options.apply(stream) > 0) database.event(key, "t", "xtrim");
  return idText(id);
}

function xtrim(caller: Caller, args: readonly string[]): ReplyValue {
  const options = new TrimOptions(caller);
  for (let index = 2; index < args.length; ) {
    const next = options.read(args, index);
    if (next === index) throw syntaxError();
    index = next;
  }
  options.check(true);
  const { database } = caller;
  const key = at(args, 1);
  const stream = database.write(key, StreamValue);
  const removed = stream === undefined ? 0 : options.apply(stream);
  if (removed > 0) database.modified(key, "t", "xtrim");
  return removed;
}

function range(caller: Caller, args: readonly string[], isReverse: boolean): ReplyValue {
  const start = rangeEnd(at(args, isReverse ? 3 : 2), true);
  const end = rangeEnd(at(args, isReverse ? 2 : 3), false);
  let count = -1;
  for (let index = 4; index < args.length; index += 2) {
    if (word(args, index) !== "COUNT") throw syntaxError();
    count = Math.max(0, integerOf(following(args, index)));
  }
  const stream = streamOf(caller, at(args, 1));
  if (stream === undefined) return [];
  if (count === 0) return NULL_ARRAY;
  const entries = stream.range(start, end);
  if (isReverse) entries.reverse();
  return entries.slice(0, count < 0 ? undefined : count).map(showEntry);
}

function xdel(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  if (streamOf(caller, key) === undefined) return 0;
  const ids = args.slice(2).map((text) => parseId(text));
  const stream = database.write(key, StreamValue) as StreamValue;
  const removed = ids.filter((id) => stream.delete(id)).length;
  if (removed > 0) database.modified(key, "t", "xdel");
  return removed;
}

export interface StreamRead {
  readonly keys: readonly string[];
  readonly ids: readonly string[];
  readonly count: number;
  /** Milliseconds; null: does not wait. */
  readonly blockMs: number | null;
  readonly group: readonly [string, string] | null;
  readonly isNoAck: boolean;
}

type ReadCommand = "xread" | "xreadgroup";

/** The options of XREAD and XREADGROUP. */
export function readRequest(caller: Caller, args: readonly string[], command: ReadCommand): StreamRead {
  const found = {
    count: 0,
    blockMs: null as number | null,
    group: null as [string, string] | null,
    isNoAck: false,
  };
  for (let index = 1; index < args.length; index++) {
    const option = word(args, index);
    const hasMore = index + 1 < args.length;
    if (option === "BLOCK" && hasMore) found.blockMs = blockOf(at(args, ++index));
    else if (option === "COUNT" && hasMore) found.count = Math.max(0, integerOf(at(args, ++index)));
    else if (option === "STREAMS" && hasMore) {
      const streams = streamsOf(caller, args.slice(index + 1), command);
      if (command === "xreadgroup" && found.group === null) {
        throw new ErrorReply("ERR Missing GROUP option for XREADGROUP");
      }
      return { ...found, ...streams };
    } else if (option === "GROUP" && index + 2 < args.length) {
      if (command === "xread") {
        throw new ErrorReply(
          "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.",
        );
      }
      found.group = [at(args, ++index), at(args, ++index)];
    } else if (option === "NOACK") {
      if (command === "xread") {
        throw new ErrorReply(
          "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.",
        );
      }
      found.isNoAck = true;
    } else throw syntaxError();
  }
  throw syntaxError();
}

function blockOf(text: string): number {
  const milliseconds = integerOf(text, "ERR timeout is not an integer or out of range");
  if (milliseconds < 0) throw new ErrorReply("ERR timeout is negative");
  return milliseconds;
}

function unbalanced({ engine }: Caller, command: ReadCommand): ErrorReply {
  if (!engine.version.isModern) {
    return new ErrorReply(
      "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
    );
  }
  const hasPlus = command === "xread" && engine.version.name === "8.2";
  const ids = `an ID${hasPlus ? ", '+'," : ""} or '${command === "xread" ? "$" : ">"}'`;
  return new ErrorReply(
    `ERR Unbalanced '${command}' list of streams: for each stream key ${ids} must be specified.`,
  );
}

function streamsOf(caller: Caller, rest: readonly string[], command: ReadCommand) {
  if (rest.length === 0 || rest.length % 2 === 1) throw unbalanced(caller, command);
  const half = rest.length / 2;
  return { keys: rest.slice(0, half), ids: rest.slice(half) };
}

/** Streams with their entries: a map in RESP3, pairs in RESP2. */
export function showStreams(caller: Caller, found: readonly (readonly [string, ReplyValue])[]): ReplyValue {
  return caller.protocol === 3 ? new MapReply(found.flat()) : found;
}

function xread(caller: Caller, args: readonly string[]): ReplyValue {
  const request = readRequest(caller, args, "xread");
  const after = request.keys.map((key, index) => {
    const text = at(request.ids, index);
    const stream = streamOf(caller, key);
    if (text === "$") return stream?.lastId ?? 0n;
    if (text === "+" && caller.engine.version.name === "8.2") {
      const last = stream?.entries.at(-1)?.id;
      return last === undefined ? (stream?.lastId ?? 0n) : last - 1n;
    }
    if (text === ">") {
      throw new ErrorReply(
        "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
      );
    }
    return parseId(text);
  });
  const attempt = (): ReplyValue => {
    const found: [string, ReplyValue][] = [];
    request.keys.forEach((key, index) => {
      const entries = streamOf(caller, key)?.range((after[index] as bigint) + 1n, MAX_ID) ?? [];
      if (entries.length === 0) return;
      found.push([key, entries.slice(0, request.count || undefined).map(showEntry)]);
    });
    return found.length === 0 ? BLOCKED : showStreams(caller, found);
  };
  return waitOrNull(caller, request, attempt);
}

export function waitOrNull(caller: Caller, request: StreamRead, attempt: () => ReplyValue): ReplyValue {
  if (request.blockMs === null) {
    const reply = attempt();
    return reply === BLOCKED ? NULL_ARRAY : reply;
  }
  return caller.engine.blocking.attemptOrWait(caller, {
    keys: request.keys,
    timeoutMs: request.blockMs,
    attempt,
  });
}

function xsetid(caller: Caller, args: readonly string[]): ReplyValue {
  const id = parseId(at(args, 2));
  let added: number | null = null;
  let maxDeleted: StreamId | null = null;
  for (let index = 3; index < args.length; index += 2) {
    const option = word(args, index);
    if (option === "ENTRIESADDED") {
      added = integerOf(following(args, index));
      if (added < 0) throw new ErrorReply("ERR entries_added must be positive");
    } else if (option === "MAXDELETEDID") {
      maxDeleted = parseId(following(args, index));
      if (id < maxDeleted)
        throw new ErrorReply(
          "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
        );
    } else throw syntaxError();
  }
  const { database } = caller;
  const key = at(args, 1);
  const stream = database.write(key, StreamValue);
  if (stream === undefined) throw new ErrorReply(NO_SUCH_KEY);
  if (caller.engine.version.isModern && id < stream.maxDeletedId) {
    throw new ErrorReply("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id");
  }
  const last = stream.entries.at(-1);
  if (last !== undefined && id < last.id) {
    throw new ErrorReply("ERR The ID specified in XSETID is smaller than the target stream top item");
  }
  if (added !== null && stream.size > added) {
    throw new ErrorReply(
      "ERR The entries_added specified in XSETID is smaller than the target stream length",
    );
  }
  stream.lastId = id;
  if (added !== null) stream.entriesAdded = added;
  if (maxDeleted !== null) stream.maxDeletedId = maxDeleted;
  database.event(key, "t", "xsetid");
  return OK;
}

export const streamHandlers: Handlers = {
  xadd,
  xlen: (caller, args) => streamOf(caller, at(args, 1))?.size ?? 0,
  xrange: (caller, args) => range(caller, args, false),
  xrevrange: (caller, args) => range(caller, args, true),
  xdel,
  xtrim,
  xread,
  xsetid,
};
