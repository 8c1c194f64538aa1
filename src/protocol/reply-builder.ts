/**
 * Assembles values into replies and passes complete ones to the sink. Knows nothing of bytes.
 *
 *   frames:  | reply | element of it | element of that |
 *                                      ^ frame (depth 3): values are placed here
 *
 * Each top-level reply reaches the sink exactly once, in one of three ways; metadata never does.
 * Frames are reused.
 */

import { ReplyTooLongError } from "../errors";
import { toError } from "../util/user-code";
import { MAX_DEPTH, MAX_PREALLOCATED_SLOTS } from "./limits";
import { FrameKind, hasEntries, ReplyFrame } from "./reply-frame";
import type { ReplySink } from "./reply-sink";
import { Decode, type Reply } from "./resp-types";
import { TypeByte } from "./type-byte";

export class ReplyBuilder {
  /** `Decode` bits of the next value. */
  decoding = 0;
  /** Between two top-level replies. */
  isIdle = true;
  /** Values are counted but discarded: inside metadata, or after `failReply`. */
  isDropping = false;
  /** The innermost open aggregate. */
  frame: ReplyFrame | null = null;
  private isPush = false;
  private depth = 0;
  private readonly frames: ReplyFrame[] = [];
  /** The depth of the outermost open attribute, 0 without one. */
  private attributeDepth = 0;
  private replyFailure: Error | null = null;
  /** Array slots that the current reply may still preallocate. */
  private slotsLeft = 0;

  constructor(private readonly sink: ReplySink) {}

  /** Begins a reply, a push, or metadata before either. */
  begin(type: number): void {
    this.isPush = type === TypeByte.Push;
    if (this.isPush) this.decoding = Decode.Buffers | Decode.Messages;
    else if (type !== TypeByte.Attribute) this.decoding = this.sink.nextDecoding();
    this.isIdle = false;
  }

  /** The current top-level reply cannot be delivered; the rest of it is dropped. */
  failReply(error: Error): void {
    this.replyFailure ??= error;
    this.isDropping = true;
    for (let i = 0; i < this.depth; i++) (this.frames[i] as ReplyFrame).drop();
  }

  /** Opens an aggregate of `count` elements. Returns false if it is nested too deep. */
  open(kind: FrameKind, count: number): boolean {
    if (this.depth === MAX_DEPTH) return false;
    if (this.depth === 0) this.slotsLeft = MAX_PREALLOCATED_SLOTS;
    if (this.depth === this.frames.length) this.frames.push(new ReplyFrame());
    const frame = this.frames[this.depth++] as ReplyFrame;
    this.frame = frame;
    frame.decoding = this.decoding;
    if (kind === FrameKind.Attribute && this.attributeDepth === 0) {
      this.attributeDepth = this.depth;
      this.isDropping = true;
    }
    const slots = kind === FrameKind.List && !this.isDropping ? Math.min(count, this.slotsLeft) : 0;
    this.slotsLeft -= slots;
    frame.open(kind, count, slots);
    if (hasEntries(kind)) this.decoding = keyDecoding(frame.decoding);
    return count > 0 || this.finish(frame);
  }

  /** Places a value, and closes the aggregates that it completes. */
  place(value: Reply): true {
    const frame = this.frame;
    if (frame === null) {
      this.isIdle = true;
      const isUsual = this.replyFailure === null && !this.isPush && !(value instanceof Error);
      if (isUsual) this.sink.onReply(value);
      else this.deliverUnusual(value);
      return true;
    }
    if (frame.kind !== FrameKind.List) this.placeSpecial(frame, value);
    else if (!this.isDropping) (frame.content as Reply[])[frame.index] = value;
    frame.index++;
    return --frame.left > 0 || this.finish(frame);
  }

  private placeSpecial(frame: ReplyFrame, value: Reply): void {
    if (!hasEntries(frame.kind)) return;
    const isKey = (frame.index & 1) === 0;
    this.decoding = isKey ? frame.decoding : keyDecoding(frame.decoding);
    if (this.isDropping) return;
    try {
      frame.addEntry(value);
    } catch (error) {
      // An aggregate as a map key becomes JSON, which may be longer than any string.
      this.failReply(error instanceof RangeError ? new ReplyTooLongError("a map key") : toError(error));
    }
  }

  /** Closes the innermost aggregate and places it in the enclosing one. */
  private finish(frame: ReplyFrame): true {
    if (frame.kind === FrameKind.Attribute) {
      this.endAttribute(frame);
      return true;
    }
    const value = this.isDropping ? null : frame.close();
    this.pop(frame);
    return this.place(value);
  }

  private endAttribute(frame: ReplyFrame): void {
    if (this.attributeDepth === this.depth) {
      this.attributeDepth = 0;
      this.isDropping = this.replyFailure !== null;
    }
    this.pop(frame);
    // Metadata before a top-level reply: that reply has not begun yet.
    if (this.depth === 0) this.isIdle = true;
  }

  private pop(frame: ReplyFrame): void {
    this.depth--;
    this.decoding = frame.decoding;
    this.frame = this.depth === 0 ? null : (this.frames[this.depth - 1] as ReplyFrame);
  }

  private deliverUnusual(value: Reply): void {
    const failure = this.replyFailure;
    this.replyFailure = null;
    if (failure !== null) this.isDropping = false;
    if (this.isPush) {
      if (failure === null) this.sink.onPush(value as Reply[]);
    } else this.sink.onErrorReply(failure ?? (value as Error));
  }
}

/** Keys are texts; numbers keep their original digits. */
function keyDecoding(decoding: number): number {
  return (decoding & ~(Decode.Buffers | Decode.BigInts | Decode.Maps)) | Decode.StringNumbers;
}
