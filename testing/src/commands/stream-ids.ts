/**
 * Stream ids as arguments: `5-1`, `5`, `-`, `+`, `(5-1`.
 */

import { MAX_ID, MAX_PART, makeId, type StreamId } from "../keyspace/stream-value";
import { ErrorReply } from "../protocol/reply";

export const INVALID_ID = "ERR Invalid stream ID specified as stream command argument";
const ID = /^(\d{1,20})(?:-(\d{1,20}))?$/;

/** An id; where its sequence is not given it is `sequence`. */
export function parseId(text: string, sequence = 0n): StreamId {
  const match = ID.exec(text);
  const milliseconds = BigInt(match?.[1] ?? 0);
  const given = match?.[2] === undefined ? sequence : BigInt(match[2]);
  if (match === null || milliseconds > MAX_PART || given > MAX_PART) throw new ErrorReply(INVALID_ID);
  return makeId(milliseconds, given);
}

/** One end of a range; exclusive ends move by one. */
export function rangeEnd(text: string, isStart: boolean): StreamId {
  const isExclusive = text.startsWith("(");
  const plain = isExclusive ? text.slice(1) : text;
  if (!isExclusive && plain === "-") return 0n;
  if (!isExclusive && plain === "+") return MAX_ID;
  const id = parseId(plain, isStart ? 0n : MAX_PART);
  if (!isExclusive) return id;
  if (isStart) {
    if (id === MAX_ID) throw new ErrorReply("ERR invalid start ID for the interval");
    return id + 1n;
  }
  if (id === 0n) throw new ErrorReply("ERR invalid end ID for the interval");
  return id - 1n;
}
