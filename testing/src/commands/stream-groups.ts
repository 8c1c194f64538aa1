/**
 * Consumer groups of streams: reading, acknowledging, taking over.
 */

import {
  type Consumer,
  ConsumerGroup,
  idText,
  MAX_ID,
  type PendingEntry,
  type StreamEntry,
  type StreamId,
  StreamValue,
} from "../keyspace/stream-value";
import { integerOf } from "../protocol/numbers";
import { BLOCKED, ErrorReply, NULL_ARRAY, OK, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, following, syntaxError, word, wrongWords } from "./arguments";
import { parseId, rangeEnd } from "./stream-ids";
import { countUpTo, hasHolesFrom } from "./stream-info";
import { readRequest, type StreamRead, showEntry, showStreams, streamOf, waitOrNull } from "./streams";

const NO_KEY =
  "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.";

function noGroup(group: string, key: string): ErrorReply {
  return new ErrorReply(`NOGROUP No such consumer group '${group}' for key name '${key}'`);
}

function groupToWrite(caller: Caller, key: string, name: string): ConsumerGroup {
  const stream = caller.database.write(key, StreamValue);
  if (stream === undefined) throw new ErrorReply(NO_KEY);
  const group = stream.groups.get(name);
  if (group === undefined) throw noGroup(name, key);
  return group;
}

/** The consumer, made if there is none yet; Redis 7.0 makes it when there is something for it. */
function consumerOf(
  caller: Caller,
  group: ConsumerGroup,
  { key, name, isLazy = false }: ConsumerRequest,
): Consumer {
  const { now } = caller.engine.clock;
  const consumer = group.consumers.get(name) ?? { name, seenAt: now, activeAt: -1 };
  if (!isLazy || caller.engine.version.isModern) enrol(caller, key, { group, consumer });
  consumer.seenAt = now;
  return consumer;
}

/** Makes a consumer one of the group. Those who watch the stream hear nothing of it. */
function enrol(
  caller: Caller,
  key: string,
  { group, consumer }: { readonly group: ConsumerGroup; readonly consumer: Consumer },
): void {
  if (group.consumers.has(consumer.name)) return;
  group.consumers.set(consumer.name, consumer);
  caller.database.event(key, "t", "xgroup-createconsumer");
}

interface ConsumerRequest {
  /** Of the stream. */
  readonly key: string;
  readonly name: string;
  readonly isLazy?: boolean;
}

interface GroupOptions {
  creates: boolean;
  entriesRead: number | null;
}

function groupOptions(args: readonly string[], mayCreate: boolean): GroupOptions {
  const options: GroupOptions = { creates: false, entriesRead: null };
  for (let index = 5; index < args.length; index++) {
    const option = word(args, index);
    if (option === "MKSTREAM" && mayCreate) options.creates = true;
    else if (option === "ENTRIESREAD" && index + 1 < args.length) {
      const count = integerOf(following(args, index++));
      if (count < -1) throw new ErrorReply("ERR value for ENTRIESREAD must be positive or -1");
      options.entriesRead = count < 0 ? null : count;
    } else throw new ErrorReply(wrongWords("XGROUP", at(args, 1)));
  }
  return options;
}

/** Redis 8.2 does not believe in more reads than there were entries. */
function knownReads(caller: Caller, stream: StreamValue | undefined, given: number | null): number | null {
  if (given === null || stream === undefined || caller.engine.version.name !== "8.2") return given;
  return Math.min(given, stream.entriesAdded);
}

function create(caller: Caller, args: readonly string[]): ReplyValue {
  const [key, name, text] = [at(args, 2), at(args, 3), at(args, 4)];
  const options = groupOptions(args, true);
  const { database } = caller;
  const present = streamOf(caller, key);
  if (present === undefined && !options.creates) throw new ErrorReply(NO_KEY);
  const id = text === "$" ? (present?.lastId ?? 0n) : parseId(text);
  if (present?.groups.has(name)) throw new ErrorReply("BUSYGROUP Consumer Group name already exists");
  const stream = database.writeOrCreate(key, StreamValue);
  stream.groups.set(name, new ConsumerGroup(name, id, knownReads(caller, stream, options.entriesRead)));
  database.event(key, "t", "xgroup-create");
  // Those who watch a stream hear nothing of its groups.
  if (present === undefined) database.touched(key);
  return OK;
}

function setId(caller: Caller, args: readonly string[]): ReplyValue {
  const [key, name, text] = [at(args, 2), at(args, 3), at(args, 4)];
  const options = groupOptions(args, false);
  const group = groupToWrite(caller, key, name);
  group.lastId = text === "$" ? (streamOf(caller, key)?.lastId ?? 0n) : parseId(text);
  group.entriesRead = knownReads(caller, streamOf(caller, key), options.entriesRead);
  caller.database.event(key, "t", "xgroup-setid");
  return OK;
}

