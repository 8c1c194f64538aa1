/**
 * One of the connections to a server: a link, and what gathers commands for it. Answers what the
 * rule of the lanes has to know about it; decides nothing.
 */

import { Command, type Completion, issuedBy, Origin } from "../command/command";
import { specOf } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import type { PlainCalls } from "../command/plain-calls";
import { IGNORED } from "../command/promise-completion";
import type { Link } from "../link/link";

/** The auto-pipeliner of one lane. */
export interface Gatherer extends Dispatcher {
  readonly gathered: readonly Command[];
  readonly size: number;
  flush(): void;
  hold(isHolding: boolean): void;
  lastOf(isWanted: (command: Command) => boolean): Command | undefined;
}

/** The facts about a lane that the rule of the lanes needs. */
export interface Lane extends Dispatcher {
  /** Nothing waits there and nothing is due from the server: all that it was given is done. */
  readonly isIdle: boolean;
  /** Database that the next command is issued for. */
  readonly db: number;
  useDb(db: number): void;
  /** Commands that wait there or are unanswered, those whose callers have given up included. */
  pending(): Iterable<Command | PlainCalls>;
}

/** The lane that everything but commands with keys goes to. */
export interface MainLane extends Lane {
  /** Everything is for it: a transaction is open by hand, it only listens, or the client is leaving. */
  readonly takesAll: boolean;
  /** A transaction may depend on what was issued there before: a WATCH, or one that was lost. */
  readonly isWatched: boolean;
  /** A transaction that is open by hand has lost a member that went no further. */
  loseMember(): void;
}

export class LinkLane implements MainLane {
  /** Null without auto-pipelining. */
  gatherer: Gatherer | null = null;

  constructor(
    readonly link: Link,
    readonly name: string,
  ) {}

  dispatch(command: Command): void {
    (this.gatherer ?? this.link).dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    (this.gatherer ?? this.link).dispatchBatch(commands);
  }

  dispatchCalls(calls: PlainCalls): boolean {
    return (this.gatherer ?? this.link).dispatchCalls?.(calls) ?? false;
  }

  get db(): number {
    return this.link.session.selected.db;
  }

  useDb(db: number): void {
    this.dispatchBatch([ownCommand("select", [String(db)], IGNORED)]);
  }

  /**
   * Between the end of a connection and the moment when its commands wait for the next one they are
   * nowhere to be seen: the link is in status `close` then, or without its connection.
   */
  get isIdle(): boolean {
    const { link, gatherer } = this;
    if ((gatherer?.size ?? 0) > 0 || link.status === "close") return false;
    if (link.status === "ready" && (link.connection === null || link.connection.queue.length > 0))
      return false;
    return link.offline.length === 0;
  }

  get takesAll(): boolean {
    const { link } = this;
    return (
      link.isLeaving || link.session.isInTransaction || link.session.isRefusing || link.mode !== "normal"
    );
  }

  get isWatched(): boolean {
    return this.link.session.isGuarded;
  }

  loseMember(): void {
    this.link.session.loseMember();
  }

  *pending(): Iterable<Command | PlainCalls> {
    const { link, gatherer } = this;
    const gathered: Command[] = [];
    gatherer?.lastOf((command) => {
      gathered.push(command);
      return false;
    });
    yield* gathered;
    yield* link.offline.pending();
    if (link.status === "ready") yield* link.connection?.queue.pending() ?? [];
  }

  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    const { link, gatherer } = this;
    return (
      gatherer?.lastOf(isWanted) ?? link.offline.lastOf(isWanted) ?? link.connection?.queue.lastOf(isWanted)
    );
  }
}

/** A command of the client itself. It ends with its connection. */
export function ownCommand(name: string, args: string[], completion: Completion): Command {
  return issuedBy(Origin.Client, new Command(specOf(name), args, false, completion));
}
