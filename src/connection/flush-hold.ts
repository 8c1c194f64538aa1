/**
 * Parts callers that were answered by one read: the first half of what they ask next is written,
 * and the second is held back for as long as the server takes to wake up and read the first. From
 * then on one half is executed while the other is answered and asks again.
 *
 *   client:  | first half | held | second half |         | first half again |
 *   server:               | wakes up | first half | second half |
 *
 * To hold is to spin through turns of the event loop, since no timer is as short. So it is done
 * only by a thread that often waits for this server, and when replies wait there for longer than
 * that. Where the callers leave the connection unused in between, as those of a service at its own
 * pace do, taking turns costs no throughput, and nothing is held. It rests where it parts nobody:
 * the longer, the more often it has failed.
 */

import { WaitingShare } from "./waiting-share";

/**
 * For so long, in ms: a process that sleeps takes about as long to wake up and read. A server that delays replies by
 * less has hardly work.
 */
export const HOLD_MS = 0.05;
/** The server has woken up before more than these are issued. */
export const MOST_IN_FLIGHT = 16;
/** A thread that waits for replies for less of its time has something better to do than to spin. */
const LEAST_WAITING = 0.4;
/** Two halves that were answered twice each were parted. */
const READS_OF_PARTED = 4;
/** Most chances that are passed over in a row. */
const LONGEST_REST = 64;

export class FlushHold {
  /** Since the last chance. */
  private reads = READS_OF_PARTED;
  private rest = 0;
  private rested = 0;
  /** Without the time in which nothing was in flight. */
  private readonly waiting: WaitingShare;
  /** For how long the thread had waited at the last read. */
  private readIdleMs: number;

  /** @param idleMs For how long the thread has waited for events since it began. */
  constructor(
    private readonly clockMs: () => number,
    private readonly idleMs: () => number,
  ) {
    this.waiting = new WaitingShare(clockMs, idleMs);
    this.readIdleMs = idleMs();
  }

  /** The connection has been read. */
  noteRead(): void {
    this.reads++;
    this.readIdleMs = this.idleMs();
  }

  /** Something is written, and nothing was in flight since the last read: the thread has waited for something else. */
  noteUnused(): void {
    this.waiting.leaveOut(this.idleMs() - this.readIdleMs);
  }

  /**
   * The first half has been written: until when the second is to be held; 0: it is not.
   *
   * @param queuedMs How much longer a reply takes than the quickest one did.
   */
  untilMs(queuedMs: number): number {
    if (this.reads >= READS_OF_PARTED) this.rest = 0;
    this.reads = 0;
    if (queuedMs < HOLD_MS || this.rested++ < this.rest) return 0;
    this.rested = 0;
    this.rest = Math.min(LONGEST_REST, this.rest * 2 + 1);
    const nowMs = this.clockMs();
    return this.waiting.at(nowMs) < LEAST_WAITING ? 0 : nowMs + HOLD_MS;
  }
}
