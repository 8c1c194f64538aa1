/**
 * The values that command handlers return and that the writer turns into RESP2 or RESP3. Texts
 * are byte strings: one UTF-16 unit for each byte, so that keys and values of any content are
 * plain map keys, cost no copies and leave as they came.
 *
 *   string → bulk string     number, bigint → integer     null → null     array → array
 *   boolean → integer or RESP3 boolean     everything else → one of the classes below
 */

export type ReplyValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly ReplyValue[]
  | Status
  | ErrorReply
  | MapReply
  | SetReply
  | DoubleReply
  | VerbatimReply
  | BigNumberReply
  | NullArray
  | NoReply;

/** A simple string: `+OK`. */
export class Status {
  constructor(readonly text: string) {}
}

/** An error reply, code first: `WRONGTYPE Operation …`. Handlers throw it. */
export class ErrorReply extends Error {
  override readonly name = "ErrorReply";
}

/** Keys and values in turn; RESP2 has a flat array for it. */
export class MapReply {
  constructor(readonly pairs: readonly ReplyValue[]) {}
}

/** A set; RESP2 has an array for it. */
export class SetReply {
  constructor(readonly members: readonly ReplyValue[]) {}
}

/** A double; in RESP2 a bulk string of the same text. */
export class DoubleReply {
  constructor(
    readonly value: number,
    readonly text: string,
  ) {}
}

/** A text with a format; in RESP2 a bulk string. */
export class VerbatimReply {
  constructor(
    readonly text: string,
    readonly format: "txt" | "mkd" = "txt",
  ) {}
}

/** An integer of any size; in RESP2 a bulk string of its digits. */
export class BigNumberReply {
  constructor(readonly digits: string) {}
}

/** `*-1` in RESP2, `_` in RESP3. */
export class NullArray {
  readonly isNull = true;
}

/** Nothing is sent now: the command waits, or its answer was pushed. */
export class NoReply {
  readonly isSilent = true;
}

export const OK = new Status("OK");
export const QUEUED = new Status("QUEUED");
export const PONG = new Status("PONG");
export const NULL_ARRAY = new NullArray();
/** The caller waits for data or a time limit; see server/blocking.ts. */
export const BLOCKED = new NoReply();
/** The handler has written its replies itself (SUBSCRIBE and similar commands), or the command has no reply. */
export const ANSWERED = new NoReply();
