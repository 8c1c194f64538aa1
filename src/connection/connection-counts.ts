/**
 * The counts of one link over all its connections, taken where it is done anyway: once for a
 * flush, a read, a connection. Plain fields, read by `stats()`; they only grow.
 */

import { RoundTrips } from "./round-trips";

/** Flushes of 1, of 2 and 3, of 4 to 7 commands, and so on; the last one of 32,768 and more. */
export const FLUSH_SIZES = 16;

const SUMMED = [
  "flushes",
  "written",
  "bytesRead",
  "bytesWritten",
  "stalls",
  "stalledMs",
  "attempts",
  "opened",
  "lost",
  "resent",
  "probes",
] as const;

export class ConnectionCounts {
  /** Flushes of all connections of the process. */
  static flushes = 0;

  flushes = 0;
  /** Commands written, those of the client itself and those that were sent again included. */
  written = 0;
  readonly flushSizes: number[] = new Array<number>(FLUSH_SIZES).fill(0);
  bytesRead = 0;
  bytesWritten = 0;
  readonly roundTrips = new RoundTrips();
  /** Times that the socket took no more, and for how long in all. */
  stalls = 0;
  stalledMs = 0;
  attempts = 0;
  /** Connections that became ready. */
  opened = 0;
  /** Of those, the ones that ended without being asked to. */
  lost = 0;
  /** Commands that were written, lost with their connection and queued again. */
  resent = 0;
  probes = 0;

  /** Takes over what another link has done, round trips aside. */
  add(other: ConnectionCounts): void {
    for (const name of SUMMED) this[name] += other[name];
    other.flushSizes.forEach((count, size) => {
      (this.flushSizes[size] as number) += count;
    });
  }
}
