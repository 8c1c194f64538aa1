/**
 * Rejects commands that have no reply (CLIENT REPLY OFF, REPLCONF ACK) or endless replies (MONITOR, SYNC). On a
 * shared connection every later reply would reach the wrong caller, so they are rejected before any part of
 * them is written.
 */

import { UnansweredCommandError } from "../errors";
import type { Argument } from "../protocol/resp-types";
import { CommandFlag, type CommandSpec } from "./command-spec";
import { isWord } from "./key-positions";

/** Throws an `UnansweredCommandError` for such a command. */
export function refuseUnanswered({ flags, lowerName }: CommandSpec, args: readonly Argument[]): void {
  if ((flags & CommandFlag.Unanswered) === 0) return;
  switch (lowerName) {
    case "client":
      if (isWord(args[0], "REPLY") && (isWord(args[1], "OFF") || isWord(args[1], "SKIP")))
        throw new UnansweredCommandError("client reply", "");
      return;
    case "replconf":
      if (!isWord(args[0], "ACK") && !isWord(args[0], "GETACK")) return;
      throw new UnansweredCommandError(lowerName, "");
    case "monitor":
      throw new UnansweredCommandError(lowerName, "; use redis.monitor()");
    default:
      throw new UnansweredCommandError(lowerName, "; use a connection of its own");
  }
}
