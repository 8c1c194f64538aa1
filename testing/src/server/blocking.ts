/**
 * Callers that wait for a key to hold something (BLPOP, XREAD BLOCK and their kind), in the order
 * in which they came. When keys were written and the command, transaction or script is over, each
 * waiting command is tried again.
 */

import type { Clock } from "../keyspace/clock";
import type { Database } from "../keyspace/database";
import { BLOCKED, ErrorReply, NULL_ARRAY, type ReplyValue } from "../protocol/reply";

/** A connection that can wait. */
interface WaitingSession {
  readonly database: Database;
  unblock(reply: ReplyValue): void;
}

interface BlockingCaller {
  readonly session: WaitingSession | null;
  readonly isBatch: boolean;
}

export interface Wait {
  readonly keys: readonly string[];
  /** Milliseconds to wait; 0 for ever. */
  readonly timeoutMs: number;
  /** The reply in transactions and scripts, which cannot wait. Default: a null array, as after the timeout. */
  readonly batchReply?: ReplyValue;
  /** Tries again; `BLOCKED` if there is still nothing. */
  readonly attempt: () => ReplyValue;
}

interface Waiter extends Wait {
  readonly session: WaitingSession;
  readonly database: Database;
  readonly deadline: number;
}

export class Blocking {
  private readonly waiters = new Map<string, Set<Waiter>>();
  private readonly bySession = new Map<WaitingSession, Waiter>();
  private readonly ready = new Set<string>();
  private isServing = false;

  constructor(private readonly clock: Clock) {}

  /** Sessions that wait. */
  get size(): number {
    return this.bySession.size;
  }

  get nextDeadline(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { deadline } of this.bySession.values()) next = Math.min(next, deadline);
    return next;
  }

  /** Answers immediately if the key has data or the caller cannot wait; otherwise blocks the caller. */
  attemptOrWait(caller: BlockingCaller, wait: Wait): ReplyValue {
    const reply = wait.attempt();
    if (reply !== BLOCKED) return reply;
    const { session } = caller;
    if (session === null || caller.isBatch) {
      return wait.batchReply === undefined ? NULL_ARRAY : wait.batchReply;
    }
    this.add(session, wait);
    return BLOCKED;
  }

  isWaiting(session: WaitingSession): boolean {
    return this.bySession.has(session);
  }

  /** A key was written. */
  signal(database: Database, key: string): void {
    const id = idOf(database, key);
    if (this.waiters.has(id)) this.ready.add(id);
  }

  /** Tries the waiting commands of keys that were written. */
  serve(): void {
    if (this.isServing) return;
    this.isServing = true;
    try {
      for (const id of this.ready) {
        this.ready.delete(id);
        for (const waiter of [...(this.waiters.get(id) ?? [])]) this.tryAgain(waiter);
      }
    } finally {
      this.isServing = false;
    }
  }

  endOverdue(): void {
    const { now } = this.clock;
    for (const waiter of [...this.bySession.values()]) {
      if (waiter.deadline <= now) this.end(waiter, NULL_ARRAY);
    }
  }

  /** CLIENT UNBLOCK: as if the time were over, or with an error. False if it does not wait. */
  unblock(session: WaitingSession, error: ErrorReply | null): boolean {
    const waiter = this.bySession.get(session);
    if (waiter === undefined) return false;
    this.end(waiter, error ?? NULL_ARRAY);
    return true;
  }

  /** Ends the waits for these keys with an error: another server has them now. */
  endAll(message: string, holds: (key: string) => boolean = () => true): void {
    for (const waiter of [...this.bySession.values()]) {
      if (waiter.keys.some(holds)) this.end(waiter, new ErrorReply(message));
    }
  }

  /** The connection is gone. */
  forget(session: WaitingSession): void {
    const waiter = this.bySession.get(session);
    if (waiter !== undefined) this.remove(waiter);
  }

  private add(session: WaitingSession, wait: Wait): void {
    const { timeoutMs } = wait;
    const deadline = timeoutMs === 0 ? Number.POSITIVE_INFINITY : this.clock.now + timeoutMs;
    const waiter: Waiter = { ...wait, session, database: session.database, deadline };
    this.bySession.set(session, waiter);
    for (const key of wait.keys) {
      const id = idOf(waiter.database, key);
      const others = this.waiters.get(id);
      if (others === undefined) this.waiters.set(id, new Set([waiter]));
      else others.add(waiter);
    }
  }

  private tryAgain(waiter: Waiter): void {
    if (this.bySession.get(waiter.session) !== waiter) return;
    let reply: ReplyValue;
    try {
      reply = waiter.attempt();
    } catch (error) {
      if (!(error instanceof ErrorReply)) throw error;
      // A key of another type: the command continues to wait.
      if (error.message.startsWith("WRONGTYPE")) return;
      reply = error;
    }
    if (reply !== BLOCKED) this.end(waiter, reply);
  }

  private end(waiter: Waiter, reply: ReplyValue): void {
    this.remove(waiter);
    waiter.session.unblock(reply);
  }

  private remove(waiter: Waiter): void {
    this.bySession.delete(waiter.session);
    for (const key of waiter.keys) {
      const id = idOf(waiter.database, key);
      const others = this.waiters.get(id);
      others?.delete(waiter);
      if (others?.size === 0) this.waiters.delete(id);
    }
  }
}

function idOf(database: Database, key: string): string {
  return `${database.index}:${key}`;
}
