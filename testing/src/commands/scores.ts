/**
 * Scores and other doubles in replies: a double in RESP3, a text in RESP2.
 */

import type { ScoredMember } from "../keyspace/sorted-set-value";
import { NOT_A_FLOAT, parseFloatText, scoreTextOf } from "../protocol/numbers";
import { DoubleReply, ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller } from "../server/model";

/** A score that a command gives; Valkey reads no hexadecimal numbers. */
export function scoreOf(caller: Caller, text: string): number {
  const value = parseFloatText(text, caller.engine.version.product === "redis");
  if (value === null) throw new ErrorReply(NOT_A_FLOAT);
  return value;
}

export function scoreText(caller: Caller, value: number): string {
  return scoreTextOf(value, caller.engine.version.isModern);
}

export function score(caller: Caller, value: number): DoubleReply {
  return new DoubleReply(value, scoreText(caller, value));
}

/** Members, or members with scores: pairs in RESP3, in turn in RESP2. */
export function withScores(
  caller: Caller,
  members: readonly ScoredMember[],
  wantsScores: boolean,
): ReplyValue {
  if (!wantsScores) return members.map(({ member }) => member);
  const pairs = members.map(({ member, score: value }): ReplyValue[] => [member, score(caller, value)]);
  return caller.protocol === 3 ? pairs : pairs.flat();
}

/** A longitude or latitude: Redis 8 prints the shortest digits, the others 17 places. */
export function coordinate(caller: Caller, value: number): DoubleReply {
  const isShort = caller.engine.version.name === "8.2";
  return new DoubleReply(value, isShort ? scoreText(caller, value) : value.toFixed(17).replace(/\.?0+$/, ""));
}
