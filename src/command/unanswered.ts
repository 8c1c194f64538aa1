/**
 * Rejects commands that have no reply (CLIENT REPLY OFF, REPLCONF ACK) or endless replies (MONITOR, SYNC). On a
 * shared connection every later reply would reach the wrong caller, so they are rejected before any part of
 * them is written.
 */

import { UnansweredCommandError } from "../errors";
import type { Argument } from "../protocol/resp-types";
import { CommandFlag, type CommandSpec } from "./command-spec";
import { isWord } from "./key-positions";

/** The error for such a command, or null for all others. */
export function unansweredRefusal(spec: CommandSpec, args: readonly Argument[]): Error | null {
  if ((spec.flags & CommandFlag.Unanswered) === 0) return null;
  switch (spec.lowerName) {
    case "client": {
      const isOff = isWord(args[1], "OFF") || isWord(args[1], "SKIP");
      return isWord(args[0], "REPLY") && isOff ? refusal("client reply", "") : null;
    }
    case "replconf":
      return isWord(args[0], "ACK") || isWord(args[0], "GETACK") ? refusal("replconf", "") : null;
    case "monitor":
      return refusal("monitor", "; use redis.monitor()");
    default:
      return refusal(spec.lowerName, "; use a connection of its own");
  }
}

function refusal(name: string, advice: string): Error {
  return new UnansweredCommandError(name, advice);
}
