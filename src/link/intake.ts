/**
 * Decides about each command that does not go directly to the connection: it is refused, waits in the offline
 * queue, or is sent now. The session records it in either case, so that its state follows the order of issue.
 */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { OfflineQueueDisabledError, SelectOnClusterError, WatchLostError } from "../errors";
import type { CurrentConnection } from "./current-connection";
import type { LeftoverCommands } from "./leftovers";
import type { LinkDeps, LinkOptions } from "./link-options";
import { type LinkMode, type LinkStatus, modeRefusal } from "./link-state";
import type { OfflineQueue } from "./offline-queue";
import type { Session } from "./session";

export interface IntakeOwner {
  readonly options: LinkOptions;
  readonly status: LinkStatus;
  readonly mode: LinkMode;
  readonly session: Session;
  readonly current: CurrentConnection;
  readonly offline: OfflineQueue;
  readonly isWritable: boolean;
  readonly isLeaving: boolean;
  /** Commands wait for an EXEC that determines the database, or for another connection. */
  readonly holdsCommands: boolean;
  connect(): Promise<void>;
  /** Commands were taken, which may change whether later ones go directly to the connection. */
  updateDirect(): void;
}

export class Intake {
  isInBatch = false;

  constructor(
    private readonly owner: IntakeOwner,
    private readonly leftovers: LeftoverCommands,
    private readonly deps: Pick<LinkDeps, "takeover">,
  ) {}

  take(command: Command): void {
    const { owner, leftovers } = this;
    const { session, current, offline } = owner;
    const refusal = this.refusal(command);
    if (refusal !== null) {
      if (refusal instanceof SelectOnClusterError) session.loseMember();
      leftovers.turnAway([command], () => refusal);
      return;
    }
    if (owner.status === "wait") owner.connect().catch(() => {});
    const isHeld = owner.holdsCommands;
    const waits = !owner.isWritable && !(owner.status === "connect" && current.mayBypass(command));
    if (waits && !isHeld && owner.options.enableOfflineQueue === false) {
      session.loseMember(command);
      owner.updateDirect();
      command.fail(new OfflineQueueDisabledError());
      return;
    }
    command.db = session.nextDb;
    session.note(command);
    if (waits || isHeld) offline.push(command);
    else current.send(command);
    owner.updateDirect();
  }

  /** The mover does not replace the connection within a batch, because it may contain a transaction. */
  takeBatch(commands: readonly Command[]): void {
    const { isLeaving, offline, status } = this.owner;
    if (isLeaving) {
      // Commands that are too late end after the earlier waiting ones.
      if (status !== "end" || offline.length === 0) this.leftovers.turnAway(commands);
      else for (const command of commands) offline.push(command);
      return;
    }
    // A failing command runs user code, which may dispatch another batch.
    const wasInBatch = this.isInBatch;
    this.isInBatch = true;
    try {
      for (const command of commands) this.take(command);
    } finally {
      this.isInBatch = wasInBatch;
    }
    this.owner.updateDirect();
  }

  /** Sends the waiting commands in order, until one has to wait for the database or another connection. */
  sendWaiting(): void {
    const { owner } = this;
    const { current, session } = owner;
    owner.offline.drain(
      (command) => current.send(command),
      () => owner.holdsCommands,
    );
    if (!owner.holdsCommands && !session.isDbOpen) current.select(session.selected.db);
  }

  private refusal(command: Command): Error | null {
    const { isLeaving, mode, session, current, options } = this.owner;
    if (isLeaving) return this.leftovers.closedError();
    const { flags } = command.spec;
    const isSelect = (flags & CommandFlag.Select) !== 0;
    if (isSelect && this.deps.takeover !== null && Number(command.args[0]) !== (options.db ?? 0))
      return new SelectOnClusterError();
    const refusal = modeRefusal(mode, flags) ?? session.takeRefusal(command);
    if (refusal instanceof WatchLostError && (flags & CommandFlag.Exec) !== 0) {
      session.noteRefused(command);
      current.discardInsteadOf(command);
    }
    return refusal;
  }
}
