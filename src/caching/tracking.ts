/**
 * The last dispatcher before a link whose client has a cache: switches tracking on for each of its
 * connections, and lets the server remember the keys of exactly those reads whose answers are to be
 * kept. It sits there because `CLIENT CACHING YES` speaks of the one command behind it.
 */

import type { Completion } from "../command/command";
import { Command, issuedBy, Origin } from "../command/command";
import { CommandFlag, type CommandSpec } from "../command/command-spec";
import { specOf } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { Effect, effectOf } from "../command/effects";
import { NO_KEYS } from "../command/key-positions";
import { ReplyError } from "../errors";
import { clockMs } from "../util/scheduling";
import { type Gate, TrackedConnection } from "./tracked-connection";

/** Commands that end what lets the server tell about changes, whoever issues them. */
const OFF_SWITCHES: ReadonlySet<string> = new Set(["reset", "hello", "client", "monitor"]);

/** A link: where it leads is known before a command is handed over. */
export type TrackedLink = Dispatcher & Gate;

export interface TrackingSettings {
  /**
   * `optin`: the server remembers the keys of the reads that it is told to. `all`: of all reads.
   * `broadcast`: it remembers nothing and tells of every change of keys with one of the prefixes.
   */
  readonly mode: "optin" | "all" | "broadcast";
  readonly prefixes: readonly string[];
  readonly maxStaleMs: number;
  /** The connections lead to nodes of a cluster. */
  readonly isOfCluster: boolean;
  /** The server refuses to track. */
  onRefused(error: Error): void;
}

/** As the command of the table, but its reply changes nothing. */
const CACHING: CommandSpec = {
  name: "client",
  lowerName: "client",
  flags: CommandFlag.Known | CommandFlag.IgnoresReconnectOnError,
  keys: NO_KEYS,
  encodedName: Buffer.from("$6\r\nclient\r\n"),
  replyMapper: null,
  argumentMapper: null,
};

export class Tracking implements Dispatcher {
  /** The present connection, from when it is ready. */
  present: TrackedConnection | null = null;
  /** Hears what the server says to `CLIENT CACHING YES` on the present connection. */
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
    let marked: Command[] | null = null;
    for (let index = 0; index < commands.length; index++) {
      const command = commands[index] as Command;
      if (this.isTold(command)) {
        marked ??= commands.slice(0, index);
        marked.push(this.caching(command));
      }
      marked?.push(command);
      const question = this.questionBehind(command);
      if (question === null) continue;
      marked ??= commands.slice(0, index + 1);
      marked.push(question);
    }
    this.next.dispatchBatch(marked ?? commands);
  }

  /** A connection is ready; nothing has been sent over it yet. */
  begin(connection: Dispatcher): void {
    this.end();
    const { maxStaleMs, isOfCluster } = this.settings;
    const tracked = new TrackedConnection(connection, this.next, maxStaleMs, isOfCluster);
    this.present = tracked;
    const issuedMs = clockMs();
    const completion: Completion = {
      promise: null,
      fulfil: () => {
        tracked.isTracking = true;
        tracked.prove(issuedMs);
      },
      reject: (_command, error) => this.onRefused(tracked, error),
    };
    this.permission = {
      promise: null,
      fulfil: () => {},
      reject: (_command, error) => {
        // A user may have the right to CLIENT TRACKING and not to CLIENT CACHING: the server would tell of nothing.
        if (error instanceof ReplyError && !tracked.isOver) this.onRefused(tracked, error);
      },
    };
    const request = new Command(specOf("client"), this.request(), false, completion);
    connection.dispatch(issuedBy(Origin.Connection, request));
  }

  /** The tracking that lets the connection tell about changes has been switched off. */
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

  /** Ends with its connection, as what it speaks of does not go again together with it. */
  private caching(read: Command): Command {
    const command = new Command(CACHING, ["caching", "yes"], false, this.permission as Completion);
    return onBehalfOf(read, command);
  }

  private request(): string[] {
    const { mode, prefixes } = this.settings;
    if (mode === "all") return ["tracking", "on"];
    if (mode === "optin") return ["tracking", "on", "optin"];
    return ["tracking", "on", "bcast", ...prefixes.flatMap((prefix) => ["prefix", prefix])];
  }

  /** Notes the connection of a read whose answer is to be kept. True if the server has to be told. */
  private isTold({ extra, spec, args }: Command): boolean {
    if (extra === null || extra.tracked === null) {
      // Through the view of a node of a cluster they come past its cache.
      if (OFF_SWITCHES.has(spec.lowerName) && effectOf(spec, args) === Effect.Tracking) this.end();
      return false;
    }
    const { present } = this;
    // A command that a cluster sends on goes behind ASKING, which nothing may come between.
    const isKept = present !== null && !present.isOver && present.isDirect && extra.trail === null;
    extra.tracked.connection = isKept ? present : null;
    return isKept && this.settings.mode === "optin";
  }

  /** PTTL of the key of a read that is to be kept. What changes the key in between drops the answer anyway. */
  private questionBehind(read: Command): Command | null {
    const { extra } = read;
    const tracked = extra === null ? null : extra.tracked;
    if (tracked === null || tracked.connection === null || tracked.expiringKey === null) return null;
    const completion: Completion = {
      promise: null,
      fulfil: (_command, ms) => tracked.onTimeToLive(Number(ms)),
      reject: () => {},
    };
    const question = new Command(specOf("pttl"), [tracked.expiringKey], false, completion);
    return onBehalfOf(read, question);
  }
}

/** A command of the connection that a tracer shows where the read was issued. */
function onBehalfOf({ extra }: Command, command: Command): Command {
  if (extra !== null && extra.scope !== null) command.ensureExtra().scope = extra.scope;
  return issuedBy(Origin.Connection, command);
}
