/**
 * The connections of a client with lanes, from the outside one: they connect and end together, the
 * client is ready when all of them are, and its status words are those of the main one. A lane that
 * is lost while the client is ready connects anew by itself, and what belongs to it waits; a lane
 * that gives up ends the client.
 */

import type { Command } from "../command/command";
import { ConnectionCounts } from "../connection/connection-counts";
import { ConnectionClosedError } from "../errors";
import type { Link, QueuePosition } from "../link/link";
import { type LinkDeps, withOthers } from "../link/link-options";
import { isConnected, type LinkStatus } from "../link/link-state";
import { type Gatherer, LinkLane } from "./lane";
import { Lanes } from "./lanes";

export interface LanePlan {
  /** Connections that slots are divided among, the main one included. */
  readonly lanes: number;
  /** A further connection for large values. */
  readonly hasBulk: boolean;
}

export interface LaneOwner {
  /** The collaborators of the main link. */
  readonly deps: LinkDeps;
  makeLink(deps: LinkDeps): Link;
  /** A lane was lost while the main connection is there, or all are ready again. */
  onLaneStatus(status: "reconnecting" | "ready"): void;
  /** Commands have not reached a link, and the client has ended. */
  settleWaiting(commands: readonly Command[]): void;
}

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

export class LaneSet {
  main!: LinkLane;
  others: readonly LinkLane[] = [];
  lanes!: Lanes;
  readonly mainDeps: LinkDeps;
  /** Counts of the further lanes. */
  private readonly counts: ConnectionCounts[] = [];
  /** The client has been told that it is ready. */
  private isReady = false;
  /** The main link has ended, and others have not. */
  private isEnding = false;
  /** Lanes that were asked to end. */
  private readonly closing = new Set<LinkLane>();
  private readonly waiters: Waiter[] = [];

  constructor(
    private readonly plan: LanePlan,
    private readonly owner: LaneOwner,
  ) {
    const { deps } = owner;
    const { listener } = deps;
    this.mainDeps = withOthers(deps, {
      listener: {
        onStatus: (status, argument) => this.onMainStatus(status, argument),
        onNamedError: (type, error) => listener.onNamedError(type, error),
        onSelect: (db) => listener.onSelect(db),
        onGap: (gap) => listener.onGap(gap),
      },
      redirects: (command, error) => this.noteTaken(deps.redirects(command, error)),
    });
  }

  /** Makes the other lanes beside the main link. */
  begin(link: Link): void {
    const { lanes, hasBulk } = this.plan;
    this.main = new LinkLane(link, "main");
    const further = Array.from({ length: lanes - 1 }, (_, index) => this.makeLane(`lane ${index + 1}`));
    const bulk = hasBulk ? this.makeLane("bulk") : null;
    this.others = bulk === null ? further : [...further, bulk];
    this.lanes = new Lanes(this.main, further, bulk);
  }

  /** Each lane gathers for itself. */
  gather(make: (link: Link) => Gatherer | null): void {
    for (const lane of this.all) {
      lane.gatherer?.flush();
      lane.gatherer = make(lane.link);
      if (lane.link.status === "ready") lane.gatherer?.hold(true);
    }
  }

  get all(): readonly LinkLane[] {
    return [this.main, ...this.others];
  }

  // --- what the client shows ---------------------------------------------------------------

  get status(): LinkStatus {
    const { status } = this.main.link;
    if (status === "ready" && !this.isReady) return "connect";
    return status === "end" && this.isEnding ? "close" : status;
  }

  /** Resolves when all are ready; rejects when the main connection closes before. */
  untilReady(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    if (!isConnected(this.main.link.status)) return Promise.reject(new ConnectionClosedError());
    return new Promise((resolve, reject) => this.waiters.push({ resolve, reject }));
  }

  get links(): readonly Link[] {
    return this.all.map(({ link }) => link);
  }

  /** Something was issued that has not been answered. */
  get isBusy(): boolean {
    return this.lanes.heldCount > 0 || this.all.some((lane) => !lane.isIdle);
  }

  /** Commands wait for a connection. */
  get isWaiting(): boolean {
    return this.all.some(({ link }) => link.offline.length > 0);
  }

  /** Commands that have reached no link: gathered, or held. */
  get gathered(): readonly Command[] {
    return [...this.all.flatMap(({ gatherer }) => gatherer?.gathered ?? []), ...this.lanes.pendingHeld()];
  }

  /** The counts of all connections. */
  get totals(): ConnectionCounts {
    const sum = new ConnectionCounts();
    for (const counts of [this.owner.deps.counts, ...this.counts]) sum.add(counts);
    return sum;
  }

  /** The main connection takes commands as they come. */
  get isWritable(): boolean {
    return this.main.link.isWritable;
  }

