/**
 * The last dispatcher before a link whose client has a cache: enables tracking on each connection, and makes
 * the server remember the keys of exactly those reads whose replies will be stored. It is the last one because
 * `CLIENT CACHING YES` applies to the next command on the wire.
 */

import type { Completion } from "../command/command";
import { Command, issuedBy, Origin } from "../command/command";
import { CommandFlag, type CommandSpec, withoutMappers } from "../command/command-spec";
import { specOf } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { Effect, effectOf } from "../command/effects";
import { completionOf, ownCommand } from "../command/own-command";
import { ReplyError } from "../errors";
import { clockMs } from "../util/scheduling";
import { type Gate, TrackedConnection } from "./tracked-connection";

/** Commands that can end tracking, from any issuer. */
const OFF_SWITCHES: ReadonlySet<string> = new Set(["reset", "hello", "client", "monitor"]);

/** A link, whose connection is known before a command is dispatched. */
export type TrackedLink = Dispatcher & Gate;

export interface TrackingSettings {
  /**
   * `optin`: the server remembers the keys of selected reads. `all`: of all reads. `broadcast`: it remembers
   * nothing and reports every change of a key with one of the prefixes.
   */
  readonly mode: "optin" | "all" | "broadcast";
  readonly prefixes: readonly string[];
  readonly maxStaleMs: number;
  /** The connections lead to nodes of a cluster. */
  readonly isOfCluster: boolean;
  /** The server refuses to track. */
  onRefused(error: Error): void;
}

/** Like the command in the table, but its reply has no effect on the client's state. */
const CACHING: CommandSpec = {
  ...withoutMappers(specOf("client")),
  flags: CommandFlag.Known | CommandFlag.IgnoresReconnectOnError,
};

export class Tracking implements Dispatcher {
  /** The current connection, once it is ready. */
  present: TrackedConnection | null = null;
  /** Receives the reply to `CLIENT CACHING YES` on the current connection. */
  private permission: Completion | null = null;

  constructor(
    private readonly next: TrackedLink,
    private readonly settings: TrackingSettings,
  ) {}

  dispatch(command: Command): void {
    if (this.isTold(command)) this.present?.dispatcher.dispatch(this.caching(command));
    const question = this.questionBehind(command);
    this.next.dispatch(command);
    if (question !== null) this.present?.dispatcher.dispatch(question);
  }

  dispatchBatch(commands: readonly Command[]): void {
    const sent: Command[] = [];
    for (const command of commands) {
      if (this.isTold(command)) sent.push(this.caching(command));
      sent.push(command);
      const question = this.questionBehind(command);
      if (question !== null) sent.push(question);
    }
    this.next.dispatchBatch(sent.length === commands.length ? commands : sent);
  }

  /** A connection is ready; nothing has been sent over it yet. */
  begin(connection: Dispatcher): void {
    this.end();
    const { maxStaleMs, isOfCluster } = this.settings;
    const tracked = new TrackedConnection(connection, this.next, maxStaleMs, isOfCluster);
    this.present = tracked;
    const issuedMs = clockMs();
    const completion = completionOf((error) => {
      if (error !== null) this.onRefused(tracked, error);
      else {
        tracked.isTracking = true;
        tracked.prove(issuedMs);
      }
    });
    this.permission = completionOf((error) => {
      // A user may be allowed CLIENT TRACKING but not CLIENT CACHING: the server would report nothing.
      if (error instanceof ReplyError && !tracked.isOver) this.onRefused(tracked, error);
    });
    connection.dispatch(ownCommand(Origin.Connection, "client", this.request(), completion));
  }

  /** The tracking on which the invalidations depend was switched off. */
  end(): void {
    this.present?.end();
  }

  /** The connection is lost. */
  forget(): void {
    this.end();
    this.present = null;
  }

  private onRefused(tracked: TrackedConnection, error: Error): void {
    tracked.end();
    if (this.present === tracked) this.settings.onRefused(error);
  }

  /** Bound to its connection: it is not resent, because the read behind it may be resent elsewhere. */
  private caching(read: Command): Command {
    const command = new Command(CACHING, ["caching", "yes"], false, this.permission as Completion);
    return onBehalfOf(read, issuedBy(Origin.Connection, command));
  }

  private request(): string[] {
    const { mode, prefixes } = this.settings;
    if (mode === "all") return ["tracking", "on"];
    if (mode === "optin") return ["tracking", "on", "optin"];
    return ["tracking", "on", "bcast", ...prefixes.flatMap((prefix) => ["prefix", prefix])];
  }

  /** Records the connection of a read whose reply will be stored. Returns true if it needs CLIENT CACHING. */
  private isTold({ extra, spec, args }: Command): boolean {
    if (extra === null || extra.tracked === null) {
      // Commands sent through the view of a cluster node do not pass the node's cache.
      if (OFF_SWITCHES.has(spec.lowerName) && effectOf(spec, args) === Effect.Tracking) this.end();
      return false;
    }
    const { present } = this;
    // A redirected command directly follows ASKING, and no command may be sent between them.
    const isKept = present !== null && !present.isOver && present.isDirect && extra.trail === null;
    extra.tracked.connection = isKept ? present : null;
    return isKept && this.settings.mode === "optin";
  }

  /** PTTL for a read whose reply will be stored. A change of the key in between invalidates the reply anyway. */
  private questionBehind(read: Command): Command | null {
    const { extra } = read;
    const tracked = extra === null ? null : extra.tracked;
    if (tracked === null || tracked.connection === null || tracked.expiringKey === null) return null;
    const completion = completionOf((error, ms) => {
      if (error === null) tracked.onTimeToLive(Number(ms));
    });
    return onBehalfOf(read, ownCommand(Origin.Connection, "pttl", [tracked.expiringKey], completion));
  }
}

/** A command of the connection that a tracer attributes to the read. */
function onBehalfOf({ extra }: Command, command: Command): Command {
  if (extra !== null && extra.scope !== null) command.ensureExtra().scope = extra.scope;
  return command;
}
