/**
 * The counters of one link over all its connections, updated once for each flush, read or connection. Plain
 * fields, read by `stats()`; they only increase.
 */

import { RoundTrips } from "./round-trips";

/** Flushes of 1, of 2 and 3, of 4 to 7 commands, and so on; the last counter is for 32,768 and more. */
export const FLUSH_SIZES = 16;

export class ConnectionCounts {
  static flushes = 0;

  flushes = 0;
  /** Written commands, including those of the client itself and resent ones. */
  written = 0;
  readonly flushSizes: number[] = new Array<number>(FLUSH_SIZES).fill(0);
  bytesRead = 0;
  bytesWritten = 0;
  readonly roundTrips = new RoundTrips();
  /** How often the socket accepted no more bytes, and for how long in total. */
  stalls = 0;
  stalledMs = 0;
  attempts = 0;
  opened = 0;
  /** Ready connections that ended unexpectedly. */
  lost = 0;
  /** Commands that were written, lost with their connection and queued again. */
  resent = 0;
  probes = 0;

  /** Adds the counts of another link, except round trips. */
  add(other: ConnectionCounts): void {
    const sums = this as unknown as Record<string, number>;
    for (const [name, count] of Object.entries(other)) {
      if (typeof count === "number") sums[name] = (sums[name] as number) + count;
    }
    other.flushSizes.forEach((count, size) => {
      (this.flushSizes[size] as number) += count;
    });
  }
}
