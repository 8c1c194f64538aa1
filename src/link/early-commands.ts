/**
 * Sends waiting commands behind the handshake of a new connection, in the same write, which saves a round trip.
 * If the handshake fails, they are withdrawn: their replies are dropped, and they wait as if never written.
 *
 * Only commands that do no harm in that case are sent early. Reads never do. A write does none if a refused
 * login or database cannot make it run as another user or elsewhere, and if it may be sent again. The outcome
 * of the handshake is known before the first reply to an early command.
 */

import { Command, CommandState, IGNORED, issuedBy, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor, isRead } from "../command/command-table";
import type { Connection } from "../connection/connection";
import { type Credentials, hasAny } from "../connection/handshake";
import { ReplyError } from "../errors";
import { isTransientRefusal, isTurnedAway } from "../observability/hints";
import { isCertain } from "../util/error-hint";
import { type AbstractConnector, takesAnyServer } from "./connector";
import { type LinkOptions, retryPolicyOf } from "./link-options";
import type { OfflineQueue } from "./offline-queue";

interface Sender {
  readonly connection: Connection | null;
  /** The handshake selects this database. */
  readonly agreed: number;
  send(command: Command): void;
}

export interface EarlyDeps {
  readonly options: LinkOptions;
  readonly connector: AbstractConnector;
  readonly offline: OfflineQueue;
  readonly subscriptions: { readonly isEmpty: boolean };
  /**
   * An attempt has failed since the link was last ready. A command that ends its connection may be the reason, and
   * would never be given up: only losses of ready connections count.
   */
  readonly hasFailedAttempt: boolean;
  /**
   * The first attempt of a client of one server. After a failed attempt, another server may answer a write
   * while the first one, silent so far, still runs it later.
   */
  readonly isFresh: boolean;
}

/** Commands that depend on the state of the connection, hold it, or end it. */
const NEVER_EARLY =
  CommandFlag.NeverAutoPipelined | CommandFlag.Blocking | CommandFlag.Fieldsets | CommandFlag.WillDisconnect;

export class EarlyCommands {
  /** Null: none since the last outcome. */
  private sent: Command[] | null = null;

  constructor(
    private readonly current: Sender,
    private readonly deps: EarlyDeps,
  ) {}

  /** The number of commands that were sent behind a handshake without an outcome. */
  get length(): number {
    return this.sent === null ? 0 : this.sent.length;
  }

  /** Sends the waiting commands up to the first one that must wait for the outcome. */
  send(credentials: Credentials): void {
    const { options, connector, offline, subscriptions, isFresh, hasFailedAttempt } = this.deps;
    const { current } = this;
    if (hasFailedAttempt || !takesAnyServer(connector)) return;
    // A custom stream may deliver replies at any time, also before the listeners of `ready` have run.
    if (!subscriptions.isEmpty || options.monitor || current.connection?.isOwnSocket !== true) return;
    const db = current.agreed;
    const mayWrite = isFresh && db === 0 && !hasAny(credentials);
    const sent: Command[] = [];
    offline.drain(
      (command) => {
        sent.push(command);
        current.send(command);
      },
      (command) =>
        command.db !== db || !isEarly(command) || !(isRead(command) || (mayWrite && this.mayRepeat(command))),
    );
    if (sent.length > 0) this.sent = sent;
  }

  /** The connection is ready or lost: the commands are now like all others. */
  release(): void {
    this.sent = null;
  }

  onTrouble(error: Error): void {
    if (isCertain(error)) this.withdraw(null);
  }

  /** @param refusal The reason; null: certainly no server has run them. */
  withdraw(refusal: Error | null): void {
    const sent = new Set(this.sent?.filter((command) => !command.isSettled));
    this.sent = null;
    if (sent.size === 0) return;
    this.current.connection?.queue.replaceAll((command) => (sent.has(command) ? standIn(command) : command));
    const hasRunNone = refusal === null || refusesAll(refusal);
    for (const command of sent) {
      if (!hasRunNone && command.state === CommandState.Sent && !isRead(command)) command.mayHaveRun = true;
      if (command.extra !== null) command.extra.sentAtMs = 0;
      if (command.group !== null) command.group.isStarted = false;
      command.state = CommandState.Queued;
    }
    this.deps.offline.putBack([...sent]);
  }

  private mayRepeat({ extra }: Command): boolean {
    return (extra?.retryPolicy ?? retryPolicyOf(this.deps.options)) === "at-least-once";
  }
}

function isEarly({ spec, args }: Command): boolean {
  const flags = flagsFor(spec, args);
  return (flags & CommandFlag.Known) !== 0 && (flags & NEVER_EARLY) === 0;
}

/** Whether the server answers every command behind its refusal with an error. */
function refusesAll(error: Error): boolean {
  if (!(error instanceof ReplyError)) return false;
  const { message } = error;
  return message.startsWith("NOAUTH ") || isTurnedAway(message) || isTransientRefusal(message);
}

/** Takes the place of a command and drops its reply. An unwritten one is skipped. */
function standIn({ spec, wantsBuffers, state }: Command): Command {
  const command = issuedBy(Origin.Connection, new Command(spec, [], wantsBuffers, IGNORED));
  command.state = state === CommandState.Sent ? state : CommandState.Settled;
  return command;
}
