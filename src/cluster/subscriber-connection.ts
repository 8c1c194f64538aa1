/**
 * The common parts of the connections for subscriptions of a cluster: what one is and hears, the client's own
 * commands on it, and when the next try is made. `ClusterSubscriber` has one for channels and patterns,
 * `ShardedSubscribers` one for each master.
 */

import { Command, type Completion, issuedBy, Origin } from "../command/command";
import { specOf } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import type { Link } from "../link/link";
import { NoSubscriberError } from "./cluster-errors";

export interface SubscriberClient extends Dispatcher {
  readonly link: Link;
}

/** Hears what happens to a connection that it opened. */
export interface SubscriberListener {
  /** False once another connection takes its place: what it still hears may be heard there too. */
  readonly isCurrent: boolean;
  onReady(): void;
  onEnded(): void;
  /** Commands that were not answered. */
  onOrphans(commands: readonly Command[]): void;
  onReplyError(command: Command, error: Error): boolean;
  onShardLost(channel: Buffer): void;
}

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2000;
const MAX_DOUBLINGS = 10;
/** Pause between looks that nothing has asked for. */
export const LOOK_MS = 1000;
/** A connection that has lived for less has failed. */
export const SHORT_LIFE_MS = 1000;

/** Pause before the next try after so many failures, with a quarter of jitter either way. */
export function subscriberDelayMs(failures: number): number {
  if (failures === 0) return 0;
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures - 1, MAX_DOUBLINGS), LONGEST_DELAY_MS);
  return delayMs * (0.75 + Math.random() * 0.5);
}

/** The answer to a SUBSCRIBE that the client sends on its own account; null: it was confirmed. */
export class Resubscription implements Completion {
  readonly promise = null;

  constructor(private readonly onAnswered: (error: Error | null) => void) {}

  fulfil(): void {
    this.onAnswered(null);
  }

  reject(_command: Command, error: Error): void {
    this.onAnswered(error);
  }
}

/** Whether the client sent the command on its own account. */
export function isOwn(command: Command): boolean {
  return command.origin === Origin.Resubscribe;
}

/** A command that the client sends on its own account. */
export function ownCommand(name: string, args: Buffer[], completion: Completion): Command {
  return issuedBy(Origin.Resubscribe, new Command(specOf(name), args, true, completion));
}

/** No connection for subscriptions comes any more. */
export function failForGood(commands: readonly Command[]): void {
  for (const command of commands) command.fail(new NoSubscriberError());
}
