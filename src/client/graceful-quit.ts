/**
 * Leaving within a time limit: what was issued before is answered if it can be, then the
 * connection closes; when the time is up it closes at once and says what was left.
 */

import type { Command } from "../command/command";
import type { Link } from "../link/link";
import { OpenCommands } from "../link/open-commands";
import { Delay } from "../util/scheduling";

export interface QuitOptions {
  /** Milliseconds that the commands issued before have to be answered. */
  timeout: number;
}

export interface QuitReport {
  /** Everything issued before was answered. */
  isDrained: boolean;
  /** Commands that were written and whose answer had not come; they may have run. */
  unanswered: number;
  /** Commands that were never written. */
  unsent: number;
}

/** The ways in which a client leaves and closes. */
export interface Leaver {
  readonly link: Link;
  /** Sends QUIT behind everything. */
  leave(): Promise<unknown>;
  disconnect(): void;
  /** Commands that have not reached the link. */
  gathered(): readonly Command[];
}

/** Time that a user has given. */
export class TimeLimit {
  isOver = false;
  /** Resolves when the time is up. */
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
  const { link } = leaver;
  const left = leaver.leave().then(
    () => null,
    // Refused, or given up: the client is closed all the same.
    () => ({ ...countLeft(leaver), isDrained: link.connection === null }),
  );
  const limit = new TimeLimit(timeout);
  const report = await Promise.race([left, limit.over.then(() => countLeft(leaver))]);
  limit.stop();
  if (report === null) return { isDrained: true, unanswered: 0, unsent: 0 };
  const { connection } = link;
  leaver.disconnect();
  connection?.destroy();
  return report;
}

function countLeft({ link, gathered }: Leaver): QuitReport {
  const open = new OpenCommands();
  open.addLink(link);
  open.addAll(gathered());
  return { isDrained: false, unanswered: open.unanswered, unsent: open.unsent };
}
