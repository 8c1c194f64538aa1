/**
 * Parses the error replies that send a cluster client elsewhere or ask it to retry later. They come from the
 * wire: slots, hosts and ports are checked, and an invalid redirect counts as an ordinary error of the command.
 */

import { SLOT_COUNT } from "../command/slot";
import { ReplyError } from "../errors";
import { type RedirectContext, redirectChannel } from "../observability/work-channels";
import { parsePort } from "../util/address-checks";
import { maskName } from "../util/credentials";
import { NO_NAME, type NodeAddress, nodeKey, parseAddress } from "./node-address";

export type RedirectKind =
  /** The slot has moved to another master. */
  | "moved"
  /** Only this command goes to the node that imports the slot. */
  | "ask"
  /** While the slot moves, the keys of the command are on two nodes. */
  | "tryAgain"
  /** The cluster currently does not serve the slot. */
  | "clusterDown"
  /**
   * The node cannot serve: it is loading data, lost its master, or is not a master. Or the slot is served by a node
   * with an unknown address.
   */
  | "other";

export interface Redirect {
  readonly kind: RedirectKind;
  /** -1 unless the server named one. */
  readonly slot: number;
  readonly target: NodeAddress | null;
  /** The port of a node that an ASK names without its host. */
  readonly port?: number;
}

const KINDS: ReadonlyMap<string, RedirectKind> = new Map([
  ["MOVED", "moved"],
  ["ASK", "ask"],
  ["TRYAGAIN", "tryAgain"],
  ["CLUSTERDOWN", "clusterDown"],
  ["LOADING", "other"],
  ["MASTERDOWN", "other"],
  ["READONLY", "other"],
  // A blocked command whose node became a replica.
  ["UNBLOCKED", "other"],
]);

/** An EXEC refused because of the node's state has that state after this prefix. */
const EXEC_REASON = "EXECABORT Transaction discarded because of: ";

/** Reports on the diagnostics channel that the node `from` has redirected or deferred a command. */
export function tellRedirected(
  { kind, target, slot }: Redirect,
  from: string,
  command: { readonly slot: number; readonly spec: { readonly lowerName: string } },
): void {
  if (!redirectChannel.hasSubscribers) return;
  const context: RedirectContext = {
    kind: kind.toUpperCase() as RedirectContext["kind"],
    command: maskName(command.spec.lowerName, []),
    slot: Math.max(slot, command.slot, -1),
    from,
    to: target === null ? null : nodeKey(target),
  };
  redirectChannel.publish(context);
}

/** The redirect in the error, or null for an ordinary error. `sender` is the node that sent it. */
export function parseRedirect(message: string, sender: NodeAddress): Redirect | null {
  const text = reasonIn(message);
  const kind = kindOf(text);
  if (kind === undefined) return null;
  return kind === "moved" || kind === "ask"
    ? parseTarget(kind, text, sender)
    : { kind, slot: -1, target: null };
}

/** Whether the error is a reply of a node that serves the slot of the command. */
export function isServed(error: Error): boolean {
  return error instanceof ReplyError && kindOf(reasonIn(error.message)) === undefined;
}

function reasonIn(message: string): string {
  return message.startsWith(EXEC_REASON) ? message.slice(EXEC_REASON.length) : message;
}

function kindOf(reason: string): RedirectKind | undefined {
  return KINDS.get(reason.split(" ", 1)[0] as string);
}

function parseTarget(kind: "moved" | "ask", text: string, sender: NodeAddress): Redirect | null {
  const [, slotText = "", addressText = ""] = text.split(" ");
  if (!/^\d{1,5}$/.test(slotText)) return null;
  const slot = Number(slotText);
  if (slot >= SLOT_COUNT) return null;
  const isNameless = addressText.startsWith(`${NO_NAME}:`);
  const port = isNameless ? parsePort(addressText.slice(NO_NAME.length + 1)) : null;
  // For MOVED a refresh finds the new owner; for ASK the table does not name the importing node.
  if (port !== null) return { kind: kind === "ask" ? kind : "other", slot, target: null, port };
  const target = parseAddress(addressText, sender);
  return target === null ? null : { kind, slot, target };
}
