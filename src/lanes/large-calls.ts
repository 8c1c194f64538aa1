/**
 * Remembers which calls bring large replies: by the command and the beginning of its key, up to the
 * first separator or digit (`avatar` of `avatar:17`). A few small replies in a row make it forget.
 */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { firstKeyPosition } from "../command/key-positions";
import type { Argument, Reply } from "../protocol/resp-types";

/** Bytes from which a request or a reply is large: 0.6 ms of a network of 100 MB/s. */
export const LARGE_BYTES = 64 * 1024;
/** Small replies in a row after which calls count as small again. */
const PATIENCE = 8;
/** Kinds of calls that are remembered; with more, new ones are not. */
const MOST_KINDS = 1000;
const LONGEST_BEGINNING = 64;

const END_OF_BEGINNING = /[:/.|#0-9]/;

export class LargeCalls {
  private readonly kinds = new Map<string, number>();

  get isEmpty(): boolean {
    return this.kinds.size === 0;
  }

  has(command: Command): boolean {
    return this.kinds.size > 0 && this.kinds.has(kindOf(command));
  }

  /** A reply has come. */
  note(command: Command, isLarge: boolean): void {
    if (!isLarge && this.kinds.size === 0) return;
    const kind = kindOf(command);
    if (isLarge) {
      if (this.kinds.size < MOST_KINDS || this.kinds.has(kind)) this.kinds.set(kind, PATIENCE);
      return;
    }
    const left = this.kinds.get(kind);
    if (left === undefined) return;
    if (left > 1) this.kinds.set(kind, left - 1);
    else this.kinds.delete(kind);
  }
}

/** True for commands whose replies are worth remembering. */
export function isRead({ spec }: Command): boolean {
  return (spec.flags & CommandFlag.Readonly) !== 0;
}

function kindOf({ spec, args }: Command): string {
  const position = firstKeyPosition(spec, args);
  return `${spec.lowerName} ${position < 0 ? "" : beginningOf(args[position] as Argument)}`;
}

function beginningOf(key: Argument): string {
  const text = typeof key === "string" ? key : key.toString("latin1", 0, LONGEST_BEGINNING);
  const end = text.search(END_OF_BEGINNING);
  return text.slice(0, end < 0 ? LONGEST_BEGINNING : Math.min(end, LONGEST_BEGINNING));
}

/** True if a reply has at least so many bytes (characters of strings). Looks no further than it has to. */
export function isLargeReply(reply: Reply): boolean {
  return bytesLeft(reply, LARGE_BYTES) <= 0;
}

function bytesLeft(reply: unknown, left: number): number {
  if (typeof reply === "string" || Buffer.isBuffer(reply)) return left - reply.length;
  if (typeof reply !== "object" || reply === null) return left - 8;
  let rest = left;
  for (const value of Array.isArray(reply) ? reply : Object.values(reply)) {
    rest = bytesLeft(value, rest);
    if (rest <= 0) break;
  }
  return rest;
}

/** True if the arguments of the commands have so many bytes together. */
export function areLargeRequests(commands: readonly Command[]): boolean {
  let left = LARGE_BYTES;
  for (const { args } of commands) {
    for (let index = 0; index < args.length; index++) left -= (args[index] as Argument).length;
    if (left <= 0) return true;
  }
  return false;
}
