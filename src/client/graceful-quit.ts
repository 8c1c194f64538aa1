/**
 * Quits within a time limit: waits for the replies to issued commands, then closes the connection. When the
 * limit has passed, it closes immediately and reports the remaining commands.
 */

import type { Command } from "../command/command";
import type { Link } from "../link/link";
import { OpenCommands } from "../link/open-commands";
import { Delay } from "../util/scheduling";

export interface QuitOptions {
  /** Milliseconds for the commands issued before `quit` to be answered. */
  timeout: number;
}

export interface QuitReport {
  /** Every command issued before `quit` was answered. */
  isDrained: boolean;
  /** Commands that were written but not answered; they may have run. */
  unanswered: number;
  /** Commands that were never written. */
  unsent: number;
}

/** How a client quits and closes. */
export interface Leaver {
  /** The link of the server, followed by those of its replicas. */
  links(): readonly Link[];
  /** Sends QUIT after all other commands. */
  leave(): Promise<unknown>;
  disconnect(): void;
  /** Commands that have not reached the link. */
  gathered(): readonly Command[];
  /** The links of leased connections. */
  leased(): readonly Link[];
}

/** A time limit set by the user. */
export class TimeLimit {
  isOver = false;
  /** Resolves when the limit has passed. */
  readonly over: Promise<void>;
  private delay!: Delay;

  constructor(timeoutMs: number) {
    this.over = new Promise((resolve) => {
      const end = (): void => {
        this.isOver = true;
        resolve();
      };
      this.delay = new Delay(end, Math.max(0, timeoutMs));
    });
  }

  stop(): void {
    this.delay.stop();
  }
}

export async function quitWithin(leaver: Leaver, { timeout }: QuitOptions): Promise<QuitReport> {
  const left = leaver.leave().then(
    () => null,
    // QUIT was refused or given up: the client closes nevertheless.
    () => ({
      ...countLeft(leaver),
      isDrained: leaver.links().every(({ connection }) => connection === null),
    }),
  );
  const limit = new TimeLimit(timeout);
  const report = await Promise.race([left, limit.over.then(() => countLeft(leaver))]);
  limit.stop();
  if (report === null) return { isDrained: true, unanswered: 0, unsent: 0 };
  const connections = leaver.links().map(({ connection }) => connection);
  leaver.disconnect();
  for (const connection of connections) connection?.destroy();
  return report;
}

function countLeft({ links, gathered, leased }: Leaver): QuitReport {
  const open = new OpenCommands();
  for (const link of links()) open.addLink(link);
  open.addAll(gathered());
  for (const one of leased()) open.addLink(one);
  return { isDrained: false, unanswered: open.unanswered, unsent: open.unsent };
}
