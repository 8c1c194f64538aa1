/**
 * Sends a PING on a connection that was silent for long, before a command is written to it: the process may
 * have been suspended, and the network may have dropped the connection meanwhile. The command is written after
 * the reply, so its outcome is never in doubt. Without a reply within a few round trips the connection is dead.
 */

import { Origin } from "../command/command";
import { completionOf, ownCommand } from "../command/own-command";
import type { Connection } from "../connection/connection";
import { ReplyError } from "../errors";
import { atTurnEnd, startTimer, stopTimer } from "../util/scheduling";
import { LONGEST_ANSWER_MS } from "./side-connection";

/**
 * The limit for the reply: as long as three handshakes, at least this long and at most `LONGEST_ANSWER_MS`. A distant
 * server needs more than the lower bound.
 */
const LEAST_LIMIT_MS = 200;
const HANDSHAKES = 3;

export class LineCheck {
  private readonly limitMs: number;
  private readonly seenBytes: number;
  private readonly timer: NodeJS.Timeout;
  private isOver = false;

  /** @param onSilent Called when no reply has arrived within this many milliseconds. */
  constructor(
    private readonly connection: Connection,
    private readonly onSilent: (limitMs: number) => void,
  ) {
    const wantedMs = connection.handshakeMs * HANDSHAKES;
    this.limitMs = Math.min(Math.max(wantedMs, LEAST_LIMIT_MS), LONGEST_ANSWER_MS);
    this.seenBytes = connection.bytesRead;
    // After a suspension of the process the timer is due while the reply is unread: reading comes first.
    this.timer = startTimer(() => atTurnEnd(() => this.expire()), this.limitMs);
    // Any reply shows that the connection is alive, also an error about missing rights to PING.
    const completion = completionOf((error) => {
      if (error === null || error instanceof ReplyError) this.goOn();
      else this.stop();
    });
    connection.sendAhead(ownCommand(Origin.Connection, "ping", [], completion));
  }

  /** The connection is gone. */
  stop(): void {
    this.isOver = true;
    stopTimer(this.timer);
  }

  private expire(): void {
    if (this.isOver) return;
    if (this.connection.bytesRead !== this.seenBytes) this.goOn();
    else {
      this.stop();
      this.onSilent(this.limitMs);
    }
  }

  private goOn(): void {
    if (this.isOver) return;
    this.stop();
    this.connection.goOn();
  }
}