  positionOf(command: Command): QueuePosition {
    const isIt = (one: Command): boolean => one === command;
    const lane = this.all.find((one) => one.lastOf(isIt) !== undefined) ?? this.main;
    return lane.link.positionOf(command);
  }

  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    const held = this.lanes.lastHeld(isWanted);
    if (held !== undefined) return held;
    for (const lane of this.all) {
      const found = lane.lastOf(isWanted);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  // --- ending ------------------------------------------------------------------------------

  /** The client disconnects; the main link is told by itself. */
  disconnect(isReconnect: boolean): void {
    if (!isReconnect) this.settleHeld();
    for (const lane of this.others) this.close(lane, isReconnect);
  }

  /** Ends all connections at once. */
  destroy(): void {
    for (const { link } of this.all) link.connection?.destroy();
  }

  /** Hands on what is gathered. */
  flush(): void {
    for (const { gatherer } of this.all) gatherer?.flush();
  }

  /** Takes out what waits and the test is true for, in order for each slot. */
  takeWaiting(isWanted: (command: Command) => boolean): Command[] {
    const waiting = this.all.flatMap(({ link }) => link.offline.takeThose(isWanted));
    return [...waiting, ...this.lanes.takeHeld(isWanted)];
  }

  private close(lane: LinkLane, isReconnect: boolean): void {
    if (lane.link.status === "end") return;
    if (!isReconnect) {
      lane.gatherer?.flush();
      this.closing.add(lane);
    }
    lane.link.disconnect(isReconnect);
  }

  private settleHeld(): void {
    const held = this.lanes.takeHeld(() => true);
    if (held.length > 0) this.owner.settleWaiting(held);
  }

  // --- inside ------------------------------------------------------------------------------

  private makeLane(name: string): LinkLane {
    const { deps } = this.owner;
    const counts = new ConnectionCounts();
    this.counts.push(counts);
    let untold: Error | null = null;
    const lane: LinkLane = new LinkLane(
      this.owner.makeLink(
        withOthers(deps, {
          counts,
          messages: null,
          listener: {
            onStatus: (status) => {
              if (status === "end" && untold !== null && !this.closing.has(lane)) this.tell(untold);
              if (status === "end" || status === "ready") untold = null;
              this.onLaneStatus(lane, status);
            },
            onNamedError: (type, error) => {
              // Without the main connection either, the main link tells of the same trouble.
              if (type === "error" && this.main.link.status !== "ready") untold = error;
              else deps.listener.onNamedError(type, error);
            },
            onSelect() {},
            onGap() {},
          },
        }),
      ),
      name,
    );
    return lane;
  }

  private tell(error: Error): void {
    this.owner.deps.listener.onNamedError("error", error);
  }

  private noteTaken(isTaken: boolean): boolean {
    if (isTaken) this.lanes.onTaken();
    return isTaken;
  }

  private onMainStatus(status: LinkStatus, argument: unknown): void {
    this.main?.gatherer?.hold(status === "ready");
    this.lanes?.onChange();
    if (status === "ready") {
      this.tellReady();
      return;
    }
    if (status === "close") this.onMainLost();
    else if (status === "connecting") this.connectOthers();
    else if (status === "end") {
      this.endOthers();
      return;
    }
    this.owner.deps.listener.onStatus(status, argument);
  }

  private onLaneStatus(lane: LinkLane, status: LinkStatus): void {
    lane.gatherer?.hold(status === "ready");
    this.lanes?.onChange();
    const main = this.main.link;
    if (status === "connecting" && main.status === "wait") main.connect().catch(() => {});
    else if (status === "ready") {
      if (!this.isReady) this.tellReady();
      else if (this.areAllReady) this.owner.onLaneStatus("ready");
    } else if (status === "reconnecting" && this.isReady) this.owner.onLaneStatus("reconnecting");
    else if (status === "end") this.onLaneEnd(lane);
  }

  private onLaneEnd(lane: LinkLane): void {
    const wasAsked = this.closing.delete(lane);
    const main = this.main.link;
    if (this.isEnding) this.tellEnd();
    else if (main.status === "end" || main.isClosing) return;
    // The client was connected anew while this one was still ending.
    else if (wasAsked && isConnected(main.status)) lane.link.connect().catch(() => {});
    else if (!wasAsked) main.disconnect();
  }

  private get areAllReady(): boolean {
    return this.all.every(({ link }) => link.status === "ready");
  }

  private tellReady(): void {
    if (this.isReady || !this.areAllReady) return;
    this.isReady = true;
    this.owner.deps.listener.onStatus("ready", undefined);
    for (const { resolve } of this.waiters.splice(0)) resolve();
  }

  private onMainLost(): void {
    this.isReady = false;
    for (const { reject } of this.waiters.splice(0)) reject(new ConnectionClosedError());
  }

  private connectOthers(): void {
    if (this.isEnding) {
      this.isEnding = false;
      this.owner.deps.listener.onStatus("end", undefined);
    }
    for (const { link } of this.others) {
      if (link.status === "wait" || link.status === "end") link.connect().catch(() => {});
    }
  }

  private endOthers(): void {
    this.isReady = false;
    this.isEnding = true;
    this.settleHeld();
    for (const lane of this.others) this.close(lane, false);
    this.tellEnd();
  }

  private tellEnd(): void {
    if (this.others.some(({ link }) => link.status !== "end")) return;
    this.isEnding = false;
    this.owner.deps.listener.onStatus("end", undefined);
  }
}
