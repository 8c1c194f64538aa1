/**
 * Client tracking (client-side caching): which connection read which key, and the invalidation
 * pushes that follow a write. Broadcasting mode goes by prefix and remembers nothing.
 */

import type { ReplyValue } from "../protocol/reply";

export interface TrackingMode {
  readonly isBroadcast: boolean;
  readonly prefixes: readonly string[];
  readonly optIn: boolean;
  readonly optOut: boolean;
  readonly noLoop: boolean;
  /** The connection that gets the messages, 0 for the reading one. */
  readonly redirect: number;
  /** CLIENT CACHING: about the next command. */
  nextIs: "yes" | "no" | null;
}

/** A connection with tracking, or one that gets the messages of another. */
interface TrackedSession {
  trackingMode: TrackingMode | null;
  readonly protocol: 2 | 3;
  readonly isRunning: boolean;
  readonly subscriptions: { readonly channels: ReadonlySet<string> };
  pushLater(values: readonly ReplyValue[]): void;
}

export class Tracking {
  /** Connections with tracking on. */
  private readonly trackers = new Set<TrackedSession>();
  private readonly readers = new Map<string, Set<TrackedSession>>();

  get isActive(): boolean {
    return this.trackers.size > 0;
  }

  start(session: TrackedSession, mode: TrackingMode): void {
    session.trackingMode = mode;
    this.trackers.add(session);
  }

  stop(session: TrackedSession): void {
    session.trackingMode = null;
    this.trackers.delete(session);
    for (const [key, sessions] of this.readers) {
      if (sessions.delete(session) && sessions.size === 0) this.readers.delete(key);
    }
  }

  constructor(private readonly sessions: ReadonlyMap<number, TrackedSession>) {}

  /** A command that reads these keys has run on a connection with tracking. */
  remember(session: TrackedSession, keys: readonly string[]): void {
    const mode = session.trackingMode;
    if (mode === null || mode.isBroadcast) return;
    if (mode.optIn && mode.nextIs !== "yes") return;
    if (mode.optOut && mode.nextIs === "no") return;
    for (const key of keys) {
      const sessions = this.readers.get(key);
      if (sessions === undefined) this.readers.set(key, new Set([session]));
      else sessions.add(session);
    }
  }

  /** A key was written, by the connection whose commands run now. */
  invalidate(key: string): void {
    const told = this.readers.get(key);
    if (told !== undefined) {
      this.readers.delete(key);
      for (const session of told) this.tell(session, key);
    }
    for (const session of this.trackers) {
      const mode = session.trackingMode;
      if (!mode?.isBroadcast) continue;
      const { prefixes } = mode;
      if (prefixes.length === 0 || prefixes.some((prefix) => key.startsWith(prefix))) this.tell(session, key);
    }
  }

  /** All keys are gone. */
  invalidateAll(): void {
    this.readers.clear();
    for (const session of this.trackers) this.send(session, null);
  }

  private tell(session: TrackedSession, key: string): void {
    const mode = session.trackingMode;
    if (mode === null || (mode.noLoop && session.isRunning)) return;
    this.send(session, key);
  }

  private send(session: TrackedSession, key: string | null): void {
    const redirect = session.trackingMode?.redirect ?? 0;
    const keys = key === null ? null : [key];
    if (redirect === 0) {
      if (session.protocol === 3) session.pushLater(["invalidate", keys]);
      return;
    }
    const target = this.sessions.get(redirect);
    if (target === undefined) {
      if (session.protocol === 3) session.pushLater(["tracking-redir-broken", redirect]);
    } else if (target.protocol === 3) target.pushLater(["invalidate", keys]);
    else if (target.subscriptions.channels.has("__redis__:invalidate")) {
      target.pushLater(["message", "__redis__:invalidate", keys]);
    }
  }
}
