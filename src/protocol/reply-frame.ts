/**
 * One aggregate under construction. Frames are made once and used again, so that a nested reply
 * costs its arrays and nothing else. What a frame holds is given away when it closes.
 */

import { setOwn } from "../util/own-property";
import type { Reply } from "./resp-types";

export const FrameKind = {
  /** Arrays, sets, pushes, and maps in their flat form: elements in order. */
  List: 0,
  /** A map that becomes a plain object. */
  Dictionary: 1,
  /** Metadata in front of a value: read and dropped. */
  Attribute: 2,
  /** A string that comes in chunks of unknown number. */
  ChunkedText: 3,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

/** How an aggregate says that it is complete. */
export const Ending = {
  /** By the number of its elements, announced ahead. */
  Count: 0,
  /** By a terminator. */
  Terminator: 1,
  /** By a terminator, behind a whole number of pairs. */
  TerminatorAfterPairs: 2,
} as const;
export type Ending = (typeof Ending)[keyof typeof Ending];

/** Stand for "none" and are never written to. */
const NO_ELEMENTS: Reply[] = [];
const NO_ENTRIES: Record<string, Reply> = {};

export class ReplyFrame {
  kind: FrameKind = FrameKind.List;
  ending: Ending = Ending.Count;
  /** Elements to come, or that may still come. */
  left = 0;
  /** Elements so far; bytes so far of a chunked text. */
  index = 0;
  /** `Decode` bits outside the frame; inside they differ for the keys of a dictionary. */
  decoding = 0;
  elements: Reply[] = NO_ELEMENTS;
  private entries = NO_ENTRIES;
  private key = "";

  /** Makes the frame ready for elements; `slots` of them get their place ahead. */
  open(kind: FrameKind, left: number, slots: number): void {
    this.kind = kind;
    this.left = left;
    this.index = 0;
    if (kind === FrameKind.Dictionary) this.entries = {};
    else this.elements = slots === 0 ? [] : new Array(slots);
  }

  /** Adds a key or, behind it, its value; the caller counts. */
  addToDictionary(element: Reply): void {
    if ((this.index & 1) === 0) this.key = keyOf(element);
    else setOwn(this.entries, this.key, element);
  }

  /** The finished aggregate. */
  close(): Reply {
    if (this.kind === FrameKind.Dictionary) {
      const entries = this.entries;
      this.entries = NO_ENTRIES;
      return entries;
    }
    const elements = this.elements;
    this.elements = NO_ELEMENTS;
    return elements;
  }

  /** Forgets what was gathered; the elements still to come are counted and dropped. */
  drop(): void {
    this.elements = NO_ELEMENTS;
    this.entries = NO_ENTRIES;
  }
}

/** A key is a text, as sent if it was a scalar; an aggregate is written as JSON. */
function keyOf(element: Reply): string {
  if (typeof element === "string") return element;
  if (element instanceof Error) return element.message;
  if (typeof element === "object" && element !== null) return JSON.stringify(element);
  return String(element);
}