function destroy(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 2);
  const stream = caller.database.write(key, StreamValue);
  if (stream === undefined) throw new ErrorReply(NO_KEY);
  if (!stream.groups.delete(at(args, 3))) return 0;
  caller.database.event(key, "t", "xgroup-destroy");
  return 1;
}

function createConsumer(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 2);
  const group = groupToWrite(caller, key, at(args, 3));
  if (group.consumers.has(at(args, 4))) return 0;
  consumerOf(caller, group, { key, name: at(args, 4) });
  return 1;
}

function deleteConsumer(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 2);
  const group = groupToWrite(caller, key, at(args, 3));
  const name = at(args, 4);
  if (!group.consumers.delete(name)) return 0;
  let count = 0;
  for (const [id, entry] of group.pending) {
    if (entry.consumer !== name) continue;
    group.pending.delete(id);
    count++;
  }
  caller.database.event(key, "t", "xgroup-delconsumer");
  return count;
}

function xack(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 1);
  const present = streamOf(caller, key)?.groups.get(at(args, 2));
  if (present === undefined) return 0;
  const ids = args.slice(3).map((text) => parseId(text));
  const group = groupToWrite(caller, key, at(args, 2));
  return ids.filter((id) => group.pending.delete(id)).length;
}

interface Delivery {
  readonly key: string;
  readonly stream: StreamValue;
  readonly group: ConsumerGroup;
  readonly consumer: Consumer;
  readonly request: StreamRead;
}

/** Entries that no consumer has got yet. */
function deliverNew(caller: Caller, { key, stream, group, consumer, request }: Delivery): ReplyValue[] {
  const entries = stream.range(group.lastId + 1n, MAX_ID).slice(0, request.count || undefined);
  const { now } = caller.engine.clock;
  for (const { id } of entries) {
    countRead(caller, { stream, group, id });
    group.lastId = id;
    if (!request.isNoAck)
      group.pending.set(id, { id, consumer: consumer.name, deliveredAt: now, deliveries: 1 });
  }
  if (entries.length > 0) {
    enrol(caller, key, { group, consumer });
    // Servers see no activity in a read that leaves nothing pending.
    if (!request.isNoAck) consumer.activeAt = now;
  }
  return entries.map(showEntry);
}

/** One more, or as many as there must have been up to this entry, where that is not certain. */
function countRead(
  caller: Caller,
  { stream, group, id }: { stream: StreamValue; group: ConsumerGroup; id: StreamId },
): void {
  const { isModern } = caller.engine.version;
  const first = stream.entries[0]?.id ?? 0n;
  const isCertain = isModern
    ? group.lastId >= first && !hasHolesFrom(stream, group.lastId)
    : !hasHolesFrom(stream, id);
  if (group.entriesRead !== null && isCertain) group.entriesRead++;
  else if (stream.entriesAdded > 0) group.entriesRead = countUpTo(stream, id);
}

/** The entries that the consumer has got before and not acknowledged; deleted entries have no fields. */
function deliverAgain(caller: Caller, delivery: Delivery, after: StreamId): ReplyValue[] {
  const { stream, group, consumer, request } = delivery;
  const { now } = caller.engine.clock;
  enrol(caller, delivery.key, delivery);
  const own = group.pendingInOrder().filter((entry) => entry.consumer === consumer.name && entry.id > after);
  return own.slice(0, request.count || undefined).map((entry): ReplyValue => {
    const found = stream.find(entry.id);
    if (found === undefined) return [idText(entry.id), null];
    group.pending.set(entry.id, { ...entry, deliveredAt: now, deliveries: entry.deliveries + 1 });
    return showEntry(found);
  });
}

function readGroup(caller: Caller, key: string, request: StreamRead): Delivery {
  const [groupName, consumerName] = request.group ?? ["", ""];
  const stream = caller.database.write(key, StreamValue);
  const group = stream?.groups.get(groupName);
  if (stream === undefined || group === undefined) {
    throw new ErrorReply(
      `NOGROUP No such key '${key}' or consumer group '${groupName}' in XREADGROUP with GROUP option`,
    );
  }
  return {
    key,
    stream,
    group,
    consumer: consumerOf(caller, group, { key, name: consumerName, isLazy: true }),
    request,
  };
}

