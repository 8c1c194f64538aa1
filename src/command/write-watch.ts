/**
 * Lets a part above the connections see every command of the process as it is written. While no part asks
 * for that, a flush costs one look at `writeWatch.watcher`.
 */

import type { Command } from "./command";

/** The client whose command is written. */
export interface CommandWriter {
  /** The server of its present connection; equal for all clients that are connected to the same address. */
  readonly serverName: string;
}

export interface WriteWatcher {
  /** The command is about to be encoded. */
  onWritten(command: Command, writer: CommandWriter): void;
  /** The connection of the client is lost, and what was open on it. */
  onLost(writer: CommandWriter): void;
}

export const writeWatch: { watcher: WriteWatcher | null } = { watcher: null };
