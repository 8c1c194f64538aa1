/**
 * Measures the flushes of one connection, for the counters of its link and for subscribers: the number of
 * commands, the time to the first reply, the time in which the socket accepted no more bytes. It runs once
 * for each flush or read, and measures one round trip at a time.
 */

import { Batch } from "../command/batch";
import { CommandFlag } from "../command/command-spec";
import { ConnectionClosedError } from "../errors";
import { type FlushCause, type FlushContext, flushChannel } from "../observability/work-channels";
import { debugLog } from "../util/debug";
import { clockMs } from "../util/scheduling";
import type { CommandQueue } from "./command-queue";
import { ConnectionCounts, FLUSH_SIZES } from "./connection-counts";
import { serverFor, type WriteListener } from "./flush-encoder";

/** Commands to which the server may reply late by design. */
const UNTIMED = CommandFlag.Blocking | CommandFlag.Waits;
const UNMEASURED = -1;

const debug = debugLog("flush");

/** A reported flush without a reply. */
interface Pending {
  readonly context: FlushContext;
  /** The first reply with a higher number belongs to this flush. */
  readonly place: number;
  readonly beganMs: number;
}

export class FlushMeter {
  /** The cause of the next flush if it is not the usual one. */
  cause: FlushCause | null = null;
  /** The next flush contains an automatic batch that was held back. */
  isHeld = false;
  private place = 0;
  private inFlight = 0;
  private batches = 0;
  private beganMs = 0;
  private timedPlace = UNMEASURED;
  private timedFromMs = 0;
  private stalledFromMs = 0;
  private readonly pending: Pending[] = [];
  /** Read once, because reading the environment for each flush would take too long. */
  private readonly isLogging = debug.enabled;

  constructor(
    private readonly queue: CommandQueue,
    readonly counts: ConnectionCounts = new ConnectionCounts(),
    private readonly tracer: Pick<WriteListener, "server"> | null = null,
  ) {}

  /** A flush is about to be filled; if nothing was in flight, the connection has read the clock. */
  begin(idleSinceMs: number): void {
    const { answered, inFlight } = this.queue;
    this.inFlight = inFlight;
    this.place = answered + inFlight;
    this.batches = Batch.started;
    if (inFlight === 0) this.beganMs = idleSinceMs;
    else if (this.timedPlace === UNMEASURED || flushChannel.isHeard) this.beganMs = clockMs();
  }

  end(bytes: number, isStalled: boolean): void {
    const { counts, queue, place } = this;
    const commands = queue.answered + queue.inFlight - place;
    counts.bytesWritten += bytes;
    counts.flushes++;
    ConnectionCounts.flushes++;
    counts.written += commands;
    const size = Math.min(31 - Math.clz32(commands), FLUSH_SIZES - 1);
    if (size >= 0) (counts.flushSizes[size] as number)++;
    const head = this.timedPlace === UNMEASURED ? queue.head() : undefined;
    if (head !== undefined && (head.spec.flags & UNTIMED) === 0) {
      this.timedPlace = place;
      this.timedFromMs = this.beganMs;
    }
    if (isStalled && this.stalledFromMs === 0) {
      counts.stalls++;
      this.stalledFromMs = clockMs();
    }
    if (this.isLogging || flushChannel.isHeard) this.tell(commands, bytes, isStalled);
    this.cause = null;
    this.isHeld = false;
  }

  /** Bytes have been read and their replies processed. */
  arrived(size: number, nowMs: number): void {
    const { counts, queue } = this;
    counts.bytesRead += size;
    if (this.timedPlace !== UNMEASURED && queue.answered > this.timedPlace) {
      this.timedPlace = UNMEASURED;
      counts.roundTrips.note(Math.max(0, nowMs - this.timedFromMs), nowMs);
    }
    if (this.pending.length > 0) this.settle(nowMs);
  }

  drained(): void {
    if (this.stalledFromMs !== 0) this.counts.stalledMs += clockMs() - this.stalledFromMs;
    this.stalledFromMs = 0;
    this.cause = "drain";
  }

  close(): void {
    this.drained();
    for (const { context } of this.pending.splice(0)) {
      flushChannel.settle(context, new ConnectionClosedError());
    }
  }

  private tell(commands: number, bytes: number, isStalled: boolean): void {
    const { inFlight, place, beganMs } = this;
    const usual = inFlight > 0 ? "turn" : "run";
    const isWindow = this.isHeld && (this.cause ?? "early") === "early";
    const cause = isWindow ? "window" : (this.cause ?? usual);
    const batches = Batch.started - this.batches;
    if (this.isLogging) debug("%d commands, %d bytes, %d in flight, by %s", commands, bytes, inFlight, cause);
    if (!flushChannel.isHeard) return;
    const server = serverFor(this.tracer);
    const context = flushChannel.begin({ ...server, commands, bytes, batches, inFlight, cause, isStalled });
    this.pending.push({ context, place, beganMs });
  }

  private settle(nowMs: number): void {
    const { pending, queue } = this;
    const open = pending.findIndex(({ place }) => queue.answered <= place);
    // Removed together: thousands of flushes can be answered at once.
    for (const { context, beganMs } of pending.splice(0, open < 0 ? pending.length : open)) {
      context.roundTripMs = Math.max(0, nowMs - beganMs);
      flushChannel.settle(context);
    }
  }
}