function xreadgroup(caller: Caller, args: readonly string[]): ReplyValue {
  const request = readRequest(caller, args, "xreadgroup");
  const after = request.ids.map((text, index) => {
    checkGroup(caller, at(request.keys, index), request);
    if (text === "$") {
      throw new ErrorReply(
        "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.",
      );
    }
    return text === ">" ? null : parseId(text);
  });
  const attempt = (): ReplyValue => {
    const found: [string, ReplyValue][] = [];
    request.keys.forEach((key, index) => {
      const delivery = readGroup(caller, key, request);
      const from = after[index];
      if (from !== null && from !== undefined) found.push([key, deliverAgain(caller, delivery, from)]);
      else {
        const entries = deliverNew(caller, delivery);
        if (entries.length > 0) found.push([key, entries]);
      }
    });
    return found.length === 0 ? BLOCKED : showStreams(caller, found);
  };
  return waitOrNull(caller, request, attempt);
}

function checkGroup(caller: Caller, key: string, request: StreamRead): void {
  const [groupName] = request.group ?? [""];
  if (streamOf(caller, key)?.groups.has(groupName)) return;
  throw new ErrorReply(
    `NOGROUP No such key '${key}' or consumer group '${groupName}' in XREADGROUP with GROUP option`,
  );
}

function xpending(caller: Caller, args: readonly string[]): ReplyValue {
  const [key, name] = [at(args, 1), at(args, 2)];
  let from = 3;
  let idle = 0;
  if (word(args, 3) === "IDLE") {
    idle = integerOf(following(args, 3));
    from = 5;
    if (args.length < 8) throw syntaxError();
  }
  const isSummary = args.length === 3;
  if (!isSummary && (args.length < from + 3 || args.length > from + 4)) throw syntaxError();
  const limits = isSummary ? null : pendingLimits(args, from);
  const group = streamOf(caller, key)?.groups.get(name);
  if (group === undefined) {
    throw new ErrorReply(`NOGROUP No such key '${key}' or consumer group '${name}'`);
  }
  if (limits === null) return summary(group);
  const { now } = caller.engine.clock;
  return group
    .pendingInOrder()
    .filter(({ id, consumer, deliveredAt }) => {
      if (id < limits.start || id > limits.end || now - deliveredAt < idle) return false;
      return limits.consumer === undefined || consumer === limits.consumer;
    })
    .slice(0, limits.count)
    .map(({ id, consumer, deliveredAt, deliveries }) => [
      idText(id),
      consumer,
      Math.max(0, now - deliveredAt),
      deliveries,
    ]);
}

function pendingLimits(args: readonly string[], from: number) {
  const count = Math.max(0, integerOf(at(args, from + 2)));
  const start = rangeEnd(at(args, from), true);
  const end = rangeEnd(at(args, from + 1), false);
  return { start, end, count, consumer: args[from + 3] };
}

function summary(group: ConsumerGroup): ReplyValue {
  const pending = group.pendingInOrder();
  const [first, last] = [pending[0], pending[pending.length - 1]];
  if (first === undefined || last === undefined) return [0, null, null, NULL_ARRAY];
  const counts = new Map<string, number>();
  for (const { consumer } of pending) counts.set(consumer, (counts.get(consumer) ?? 0) + 1);
  const consumers = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([consumer, count]): ReplyValue[] => [consumer, String(count)]);
  return [pending.length, idText(first.id), idText(last.id), consumers];
}

interface Claim {
  deliveredAt: number;
  deliveries: number | null;
  isForced: boolean;
  isJustId: boolean;
  lastId: StreamId | null;
}

function claimOptions(caller: Caller, args: readonly string[], from: number): Claim {
  const { now } = caller.engine.clock;
  const claim: Claim = { deliveredAt: now, deliveries: null, isForced: false, isJustId: false, lastId: null };
  for (let index = from; index < args.length; index++) {
    const option = word(args, index);
    if (option === "FORCE") claim.isForced = true;
    else if (option === "JUSTID") claim.isJustId = true;
    else if (option === "IDLE")
      claim.deliveredAt =
        now - integerOf(following(args, index++), "ERR Invalid IDLE option argument for XCLAIM");
    else if (option === "TIME")
      claim.deliveredAt = integerOf(following(args, index++), "ERR Invalid TIME option argument for XCLAIM");
    else if (option === "RETRYCOUNT")
      claim.deliveries = integerOf(
        following(args, index++),
        "ERR Invalid RETRYCOUNT option argument for XCLAIM",
      );
    else if (option === "LASTID") claim.lastId = parseId(following(args, index++));
    else throw new ErrorReply(`ERR Unrecognized XCLAIM option '${at(args, index)}'`);
  }
  if (claim.deliveredAt < 0 || claim.deliveredAt > now) claim.deliveredAt = now;
  return claim;
}

const ID = /^\d+(-\d+)?$/;

