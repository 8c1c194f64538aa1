/**
 * One aggregate under construction. Frames are reused, so a nested reply costs only its arrays. A closed
 * frame no longer refers to its content.
 */

import { setOwn } from "../util/own-property";
import type { Reply } from "./resp-types";

export const FrameKind = {
  /** Arrays, sets, pushes, and maps in their flat form: elements in order. */
  List: 0,
  /** A map that becomes a plain object. */
  Dictionary: 1,
  /** Metadata before a value: read and dropped. */
  Attribute: 2,
  /** A map that becomes a `Map`. */
  Map: 3,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

/** An empty placeholder that is never modified. */
const NO_ELEMENTS: Reply[] = [];

export class ReplyFrame {
  kind: FrameKind = FrameKind.List;
  /** Remaining elements. */
  left = 0;
  /** Elements so far. */
  index = 0;
  /** The `Decode` bits outside the frame; inside they differ for the keys of a dictionary. */
  decoding = 0;
  content: Reply[] | Record<string, Reply> | Map<string, Reply> = NO_ELEMENTS;
  private key = "";

  /** Prepares the frame for elements; preallocates `slots` of them. */
  open(kind: FrameKind, left: number, slots: number): void {
    this.kind = kind;
    this.left = left;
    this.index = 0;
    if (kind === FrameKind.Dictionary) this.content = {};
    else if (kind === FrameKind.Map) this.content = new Map();
    else this.content = slots === 0 ? [] : new Array(slots);
  }

  /** Adds a key, or the value of the last key. The caller increments `index`. */
  addEntry(element: Reply): void {
    if ((this.index & 1) === 0) this.key = keyOf(element);
    else if (this.kind === FrameKind.Map) (this.content as Map<string, Reply>).set(this.key, element);
    else setOwn(this.content as Record<string, Reply>, this.key, element);
  }

  close(): Reply {
    const { content } = this;
    this.drop();
    return content;
  }

  /** Drops the collected elements; further ones are counted and dropped. */
  drop(): void {
    this.content = NO_ELEMENTS;
  }
}

export function hasEntries(kind: FrameKind): boolean {
  return kind === FrameKind.Dictionary || kind === FrameKind.Map;
}

/** A key is a text: a scalar as it was sent, an aggregate as JSON. */
function keyOf(element: Reply): string {
  if (typeof element === "string") return element;
  if (element instanceof Error) return element.message;
  if (typeof element === "object" && element !== null) return JSON.stringify(element);
  return String(element);
}
