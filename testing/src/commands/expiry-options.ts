/**
 * EX, PX, EXAT, PXAT: times of expiry as options and as arguments.
 */

import { type Integer, NOT_AN_INTEGER, parseInteger } from "../protocol/numbers";
import { ErrorReply } from "../protocol/reply";

const MAX_INT64 = 9223372036854775807n;

export interface ExpiryUnit {
  readonly isSeconds: boolean;
  readonly isAbsolute: boolean;
}

export const EXPIRY_OPTIONS: Readonly<Record<string, ExpiryUnit>> = {
  EX: { isSeconds: true, isAbsolute: false },
  PX: { isSeconds: false, isAbsolute: false },
  EXAT: { isSeconds: true, isAbsolute: true },
  PXAT: { isSeconds: false, isAbsolute: true },
};

function invalidExpire(command: string): ErrorReply {
  return new ErrorReply(`ERR invalid expire time in '${command}' command`);
}

export interface ExpiryContext {
  readonly now: number;
  readonly command: string;
}

function integerOf(text: string): Integer {
  const parsed = parseInteger(text);
  if (parsed === null) throw new ErrorReply(NOT_AN_INTEGER);
  return parsed;
}

/** Milliseconds since 1970. A value of more than 64 bits is invalid. */
export function expiryTime(text: string, unit: ExpiryUnit, { now, command }: ExpiryContext): number {
  let value = BigInt(integerOf(text));
  if (unit.isSeconds) value *= 1000n;
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) throw invalidExpire(command);
  if (!unit.isAbsolute) value += BigInt(now);
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) throw invalidExpire(command);
  return Number(value);
}

/** As `expiryTime`, for options that take only positive numbers. */
export function positiveExpiryTime(text: string, unit: ExpiryUnit, context: ExpiryContext): number {
  if (integerOf(text) <= 0) throw invalidExpire(context.command);
  return expiryTime(text, unit, context);
}
