/**
 * Restores subscriptions on a new connection: one SUBSCRIBE with all channels, one PSUBSCRIBE
 * with all patterns, SSUBSCRIBE one by one, since shard channels may live in different slots.
 */

import { Command, issuedBy, Origin } from "../command/command";
import { specOf } from "../command/command-table";
import type { Completion } from "../command/completion";
import type { Connection } from "../connection/connection";
import { SubscriptionKind, type Subscriptions } from "../connection/subscriptions";
import { ReplyError } from "../errors";

export function restoreSubscriptions(
  connection: Connection,
  subscriptions: Subscriptions,
  onError: (error: Error) => void,
): void {
  const send = (name: string, kind: SubscriptionKind, names: Buffer[]): void => {
    const completion = new RestoreCompletion(subscriptions, kind, onError);
    connection.dispatch(issuedBy(Origin.Restore, new Command(specOf(name), names, true, completion)));
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
 * Names that the server refuses to restore are no longer subscribed. Whatever else ends the
 * command leaves them in the set: the next connection restores them anew.
 */
class RestoreCompletion implements Completion {
  readonly promise = null;

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly kind: SubscriptionKind,
    private readonly onError: (error: Error) => void,
  ) {}

  fulfil(): void {}

  reject(command: Command, error: Error): void {
    if (!(error instanceof ReplyError)) return;
    for (const name of command.args) this.subscriptions.delete(this.kind, Buffer.from(name));
    this.onError(error);
  }
}
