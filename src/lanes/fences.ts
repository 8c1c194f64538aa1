/**
 * Finds out when a lane has done all that it was given. A PING is written behind it: its answer
 * comes after all others, also of those commands whose callers have given up. A fence ends with its
 * connection; what the next connection sends again is then waited for by another one.
 */

import { ReplyError } from "../errors";
import { type Lane, ownCommand } from "./lane";

export class Fences {
  /** Lanes with a fence under way. */
  private readonly asked = new Set<Lane>();
  /** Lanes whose last fence was lost: the next one follows when something changes there. */
  private readonly lost = new Set<Lane>();

  /** @param onAnswered Called after each: those who found one under way may ask again. */
  constructor(private readonly onAnswered: () => void) {}

  /** Puts a fence behind all that a lane has, unless one is under way. `onPassed` is called when it is answered. */
  ask(lane: Lane, onPassed: () => void): void {
    if (this.asked.has(lane) || this.lost.has(lane)) return;
    this.asked.add(lane);
    const end = (isPassed: boolean): void => {
      this.asked.delete(lane);
      if (!isPassed) {
        this.lost.add(lane);
        return;
      }
      onPassed();
      this.onAnswered();
    };
    const completion = {
      promise: null,
      fulfil: () => end(true),
      // The user may not PING here, but it is answered.
      reject: (_: unknown, error: Error) => end(error instanceof ReplyError),
    };
    lane.dispatchBatch([ownCommand("ping", [], completion)]);
  }

  /** Something has changed: lost fences may be asked for again. */
  retry(): void {
    this.lost.clear();
  }
}
