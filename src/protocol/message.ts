/**
 * Messages of pub/sub. A subscriber may receive millions of them, so the parser reads a message in a single
 * step instead of building an array of Buffers. The listener decodes only the parts that it needs, as strings
 * or Buffers.
 *
 *   RESP2:  *3 $7 message $<n> <channel> $<n> <payload>        RESP3: the same with > in the place of *
 *           *3 $8 smessage ...                                 *4 $8 pmessage, the pattern in front
 */

import { ASCII } from "./ascii";
import { copyBytes } from "./copy-bytes";
import { decodeText } from "./decode-value";
import { LARGE_BYTES } from "./limits";
import type { Reply } from "./resp-types";

const { CR, DOLLAR, LF, ZERO } = ASCII;

/** The server's name of the kind; the client's event has the same name. */
export type MessageKind = "message" | "pmessage" | "smessage";

/** The parts of a message, in their order. Only a `pmessage` has a pattern. */
export const MessagePart = { Pattern: 0, Channel: 1, Payload: 2 } as const;
type MessagePart = (typeof MessagePart)[keyof typeof MessagePart];

/** A published message. Its content must be read before the call that delivers it returns. */
export interface Message {
  readonly kind: MessageKind;
  text(part: MessagePart): string;
  /** A Buffer, except for the payload of client tracking over RESP2. */
  value(part: MessagePart): Reply;
}

/** The first bytes of each kind of message, after the type byte. */
const HEADS = (["message", "smessage", "pmessage"] as const).map((kind) => ({
  kind,
  bytes: Buffer.from(`${kind === "pmessage" ? 4 : 3}\r\n$${kind.length}\r\n${kind}\r\n`),
}));

const NOTHING = Buffer.alloc(0);

/** Parses messages, one after the other, from the received bytes. */
export class WireMessage implements Message {
  kind: MessageKind = "message";
  private bytes: Buffer = NOTHING;
  /** The bounds of the pattern, the channel and the payload. */
  private readonly starts = [0, 0, 0];
  private readonly ends = [0, 0, 0];

  /** The position after the message with its type byte at `at`; -1: not a message, incomplete, or unusual. */
  read(bytes: Buffer, at: number, end: number): number {
    const head = HEADS.find((one) => standsAt(bytes, at + 1, end, one.bytes));
    if (head === undefined) return -1;
    let place = at + 1 + head.bytes.length;
    let part: number = head.kind === "pmessage" ? MessagePart.Pattern : MessagePart.Channel;
    for (; part <= MessagePart.Payload; part++) {
      place = this.readBulk(part, bytes, place, end);
      if (place < 0) return -1;
    }
    this.kind = head.kind;
    this.bytes = bytes;
    return place;
  }

  /** Releases the borrowed memory after a message. */
  letGo(): void {
    this.bytes = NOTHING;
  }

  text(part: MessagePart): string {
    return decodeText(this.bytes, this.starts[part] as number, this.ends[part] as number);
  }

  value(part: MessagePart): Buffer {
    return copyBytes(this.bytes, this.starts[part] as number, this.ends[part] as number);
  }

  /** The position after the bulk string at `at`; -1 also for a large one, whose memory must grow as it arrives. */
  private readBulk(part: number, bytes: Buffer, at: number, end: number): number {
    if (at >= end || bytes[at] !== DOLLAR) return -1;
    let length = 0;
    let i = at + 1;
    for (; i < end && length <= LARGE_BYTES; i++) {
      const digit = (bytes[i] as number) - ZERO;
      if (digit >>> 0 > 9) break;
      length = length * 10 + digit;
    }
    const valueEnd = i + 2 + length;
    if (length > LARGE_BYTES || i === at + 1 || valueEnd + 2 > end) return -1;
    if (!isLineEnd(bytes, i) || !isLineEnd(bytes, valueEnd)) return -1;
    this.starts[part] = i + 2;
    this.ends[part] = valueEnd;
    return valueEnd + 2;
  }
}

/** A message that was parsed as an array: large, split between reads, or with another type of payload. */
export class DecodedMessage implements Message {
  constructor(
    readonly kind: MessageKind,
    private readonly parts: readonly Reply[],
  ) {}

  text(part: MessagePart): string {
    return String(this.parts[part] ?? "");
  }

  value(part: MessagePart): Reply {
    return this.parts[part];
  }
}

function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

function standsAt(bytes: Buffer, at: number, end: number, head: Buffer): boolean {
  if (at + head.length > end) return false;
  for (let i = 0; i < head.length; i++) if (bytes[at + i] !== head[i]) return false;
  return true;
}
