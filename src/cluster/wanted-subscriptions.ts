/**
 * The subscriptions that the callers of one client want, independent of its connections. A name is wanted from
 * the confirmation of its SUBSCRIBE until its UNSUBSCRIBE is issued, even while no connection has it. The
 * module also keeps the names that were missing since the last reported gap. A gap ends when every wanted
 * name is confirmed on a live connection.
 */

import type { Command } from "../command/command";
import {
  gapOf,
  SUBSCRIPTION_CHANGES,
  type SubscriptionGap,
  type SubscriptionKind,
  Subscriptions,
} from "../connection/subscriptions";
import { clockMs } from "../util/scheduling";

export class WantedSubscriptions {
  readonly names = new Subscriptions();
  private missed = new Subscriptions();
  missedSinceMs: number | null = null;
  /** Unsettled SUBSCRIBE commands: their names may be confirmed one by one before they are wanted. */
  private readonly open = new Set<Command>();

  /** `onChanged` is called when new names are wanted that may not be subscribed anywhere. */
  constructor(private readonly onChanged: (kind: SubscriptionKind, names: readonly Buffer[]) => void) {}

  follow(command: Command): void {
    const change = SUBSCRIPTION_CHANGES.get(command.spec.lowerName);
    if (change === undefined || command.isSettled) return;
    const { kind, isEntry } = change;
    if (isEntry) this.open.add(command);
    else this.forgetNames(kind, command);
    command.ensureExtra().addHook({
      onSettled: (error) => {
        this.open.delete(command);
        if (error !== null) return;
        if (!isEntry) this.forgetNames(kind, command);
        else {
          const names = namesOf(command);
          for (const name of names) this.names.add(kind, name);
          this.onChanged(kind, names);
        }
      },
    });
  }

  isAsked(kind: SubscriptionKind, name: Buffer): boolean {
    for (const command of this.open) {
      if (SUBSCRIPTION_CHANGES.get(command.spec.lowerName)?.kind !== kind) continue;
      if (namesOf(command).some((one) => one.equals(name))) return true;
    }
    return false;
  }

  /** A wanted name is no longer confirmed anywhere; the last byte from its node arrived at `sinceMs`. */
  miss(kind: SubscriptionKind, name: Buffer, sinceMs = clockMs()): void {
    if (!this.names.has(kind, name)) return;
    this.missedSinceMs = Math.min(this.missedSinceMs ?? sinceMs, sinceMs);
    this.missed.add(kind, name);
  }

  /** Every wanted name is confirmed: returns the gap that ends now, if any. */
  takeGap(): SubscriptionGap | null {
    const { missed, missedSinceMs } = this;
    if (missedSinceMs === null) return null;
    this.missed = new Subscriptions();
    this.missedSinceMs = null;
    return missed.isEmpty ? null : gapOf(missed, missedSinceMs);
  }

  clear(): void {
    this.names.clear();
    this.missed.clear();
  }

  /** These names are no longer wanted, and their messages are not missed. */
  forget(kind: SubscriptionKind, names: readonly Buffer[]): void {
    for (const name of names) {
      this.names.delete(kind, name);
      this.missed.delete(kind, name);
    }
  }

  /** UNSUBSCRIBE without names ends all of its kind. */
  private forgetNames(kind: SubscriptionKind, command: Command): void {
    this.forget(kind, command.args.length === 0 ? this.names.names(kind) : namesOf(command));
  }
}

function namesOf({ args }: Command): Buffer[] {
  return args.map((name) => (typeof name === "string" ? Buffer.from(name) : name));
}
