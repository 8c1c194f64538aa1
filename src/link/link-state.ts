/** The public words for the state of a link, as applications read them, and what a mode forbids. */

import { CommandFlag } from "../command/command-spec";
import { MonitorModeError, SubscriberModeError } from "../errors";

export type LinkStatus =
  | "wait"
  | "connecting"
  | "connect"
  | "ready"
  | "close"
  | "reconnecting"
  | "end"
  | "monitoring";

/** `subscriber` only on a RESP2 connection that has subscriptions. */
export type LinkMode = "normal" | "subscriber" | "monitor";

/** Why a command with these flags cannot be sent in the mode, or null. */
export function modeRefusal(mode: LinkMode, flags: number): Error | null {
  if (mode === "monitor" && (flags & CommandFlag.Monitor) === 0) return new MonitorModeError();
  if (mode === "subscriber" && (flags & CommandFlag.ValidInSubscriber) === 0)
    return new SubscriberModeError();
  return null;
}
