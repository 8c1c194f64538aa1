/**
 * The option `himportFieldsets` on one link. If the server refuses a SET because it does not know the fieldset, the link
 * prepares the fieldset and sends the SET again, once. If the PREPARE fails, the SET fails with that error.
 *
 * Meanwhile the SET is in no queue. The reply to its PREPARE, or at the latest the end of the connection,
 * continues or ends it.
 */

import { BatchKind } from "../command/batch";
import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { isWord } from "../command/key-positions";
import type { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import { type Fieldset, prepareArgumentsOf, request } from "../connection/handshake";
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
  /** Unanswered PREPAREs, which all SETs of their fieldset share. */
  private preparing: Map<Fieldset, Promise<Error | null>> | null = null;

  constructor(
    private readonly fieldsets: readonly Fieldset[],
    private readonly deps: ManagedFieldsetDeps,
  ) {}

  /** Prepares all fieldsets again, because the connection has lost them. */
  prepareAll(): void {
    const { connection } = this.deps.current;
    if (connection?.state !== ConnectionState.Ready) return;
    for (const fieldset of this.fieldsets) void this.prepare(connection, fieldset);
  }

  /** Returns true when the command is sent again: the server does not know its fieldset. */
  recovers(command: Command, error: Error): boolean {
    const { connection } = this.deps.current;
    if (!/no such fieldset/i.test(error.message) || this.repaired?.has(command)) return false;
    // A member of a transaction is never moved.
    if (connection === null || command.group?.kind === BatchKind.Transaction) return false;
    const fieldset = fieldsetOf(this.fieldsets, command);
    if (fieldset === undefined) return false;
    this.repaired ??= new WeakSet();
    this.repaired.add(command);
    void this.sendPrepared(connection, command, fieldset);
    return true;
  }

  private prepare(connection: Connection, fieldset: Fieldset): Promise<Error | null> {
    this.preparing ??= new Map();
    const { preparing } = this;
    const answer = request(connection, "himport", prepareArgumentsOf(fieldset)).then(({ error }) => {
      preparing.delete(fieldset);
      return error;
    });
    preparing.set(fieldset, answer);
    return answer;
  }

  private async sendPrepared(connection: Connection, command: Command, fieldset: Fieldset): Promise<void> {
    const error = await (this.preparing?.get(fieldset) ?? this.prepare(connection, fieldset));
    if (command.isSettled) return;
    const { current } = this.deps;
    if (current.connection !== connection || !current.isReady) this.deps.queueUnsent(command);
    else if (error !== null) command.fail(copyError(error));
    else current.send(command);
  }
}

/** The fieldset that a HIMPORT SET (key name value ...) needs, if it is a managed one. */
export function fieldsetOf(fieldsets: readonly Fieldset[], command: Command): Fieldset | undefined {
  if (fieldsets.length === 0 || (command.spec.flags & CommandFlag.Fieldsets) === 0) return undefined;
  const [subcommand, , name] = command.args;
  if (name === undefined || !isWord(subcommand, "SET")) return undefined;
  const wanted = Buffer.from(name);
  return fieldsets.find((one) => wanted.equals(Buffer.from(one.name)));
}
