/**
 * Restores subscriptions on a new connection: one SUBSCRIBE with all channels, one PSUBSCRIBE with all
 * patterns, and one SSUBSCRIBE for each shard channel, because they may be in different slots.
 */

import { type Command, type Completion, Origin } from "../command/command";
import { ownCommand } from "../command/own-command";
import type { Connection } from "../connection/connection";
import { serverFor, type WriteListener } from "../connection/flush-encoder";
import { gapOf, SubscriptionKind, type Subscriptions } from "../connection/subscriptions";
import { ReplyError } from "../errors";
import { type PubSubContext, pubSubChannel } from "../observability/work-channels";
import { clockMs } from "../util/scheduling";
import type { LinkListener } from "./link-options";

/**
 * The period in which no message could arrive, from the last byte of the lost connection on, for subscribers of
 * the channel.
 */
export class SubscriptionGap {
  private context: PubSubContext | null = null;
  /** When the last bytes arrived over the connection that had all subscriptions. */
  private sinceMs: number | null = null;

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly deps: {
      readonly tracer: Pick<WriteListener, "server"> | null;
      readonly listener: Pick<LinkListener, "onGap">;
    },
  ) {}

  /** The connection was lost; its last bytes had arrived at `lastArrivalMs`. */
  begin(lastArrivalMs: number): void {
    if (this.subscriptions.isEmpty) this.sinceMs = null;
    else this.sinceMs ??= lastArrivalMs;
    if (this.subscriptions.isEmpty || this.context !== null || !pubSubChannel.isHeard) return;
    const { serverAddress, serverPort } = serverFor(this.deps.tracer);
    const subscriptions = this.subscriptions.count;
    this.context = pubSubChannel.begin({ serverAddress, serverPort, subscriptions });
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
  onError: (error: Error) => void,
  onRestored: () => void,
): void {
  let left = 0;
  const onAnswered = (): void => {
    if (--left === 0) onRestored();
  };
  const send = (name: string, kind: SubscriptionKind, names: Buffer[]): void => {
    left++;
    const completion = new RestoreCompletion(subscriptions, kind, onError, onAnswered);
    connection.dispatch(ownCommand(Origin.Restore, name, names, completion));
  };
  const channels = subscriptions.names(SubscriptionKind.Channel);
  if (channels.length > 0) send("subscribe", SubscriptionKind.Channel, channels);
  const patterns = subscriptions.names(SubscriptionKind.Pattern);
  if (patterns.length > 0) send("psubscribe", SubscriptionKind.Pattern, patterns);
  for (const channel of subscriptions.names(SubscriptionKind.Shard)) {
    send("ssubscribe", SubscriptionKind.Shard, [channel]);
  }
}

/**
 * Names that the server refuses to restore are no longer subscribed. If the command ends otherwise, they stay
 * in the set, and the next connection restores them.
 */
class RestoreCompletion implements Completion {
  readonly promise = null;

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly kind: SubscriptionKind,
    private readonly onError: (error: Error) => void,
    private readonly onAnswered: () => void,
  ) {}

  fulfil(): void {
    this.onAnswered();
  }

  reject(command: Command, error: Error): void {
    if (!(error instanceof ReplyError)) return;
    for (const name of command.args) this.subscriptions.delete(this.kind, Buffer.from(name));
    this.onError(error);
    this.onAnswered();
  }
}