function xclaim(caller: Caller, args: readonly string[]): ReplyValue {
  const [key, name, consumerName] = [at(args, 1), at(args, 2), at(args, 3)];
  const present = streamOf(caller, key)?.groups.get(name);
  if (present === undefined) throw new ErrorReply(`NOGROUP No such key '${key}' or consumer group '${name}'`);
  const minIdle = Math.max(0, integerOf(at(args, 4), "ERR Invalid min-idle-time argument for XCLAIM"));
  let from = 5;
  while (from < args.length && ID.test(at(args, from))) from++;
  const ids = args.slice(5, from).map((text) => parseId(text));
  const claim = claimOptions(caller, args, from);
  const group = groupToWrite(caller, key, name);
  const stream = caller.database.write(key, StreamValue) as StreamValue;
  const consumer = consumerOf(caller, group, { key, name: consumerName, isLazy: true });
  if (claim.lastId !== null && claim.lastId > group.lastId) group.lastId = claim.lastId;
  const claimed: ReplyValue[] = [];
  for (const id of ids) {
    const entry = stream.find(id);
    const old = group.pending.get(id);
    if (entry === undefined) {
      // A deleted entry is pending no more.
      group.pending.delete(id);
      continue;
    }
    if (old === undefined && !claim.isForced) continue;
    if (old !== undefined && caller.engine.clock.now - old.deliveredAt < minIdle) continue;
    enrol(caller, key, { group, consumer });
    claimed.push(take(group, { entry, old, consumer, claim }));
    consumer.activeAt = caller.engine.clock.now;
  }
  return claimed;
}

interface Taking {
  readonly entry: StreamEntry;
  readonly old: PendingEntry | undefined;
  readonly consumer: Consumer;
  readonly claim: Claim;
}

function take(group: ConsumerGroup, { entry, old, consumer, claim }: Taking): ReplyValue {
  // An entry that is only now pending counts as delivered before it is claimed.
  const counted = (old?.deliveries ?? 1) + (claim.isJustId ? 0 : 1);
  const { deliveredAt } = claim;
  group.pending.set(entry.id, {
    id: entry.id,
    consumer: consumer.name,
    deliveredAt,
    deliveries: claim.deliveries ?? counted,
  });
  return claim.isJustId ? idText(entry.id) : showEntry(entry);
}

function xautoclaim(caller: Caller, args: readonly string[]): ReplyValue {
  const [key, name, consumerName] = [at(args, 1), at(args, 2), at(args, 3)];
  const minIdle = Math.max(0, integerOf(at(args, 4), "ERR Invalid min-idle-time argument for XAUTOCLAIM"));
  const start = rangeEnd(at(args, 5), true);
  let count = 100;
  let isJustId = false;
  for (let index = 6; index < args.length; index++) {
    const option = word(args, index);
    if (option === "COUNT") {
      count = integerOf(following(args, index++), "ERR COUNT must be > 0");
      if (count < 1) throw new ErrorReply("ERR COUNT must be > 0");
    } else if (option === "JUSTID") isJustId = true;
    else throw syntaxError();
  }
  if (streamOf(caller, key)?.groups.get(name) === undefined) {
    throw new ErrorReply(`NOGROUP No such key '${key}' or consumer group '${name}'`);
  }
  const group = groupToWrite(caller, key, name);
  const stream = caller.database.write(key, StreamValue) as StreamValue;
  const { now } = caller.engine.clock;
  const consumer = consumerOf(caller, group, { key, name: consumerName, isLazy: true });
  const claim: Claim = { deliveredAt: now, deliveries: null, isForced: false, isJustId, lastId: null };
  const pending = group.pendingInOrder().filter(({ id }) => id >= start);
  const claimed: ReplyValue[] = [];
  const deleted: ReplyValue[] = [];
  let attempts = count * 10;
  let place = 0;
  for (
    ;
    place < pending.length && attempts > 0 && claimed.length + deleted.length < count;
    place++, attempts--
  ) {
    const old = pending[place] as PendingEntry;
    const entry = stream.find(old.id);
    if (entry === undefined) {
      group.pending.delete(old.id);
      deleted.push(idText(old.id));
    } else if (now - old.deliveredAt >= minIdle) {
      enrol(caller, key, { group, consumer });
      claimed.push(take(group, { entry, old, consumer, claim }));
      consumer.activeAt = now;
    }
  }
  return [idText(pending[place]?.id ?? 0n), claimed, deleted];
}

export const streamGroupHandlers: Handlers = {
  "xgroup|create": create,
  "xgroup|setid": setId,
  "xgroup|destroy": destroy,
  "xgroup|createconsumer": createConsumer,
  "xgroup|delconsumer": deleteConsumer,
  xack,
  xreadgroup,
  xpending,
  xclaim,
  xautoclaim,
};
