/**
 * XACKDEL and XDELEX of Redis 8.2: deletes entries, with a strategy for their references in consumer groups.
 */

import { type StreamId, StreamValue } from "../keyspace/stream-value";
import { parseInteger } from "../protocol/numbers";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, syntaxError, word } from "./arguments";
import { parseId } from "./stream-ids";
import {
  deleteReferences,
  isReferenced,
  isReferenceStrategy,
  type ReferenceStrategy,
} from "./stream-references";
import { streamOf } from "./streams";

/** The answers for one id. */
const NOT_FOUND = -1;
const DELETED = 1;
const STILL_REFERENCED = 2;

interface Deletion {
  readonly strategy: ReferenceStrategy;
  readonly ids: readonly string[];
}

/** `[KEEPREF|DELREF|ACKED] IDS count id …`, in either order; the last list counts. */
function deletionOf(args: readonly string[], from: number): Deletion {
  let strategy: ReferenceStrategy | null = null;
  let ids: readonly string[] | null = null;
  for (let index = from; index < args.length; index++) {
    const option = word(args, index);
    if (isReferenceStrategy(option) && strategy === null) strategy = option;
    else if (option === "IDS" && index + 1 < args.length) {
      const count = parseInteger(at(args, index + 1));
      if (count === null || count < 1) throw new ErrorReply("ERR Number of IDs must be a positive integer");
      const start = index + 2;
      if (start + Number(count) > args.length) {
        throw new ErrorReply("ERR The `numids` parameter must match the number of arguments");
      }
      ids = args.slice(start, start + Number(count));
      index = start + Number(count) - 1;
    } else throw syntaxError();
  }
  if (ids === null) throw syntaxError();
  return { strategy: strategy ?? "KEEPREF", ids };
}

/** Deletes one entry as the strategy says. */
function deleteEntry(stream: StreamValue, id: StreamId, strategy: ReferenceStrategy): number {
  if (strategy === "ACKED" && isReferenced(stream, id)) return STILL_REFERENCED;
  if (strategy === "DELREF") deleteReferences(stream, id);
  return stream.delete(id) ? DELETED : NOT_FOUND;
}

/** The answers for all ids; one notification if something was deleted. */
function deleteAll(caller: Caller, key: string, answerOf: (stream: StreamValue) => number[]): ReplyValue {
  const { database } = caller;
  const stream = database.write(key, StreamValue) as StreamValue;
  const before = stream.size;
  const answers = answerOf(stream);
  if (stream.size < before) database.modified(key, "t", "xdel");
  return answers;
}

function xdelex(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 1);
  const isThere = streamOf(caller, key) !== undefined;
  const { strategy, ids } = deletionOf(args, 2);
  if (!isThere) return ids.map(() => NOT_FOUND);
  const parsed = ids.map((text) => parseId(text));
  return deleteAll(caller, key, (stream) => parsed.map((id) => deleteEntry(stream, id, strategy)));
}

function xackdel(caller: Caller, args: readonly string[]): ReplyValue {
  const [key, name] = [at(args, 1), at(args, 2)];
  const present = streamOf(caller, key)?.groups.get(name);
  const { strategy, ids } = deletionOf(args, 3);
  if (present === undefined) return ids.map(() => NOT_FOUND);
  const parsed = ids.map((text) => parseId(text));
  return deleteAll(caller, key, (stream) =>
    parsed.map((id) => {
      if (stream.groups.get(name)?.pending.delete(id) !== true) return NOT_FOUND;
      // An entry that had been deleted before counts as deleted now.
      return deleteEntry(stream, id, strategy) === STILL_REFERENCED ? STILL_REFERENCED : DELETED;
    }),
  );
}

export const streamDeletionHandlers: Handlers = { xdelex, xackdel };
