/**
 * Judges databases by their probes, and chooses the one that a client uses. It is pure: it has no connection and no timer.
 */

/** A database is lost after `LOST_PROBES` failed probes over at least `LOST_MS`. */
const LOST_MS = 1000;
const LOST_PROBES = 5;

/** `unknown`: no probe has ended since the client was opened, or since a pause of the process. */
export type DatabaseState = "unknown" | "good" | "failing" | "lost";

/** The recent probes of one database. */
export class Health {
  /** When the first probe of the current run of successes was sent; null: there is no such run. */
  private goodSinceMs: number | null = null;
  private failingSinceMs: number | null = null;
  private failures = 0;

  /** @param weight The database with the greatest weight is preferred. */
  constructor(readonly weight: number) {}

  note(isGood: boolean, sentAtMs: number): void {
    if (isGood) {
      this.goodSinceMs ??= sentAtMs;
      this.forgetFailures();
    } else {
      this.goodSinceMs = null;
      this.failingSinceMs ??= sentAtMs;
      this.failures++;
    }
  }

  /** Earlier probes say nothing about the present, for example after a pause of this process. */
  forget(): void {
    this.goodSinceMs = null;
    this.forgetFailures();
  }

  private forgetFailures(): void {
    this.failingSinceMs = null;
    this.failures = 0;
  }

  /** Only the connection of the probes may be at fault, so a new one is tried. */
  get needsConnection(): boolean {
    return this.failures > 0 && this.failures % LOST_PROBES === 0;
  }

  stateAt(nowMs: number): DatabaseState {
    if (this.isLost(nowMs)) return "lost";
    if (this.failingSinceMs !== null) return "failing";
    return this.goodSinceMs === null ? "unknown" : "good";
  }

  isLost(nowMs: number): boolean {
    const { failingSinceMs } = this;
    return failingSinceMs !== null && this.failures >= LOST_PROBES && nowMs - failingSinceMs >= LOST_MS;
  }

  /** Its probes have succeeded for this time. */
  isGoodFor(durationMs: number, nowMs: number): boolean {
    return this.goodSinceMs !== null && nowMs - this.goodSinceMs >= durationMs;
  }
}

/**
 * The database to use now: another one if the active one is lost, or one with a greater weight after it has
 * been good for `failbackMs`.
 */
export function choose<Database extends { readonly health: Health }>(
  databases: readonly Database[],
  active: Database,
  { failbackMs, nowMs }: { readonly failbackMs: number; readonly nowMs: number },
): Database {
  const isLost = active.health.isLost(nowMs);
  let chosen = active;
  for (const database of databases) {
    const { health } = database;
    if (database === active || !health.isGoodFor(isLost ? 0 : failbackMs, nowMs)) continue;
    const isFirst = isLost && chosen === active;
    if (isFirst || health.weight > chosen.health.weight) chosen = database;
  }
  return chosen;
}
