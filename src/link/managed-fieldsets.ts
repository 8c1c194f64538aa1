/**
 * The option `himportFieldsets` on one link. A SET with an unprepared fieldset is held back until it is
 * prepared; a SET that the server refuses for that reason is sent again, once. If the PREPARE fails, the SET
 * fails with that error and is not sent.
 *
 * A SET that is held back is in no queue. The reply to its PREPARE, or at the latest the end of the connection,
 * continues or ends it.
 */

import { BatchKind } from "../command/batch";
import type { Command } from "../command/command";
import type { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import { type Fieldset, fieldsetOf, unpreparedFieldsets } from "../connection/fieldsets";
import { prepareFieldset } from "../connection/handshake";
import { copyError } from "../util/copy-error";
import type { CurrentConnection } from "./current-connection";

export interface ManagedFieldsetDeps {
  readonly current: CurrentConnection;
  /** The connection was lost before a command was sent: it waits for the next one, or fails. */
  queueUnsent(command: Command): void;
}

export class ManagedFieldsets {
  /** Commands that were sent again because their fieldset was forgotten. */
  private repaired: WeakSet<Command> | null = null;

  constructor(
    private readonly fieldsets: readonly Fieldset[],
    private readonly deps: ManagedFieldsetDeps,
  ) {}

  /** Prepares all fieldsets again, because the connection has lost them. */
  prepareAll(): void {
    const { connection } = this.deps.current;
    if (connection?.state !== ConnectionState.Ready) return;
    for (const fieldset of this.fieldsets) void prepareFieldset(connection, fieldset);
  }

  /** Returns true when the command is sent later, or fails, because its fieldset is not prepared. */
  holdsBack(command: Command): boolean {
    const { connection } = this.deps.current;
    const fieldset = this.fieldsetOf(command);
    if (connection === null || fieldset === undefined) return false;
    const answer = unpreparedFieldsets(connection).get(fieldset);
    if (answer === undefined) return false;
    void this.sendPrepared(connection, command, answer ?? prepareFieldset(connection, fieldset));
    return true;
  }

  /** Returns true when the command is sent again: the server has forgotten its fieldset (HIMPORT DISCARD). */
  recovers(command: Command, error: Error): boolean {
    const { connection } = this.deps.current;
    if (!/no such fieldset/i.test(error.message) || this.repaired?.has(command)) return false;
    const fieldset = this.fieldsetOf(command);
    if (connection === null || fieldset === undefined) return false;
    this.repaired ??= new WeakSet();
    this.repaired.add(command);
    const answer = unpreparedFieldsets(connection).get(fieldset) ?? prepareFieldset(connection, fieldset);
    void this.sendPrepared(connection, command, answer);
    return true;
  }

  /** A member of a transaction is never moved. */
  private fieldsetOf(command: Command): Fieldset | undefined {
    return command.group?.kind === BatchKind.Transaction ? undefined : fieldsetOf(this.fieldsets, command);
  }

  private async sendPrepared(
    connection: Connection,
    command: Command,
    answer: Promise<Error | null>,
  ): Promise<void> {
    const error = await answer;
    if (command.isSettled) return;
    const { current } = this.deps;
    if (current.connection !== connection || !current.isReady) this.deps.queueUnsent(command);
    else if (error !== null) command.fail(copyError(error));
    else current.send(command);
  }
}
