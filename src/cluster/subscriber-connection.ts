/**
 * One connection for subscriptions of a cluster client, as its reconciler sees it: the requested and the
 * confirmed subscriptions, and whether the node is silent. Also builds the commands that the client sends on
 * its own account.
 *
 * A connection without traffic proves nothing about its node, so the client sends PING after a while. It adds up
 * checks instead of reading the clock: after the process itself was suspended, pending replies are read before the
 * next check.
 */

import { type Command, Origin } from "../command/command";
import type { Dispatcher } from "../command/dispatcher";
import { ownCommand } from "../command/own-command";
import type { SubscriptionKind, Subscriptions } from "../connection/subscriptions";
import type { Takeover } from "../link/link-options";
import type { LinkStatus } from "../link/link-state";
import type { Message } from "../protocol/message";
import { clockMs } from "../util/scheduling";
import { type ClusterNode, GOSSIP_MS, type NodeClient } from "./cluster-node";

export type SubscriberClient = Dispatcher & Pick<NodeClient, "link">;

export interface SubscriberSupervisor {
  readonly takeover: Takeover;
  onStatus(status: LinkStatus): void;
  onNamedError(type: string, error: Error): void;
  /** Returns true when the command was redirected or ended. */
  onReplyError(command: Command, error: Error): boolean;
  onShardLost(channel: Buffer): void;
  onMessage(message: Message): void;
}

export const CHECK_MS = 500;
/** After this long without a byte, the client sends PING. No reply by the next check means silence. */
const ASKED_AFTER_MS = 1000;
/** After this long without a byte, a replaceable node is abandoned. Most scripts take less time. */
const LEFT_AFTER_MS = 3500;

export function keyOf(kind: SubscriptionKind, name: Buffer): string {
  return `${kind}${name.toString("latin1")}`;
}

export class SubscriberConnection {
  readonly client: SubscriberClient;
  /** Requested by the client itself and not answered. */
  readonly asked = new Map<string, Command>();
  /** When a request of the client itself was confirmed, or the server ended the subscription. */
  readonly changedAtMs = new Map<string, number>();
  private bytesHeard: number | undefined;
  /** How long no byte has arrived, as counted by the checks. */
  silentMs = 0;

  constructor(
    readonly node: ClusterNode,
    open: (connection: SubscriberConnection) => SubscriberClient,
  ) {
    this.client = open(this);
  }

  /** It did not answer the PING. */
  get isSilent(): boolean {
    return this.silentMs > ASKED_AFTER_MS;
  }

  /** It has been silent so long that another node is better, if any node will do. */
  get isForsaken(): boolean {
    return this.silentMs >= LEFT_AFTER_MS;
  }

  get heardAtMs(): number {
    return this.client.link.lastArrivalMs || clockMs();
  }

  get confirmed(): Subscriptions {
    return this.client.link.subscriptions;
  }

  noteChange(kind: SubscriptionKind, name: Buffer): void {
    this.changedAtMs.set(keyOf(kind, name), clockMs());
  }

  /** It was confirmed or ended recently: a table that contradicts it may be older. */
  isRecent(kind: SubscriptionKind, name: Buffer): boolean {
    const atMs = this.changedAtMs.get(keyOf(kind, name));
    return atMs !== undefined && clockMs() - atMs < GOSSIP_MS;
  }

  /** Counts the silence since the last check. */
  check(): void {
    const { connection, status } = this.client.link;
    const bytes = status === "ready" ? connection?.bytesRead : undefined;
    if (bytes === undefined || bytes !== this.bytesHeard) {
      this.bytesHeard = bytes;
      this.silentMs = 0;
      return;
    }
    this.silentMs += CHECK_MS;
    if (this.silentMs === ASKED_AFTER_MS) this.client.dispatch(ownCommand(Origin.Resubscribe, "ping"));
  }
}

export function isOwn(command: Command): boolean {
  return command.origin === Origin.Resubscribe;
}
