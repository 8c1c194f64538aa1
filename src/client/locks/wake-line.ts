/**
 * A connection of the pool on which the server reports the wake keys of waiters (client-side tracking). Shared by all
 * waiters of a client for one node, and not counted among the leases of its users. Without RESP3 or without the right
 * to CLIENT TRACKING, waiters rely on their timers.
 */

import type { Connection } from "../../connection/connection";
import { ReplyError } from "../../errors";
import type { Reply } from "../../protocol/resp-types";
import { startTimer, stopTimer } from "../../util/scheduling";
import { CALLS, type ClientBase, LEND, SOURCE } from "../client-base";
import { LeasedConnection } from "../leases/leased-connection";
import type { Loan } from "../leases/loan";
import type { LockingClient } from "./locking-client";

/** The time that the connection stays open after the last waiter. */
const LINGER_MS = 5000;

export class WakeLine {
  private readonly waiting = new Map<string, () => void>();
  /** The connection on which tracking is enabled. A new connection needs CLIENT TRACKING again. */
  private tracking: Connection | null = null;
  private answer: Promise<boolean> = Promise.resolve(false);
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private wasReady: boolean;

  constructor(
    readonly own: LeasedConnection,
    private readonly loan: Loan,
    private readonly onClosed: () => void,
  ) {
    own.on("push:invalidate", (message: readonly Reply[]) => this.onInvalidated(message[1]));
    this.wasReady = loan.link.status === "ready";
    own.on("ready", () => this.onReady());
    own.once("end", () => this.close());
  }

  /** Calls `wake` when the key is deleted. */
  add(wakeKey: string, wake: () => void): void {
    stopTimer(this.timer);
    this.waiting.set(wakeKey, wake);
  }

  remove(wakeKey: string): void {
    this.waiting.delete(wakeKey);
    if (this.waiting.size > 0) return;
    this.timer = startTimer(() => this.close(), LINGER_MS);
    this.timer.unref();
  }

  /** False once the connection is lost for good. */
  get isUsable(): boolean {
    return this.loan.connection.isUsable;
  }

  /** Whether the server reports keys on this connection. Sends CLIENT TRACKING on a new connection. */
  isTracking(): Promise<boolean> {
    const { connection } = this.loan.link;
    if (this.isClosed) return Promise.resolve(false);
    if (connection === null || connection !== this.tracking) this.answer = this.track();
    this.tracking = connection;
    return this.answer;
  }

  close(): void {
    stopTimer(this.timer);
    if (this.isClosed) return;
    this.isClosed = true;
    this.onClosed();
    this.wakeAll();
    void this.own.release();
  }

  private async track(): Promise<boolean> {
    try {
      await this.own.client("TRACKING", "ON", "NOLOOP");
      return this.loan.link.connection?.shape.protocol === 3;
    } catch (error) {
      // An error reply: no permission. After a lost connection, the next attempt enables tracking again.
      return !(error instanceof ReplyError);
    }
  }

  /** The server tracks nothing on a new connection, so all waiters ask again. */
  private onReady(): void {
    if (this.wasReady) this.wakeAll();
    this.wasReady = true;
  }

  private wakeAll(): void {
    for (const wake of this.waiting.values()) wake();
  }

  private onInvalidated(keys: Reply): void {
    // Null: the server has invalidated all keys.
    if (!Array.isArray(keys)) this.wakeAll();
    else for (const key of keys) this.waiting.get(String(key))?.();
  }
}

/** The wake connections of each client, by node; null if the server does not track keys for it. */
const lines = new WeakMap<object, Map<string, Promise<WakeLine | null>>>();

/** The wake connection to the node of a slot, or null if waiters have to poll. */
export async function lineFor(client: LockingClient, slot: number): Promise<WakeLine | null> {
  const node = client.slots?.[slot]?.[0] ?? `database ${client[SOURCE].database}`;
  const ofClient = lines.get(client[CALLS]) ?? new Map<string, Promise<WakeLine | null>>();
  lines.set(client[CALLS], ofClient);
  let line = ofClient.get(node);
  const found = await line;
  if (line === undefined || found?.isUsable === false) {
    // Another waiter may have replaced it meanwhile.
    if (ofClient.get(node) === line) {
      const opened = open(client, slot, () => {
        if (ofClient.get(node) === opened) ofClient.delete(node);
      });
      ofClient.set(node, opened);
    }
    line = ofClient.get(node);
  }
  const present = (await line) ?? null;
  if (present === null || (await present.isTracking())) return present;
  if (ofClient.get(node) === line) {
    present.close();
    ofClient.set(node, Promise.resolve(null));
  }
  return null;
}

async function open(client: LockingClient, slot: number, onClosed: () => void): Promise<WakeLine | null> {
  try {
    const loan = await client[LEND](() => slot, { ownDb: client[SOURCE].database });
    return new WakeLine(new LeasedConnection(client as unknown as ClientBase, loan), loan, onClosed);
  } catch {
    // The client is closed, or the cluster has no master for the slot. The next attempt tries again.
    onClosed();
    return null;
  }
}
