/**
 * Lets a module above the connections see every command of the process when it is written. Without such a
 * module, a flush only reads `writeWatch.watcher` once.
 */

import type { Command } from "./command";

/** The client of the written command. */
export interface CommandWriter {
  /** The server of its current connection; equal for all clients that are connected to the same address. */
  readonly serverName: string;
}

export interface WriteWatcher {
  /** The command is about to be encoded. */
  onWritten(command: Command, writer: CommandWriter): void;
  /** The connection of the client is lost, including an open transaction. */
  onLost(writer: CommandWriter): void;
}

export const writeWatch: { watcher: WriteWatcher | null } = { watcher: null };
