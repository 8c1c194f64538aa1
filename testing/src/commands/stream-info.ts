/**
 * XINFO.
 */

import {
  type Consumer,
  type ConsumerGroup,
  idText,
  type PendingEntry,
  type StreamEntry,
  type StreamId,
  StreamValue,
} from "../keyspace/stream-value";
import { integerOf } from "../protocol/numbers";
import { ErrorReply, MapReply, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, NO_SUCH_KEY, word, wrongWords } from "./arguments";
import { showEntry } from "./streams";

const ENTRIES_PER_NODE = 100;
const DEFAULT_COUNT = 10;

function streamOf(caller: Caller, key: string): StreamValue {
  const stream = caller.database.read(key, StreamValue);
  if (stream === undefined) throw new ErrorReply(NO_SUCH_KEY);
  return stream;
}

function inOrder<T extends { readonly name: string }>(named: ReadonlyMap<string, T>): T[] {
  return [...named.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function shown(entry: StreamEntry | undefined): ReplyValue {
  return entry === undefined ? null : showEntry(entry);
}

/** How many entries there were up to an id; null where that cannot be known. */
export function countUpTo(value: StreamValue, id: StreamId): number | null {
  const { entriesAdded, lastId, maxDeletedId, size } = value;
  const first = value.entries[0]?.id ?? 0n;
  if (entriesAdded === 0) return 0;
  if (size === 0 && id <= lastId) return entriesAdded;
  if (id >= lastId) return id === lastId ? entriesAdded : null;
  if (maxDeletedId !== 0n && maxDeletedId >= first) return null;
  if (id < first) return entriesAdded - size;
  return id === first ? entriesAdded - size + 1 : null;
}

/** An entry from this id on was deleted. */
export function hasHolesFrom({ size, maxDeletedId }: StreamValue, id: StreamId): boolean {
  return size > 0 && maxDeletedId !== 0n && id <= maxDeletedId;
}

/** Entries behind the group, where that can be known. */
function lagOf(caller: Caller, value: StreamValue, group: ConsumerGroup): number | null {
  if (value.entriesAdded === 0) return 0;
  if (value.size === 0 && caller.engine.version.name === "8.2") return 0;
  const first = value.entries[0]?.id;
  const isAtStart = first !== undefined && group.lastId < first && value.maxDeletedId < first;
  if (isAtStart && caller.engine.version.name === "8.2") return value.size;
  if (group.entriesRead !== null && !hasHolesFrom(value, group.lastId))
    return value.entriesAdded - group.entriesRead;
  const read = countUpTo(value, group.lastId);
  return read === null ? null : value.entriesAdded - read;
}

/** How far the group has come. */
function progressOf(caller: Caller, value: StreamValue, group: ConsumerGroup): ReplyValue[] {
  return [
    "last-delivered-id",
    idText(group.lastId),
    "entries-read",
    group.entriesRead,
    "lag",
    lagOf(caller, value, group),
  ];
}

/** `FULL [COUNT count]`: how many entries and pending ones are shown, 0 for all. */
function fullCount(args: readonly string[]): number {
  const isWrong = word(args, 3) !== "FULL" || (args.length > 4 && word(args, 4) !== "COUNT");
  if (isWrong || args.length === 5 || args.length > 6) {
    throw new ErrorReply(wrongWords("XINFO", at(args, 1)));
  }
  const count = args.length === 4 ? DEFAULT_COUNT : integerOf(at(args, 5));
  return count < 0 ? DEFAULT_COUNT : count;
}

function inFull(caller: Caller, value: StreamValue, count: number): ReplyValue[] {
  const limit = count || undefined;
  const groups = inOrder(value.groups).map((group) => {
    const pending = group.pendingInOrder();
    return new MapReply([
      "name",
      group.name,
      ...progressOf(caller, value, group),
      "pel-count",
      pending.length,
      "pending",
      pending
        .slice(0, limit)
        .map(({ id, consumer, deliveredAt, deliveries }) => [idText(id), consumer, deliveredAt, deliveries]),
      "consumers",
      inOrder(group.consumers).map((consumer) => consumerInFull(caller, { consumer, pending, limit })),
    ]);
  });
  return ["entries", value.entries.slice(0, limit).map(showEntry), "groups", groups];
}

interface ConsumerFacts {
  readonly consumer: Consumer;
  /** Of the group. */
  readonly pending: readonly PendingEntry[];
  readonly limit: number | undefined;
}

function consumerInFull({ engine }: Caller, { consumer, pending, limit }: ConsumerFacts): ReplyValue {
  const own = pending.filter((entry) => entry.consumer === consumer.name);
  return new MapReply([
    "name",
    consumer.name,
    "seen-time",
    consumer.seenAt,
    ...(engine.version.isModern ? ["active-time", consumer.activeAt] : []),
    "pel-count",
    own.length,
    "pending",
    own.slice(0, limit).map(({ id, deliveredAt, deliveries }) => [idText(id), deliveredAt, deliveries]),
  ]);
}

function stream(caller: Caller, args: readonly string[]): ReplyValue {
  const value = streamOf(caller, at(args, 2));
  const nodes = Math.ceil(value.size / ENTRIES_PER_NODE);
  const facts: ReplyValue[] = [
    "length",
    value.size,
    "radix-tree-keys",
    nodes,
    "radix-tree-nodes",
    nodes + 1,
    "last-generated-id",
    idText(value.lastId),
    "max-deleted-entry-id",
    idText(value.maxDeletedId),
    "entries-added",
    value.entriesAdded,
    "recorded-first-entry-id",
    idText(value.entries[0]?.id ?? 0n),
  ];
  if (args.length > 3) return new MapReply([...facts, ...inFull(caller, value, fullCount(args))]);
  const [first, last] = [value.entries[0], value.entries.at(-1)];
  return new MapReply([
    ...facts,
    "groups",
    value.groups.size,
    "first-entry",
    shown(first),
    "last-entry",
    shown(last),
  ]);
}

function groups(caller: Caller, args: readonly string[]): ReplyValue {
  const value = streamOf(caller, at(args, 2));
  return inOrder(value.groups).map((group) => {
    return new MapReply([
      "name",
      group.name,
      "consumers",
      group.consumers.size,
      "pending",
      group.pending.size,
      ...progressOf(caller, value, group),
    ]);
  });
}

function consumers(caller: Caller, args: readonly string[]): ReplyValue {
  const [key, name] = [at(args, 2), at(args, 3)];
  const group = streamOf(caller, key).groups.get(name);
  if (group === undefined)
    throw new ErrorReply(`NOGROUP No such consumer group '${name}' for key name '${key}'`);
  const { now } = caller.engine.clock;
  const pending = [...group.pending.values()];
  return inOrder(group.consumers).map((consumer) => {
    const count = pending.filter((entry) => entry.consumer === consumer.name).length;
    const facts: ReplyValue[] = ["name", consumer.name, "pending", count, "idle", now - consumer.seenAt];
    if (caller.engine.version.isModern) {
      facts.push("inactive", consumer.activeAt < 0 ? -1 : now - consumer.activeAt);
    }
    return new MapReply(facts);
  });
}

export const streamInfoHandlers: Handlers = {
  "xinfo|stream": stream,
  "xinfo|groups": groups,
  "xinfo|consumers": consumers,
};
