/**
 * Restores subscriptions on a new connection: one SUBSCRIBE with all channels, one PSUBSCRIBE with all
 * patterns, and one SSUBSCRIBE for each shard channel, because they may be in different slots. A server refuses all
 * names of a command because of one. Each half of a refused command is sent again until the refused names are found.
 */

import { Origin } from "../command/command";
import { completionOf, ownCommand } from "../command/own-command";
import type { Connection } from "../connection/connection";
import { serverFor } from "../connection/flush-encoder";
import { gapOf, SUBSCRIBING, SubscriptionKind, type Subscriptions } from "../connection/subscriptions";
import { ReplyError } from "../errors";
import { type PubSubContext, pubSubChannel } from "../observability/work-channels";
import { clockMs } from "../util/scheduling";
import type { LinkDeps, LinkListener } from "./link-options";

/** Reports the period without messages, from the last byte of the lost connection on. */
export class SubscriptionGap {
  private context: PubSubContext | null = null;
  /** When the last bytes arrived over the connection that had all subscriptions. */
  private sinceMs: number | null = null;

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly deps: Pick<LinkDeps, "tracer" | "listener">,
  ) {}

  /** The connection was lost; its last bytes had arrived at `lastArrivalMs`. */
  begin(lastArrivalMs: number): void {
    if (this.subscriptions.isEmpty) this.sinceMs = null;
    else this.sinceMs ??= lastArrivalMs;
    if (this.subscriptions.isEmpty || this.context !== null || !pubSubChannel.isHeard) return;
    const subscriptions = this.subscriptions.count;
    this.context = pubSubChannel.begin({ ...serverFor(this.deps.tracer), subscriptions });
  }

  /** Restores the subscriptions on the next connection, which ends the gap. */
  restore(connection: Connection, report: (error: Error) => void): void {
    const onRefused: LinkListener["onNameRefused"] = (kind, name, error) => {
      report(error);
      this.deps.listener.onNameRefused(kind, name, error);
    };
    restoreSubscriptions(connection, this.subscriptions, onRefused, () => this.end());
  }

  /** The subscriptions are restored, or will not be. */
  end(error?: Error): void {
    const { context, sinceMs } = this;
    this.sinceMs = null;
    if (error === undefined && sinceMs !== null && !this.subscriptions.isEmpty) {
      this.deps.listener.onGap(gapOf(this.subscriptions, sinceMs));
    }
    if (context === null) return;
    this.context = null;
    context.gapMs = clockMs() - (sinceMs ?? clockMs());
    pubSubChannel.settle(context, error);
  }
}

export function restoreSubscriptions(
  connection: Connection,
  subscriptions: Subscriptions,
  onNameRefused: LinkListener["onNameRefused"],
  onRestored: () => void,
): void {
  let unanswered = 0;
  const send = (kind: SubscriptionKind, names: Buffer[]): void => {
    if (names.length === 0) return;
    unanswered++;
    const completion = completionOf((error) => {
      if (error instanceof ReplyError) refuse(kind, names, error);
      // If the connection is lost before the reply, the names stay in the set, and the next connection restores them.
      else if (error !== null) return;
      if (--unanswered === 0) onRestored();
    });
    connection.dispatch(ownCommand(Origin.Restore, SUBSCRIBING[kind].enter, names, completion));
  };
  const refuse = (kind: SubscriptionKind, names: Buffer[], error: ReplyError): void => {
    const half = names.length >> 1;
    const [name] = names;
    if (half > 0) {
      send(kind, names.slice(0, half));
      send(kind, names.slice(half));
    } else if (name !== undefined) {
      subscriptions.delete(kind, name);
      onNameRefused(kind, name, error);
    }
  };
  send(SubscriptionKind.Channel, subscriptions.names(SubscriptionKind.Channel));
  send(SubscriptionKind.Pattern, subscriptions.names(SubscriptionKind.Pattern));
  for (const channel of subscriptions.names(SubscriptionKind.Shard)) send(SubscriptionKind.Shard, [channel]);
}
