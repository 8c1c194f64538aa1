/**
 * Keeps the slot map up to date. Asks over existing connections, one node after the other, without a long wait
 * for any of them. One refresh runs at a time, and callers that ask meanwhile share its result. Routing never
 * waits for it. When no known node answers, the start nodes are resolved again and asked over separate
 * connections.
 *
 * Requests from the data path (MOVED, losses) are spaced out: a refresh without news doubles the pause before
 * the next one.
 */

import { Origin } from "../command/command";
import { unwrapped } from "../command/ending-errors";
import { ownCommand } from "../command/own-command";
import { PromiseCompletion } from "../command/promise-completion";
import { ConnectionClosedError, ReplyError } from "../errors";
import { hintOnNode, isTransientRefusal } from "../observability/hints";
import type { Reply } from "../protocol/resp-types";
import { addHint, hintOf, isCertain, markCertain } from "../util/error-hint";
import { clockMs, jittered, startInterval, startTimer, stopInterval, stopTimer } from "../util/scheduling";
import {
  ClusterAllFailedError,
  RefreshVoidError,
  TopologyError,
  TopologyTimeoutError,
} from "./cluster-errors";
import type { ClusterNode, NodeClient } from "./cluster-node";
import { shuffled } from "./discovery";
import { type NodeAddress, nodeKey } from "./node-address";
import type { NodePool } from "./node-pool";
import { hidesSlots, parseShards, parseSlots, type TopologyRange } from "./topology";

export interface Informant {
  readonly address: NodeAddress;
  readonly client: NodeClient;
}

export interface RefreshOptions {
  readonly slotsRefreshTimeout: number;
  readonly slotsRefreshInterval?: number | undefined;
  readonly availabilityZone?: string | undefined;
}

export interface RefreshDeps {
  readonly pool: NodePool;
  readonly views: { readonly usesTls: boolean };
  /** `hasDelayed`: commands wait for a better table. */
  readonly retries: { readonly hasDelayed: boolean };
  /** `isInHurry`: messages are being lost until a table names another owner. */
  readonly subscriptions: { readonly isInHurry: boolean };
  readonly owner: { onNodeError(error: Error, key: string): void };
  /** Applies the new state; returns true if it differs from the old one. */
  adopt(ranges: readonly TopologyRange[]): boolean;
  /** Separate connections to the start nodes; the caller disconnects them. */
  openSeeds(): Promise<Informant[]>;
}

const PARSERS: Readonly<Record<"SLOTS" | "SHARDS", typeof parseShards>> = {
  SLOTS: parseSlots,
  SHARDS: parseShards,
};
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1600;
/** The longest pause between refreshes while commands wait for an owner. */
const WAITING_PAUSE_MS = 250;
/** The maximum number of nodes that are asked for the cluster state, one after the other. */
const MOST_ASKED = 16;
/** When a node has not answered for this long, the next one is asked as well. */
const STAGGER_MS = 200;

export class Refresher {
  /** A node answered without a table, for example NOPERM to CLUSTER, and no node has answered with one since. */
  isDenied = false;
  private running: Promise<void> | null = null;
  private pauseMs = SHORTEST_PAUSE_MS;
  private lastEndMs = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private interval: NodeJS.Timeout | undefined;
  private hint: ClusterNode | null = null;
  private isStopped = true;
  /** The current refresh began before newer information arrived; another one follows. */
  private isDueAgain = false;
  /** Counts stops: replies to questions from before a stop are ignored. */
  private generation = 0;

  constructor(
    private readonly options: RefreshOptions,
    private readonly deps: RefreshDeps,
  ) {}

  /** Refreshes now, or joins the running refresh. Rejects when no node could answer. */
  refresh(mayAskSeeds = true): Promise<void> {
    if (this.running !== null) return this.running;
    this.isDueAgain = false;
    const running = this.run(mayAskSeeds).finally(() => {
      if (this.running !== running) return;
      this.running = null;
      this.lastEndMs = clockMs();
      if (this.isStopped) return;
      const { longestPauseMs } = this;
      if (this.isDueAgain) this.refreshNow();
      else if (longestPauseMs < LONGEST_PAUSE_MS) this.book(longestPauseMs);
      else if (this.deps.pool.list().some(({ isLost }) => isLost))
        this.book(Math.max(this.pauseMs, WAITING_PAUSE_MS));
    });
    this.running = running;
    return running;
  }

  /** The map is stale; `hint` probably knows the new one. Returns immediately. */
  request(hint: ClusterNode | null): void {
    if (hint !== null) this.hint = hint;
    if (this.isStopped || this.running !== null || this.timer !== undefined) return;
    const waitMs = this.lastEndMs + Math.min(this.pauseMs, this.longestPauseMs) - clockMs();
    if (waitMs <= 0) this.refreshNow();
    else this.book(waitMs);
  }

  /** A node has news: it is asked first and without a pause. Returns immediately. */
  askAtOnce(node: ClusterNode): void {
    this.hint = node;
    if (this.running !== null) this.isDueAgain = true;
    else if (!this.isStopped) this.refreshNow();
  }

  start(): void {
    this.isStopped = false;
    const { slotsRefreshInterval } = this.options;
    stopInterval(this.interval);
    if (typeof slotsRefreshInterval !== "number" || !(slotsRefreshInterval > 0)) return;
    this.interval = startInterval(() => this.refreshNow(), slotsRefreshInterval).unref();
  }

  /** The running refresh is ignored. */
  stop(): void {
    this.isStopped = true;
    this.generation++;
    this.running = null;
    stopInterval(this.interval);
    stopTimer(this.timer);
    this.timer = undefined;
  }

  /**
   * The reason why the cluster does not serve, or null. The first node that answers decides; an error reply
   * counts as serving. If no node answers, the last failure is the reason.
   */
  async reasonAgainst(): Promise<Error | null> {
    let silence: Error | null = null;
    for (const { address, client } of this.candidates().flat().slice(0, MOST_ASKED)) {
      const where = nodeKey(address);
      try {
        const info = String(await this.query(client, "INFO"));
        if (!info.includes("cluster_state:fail")) return null;
        return new TopologyError(
          `${where} reports cluster_state:fail. Some slots have no reachable master: check CLUSTER INFO and CLUSTER NODES there`,
        );
      } catch (error) {
        if (!(error instanceof TopologyTimeoutError || error instanceof ConnectionClosedError)) return null;
        // An unreachable node says nothing about the others.
        silence = new TopologyError(`${where} serves slots but did not answer CLUSTER INFO`, {
          cause: error,
        });
      }
    }
    return silence;
  }

  /** Shorter while messages are lost or commands wait until a newer table arrives. */
  private get longestPauseMs(): number {
    const { pool, retries, subscriptions } = this.deps;
    if (subscriptions.isInHurry) return SHORTEST_PAUSE_MS;
    const needsOwner = ({ client, isLost, isSuspect }: ClusterNode): boolean =>
      isSuspect || (isLost && client !== null && client.link.offline.length > 0);
    const isAwaited = retries.hasDelayed || pool.list().some(needsOwner);
    return isAwaited ? WAITING_PAUSE_MS : LONGEST_PAUSE_MS;
  }

  private refreshNow(): void {
    stopTimer(this.timer);
    this.timer = undefined;
    this.refresh().catch(() => {});
  }

  private book(waitMs: number): void {
    this.timer ??= startTimer(() => this.refreshNow(), jittered(waitMs));
  }

  private async run(mayAskSeeds: boolean): Promise<void> {
    const { generation } = this;
    const errors: Record<string, Error> = Object.create(null);
    let ranges: TopologyRange[] | null = null;
    for (const group of this.candidates()) ranges ??= await this.askAll(group, errors);
    ranges ??= await this.askSeeds(mayAskSeeds, errors);
    if (generation !== this.generation) throw new RefreshVoidError();
    if (ranges === null) {
      throw explained(new ClusterAllFailedError(Object.values(errors).at(-1), errors));
    }
    this.isDenied = false;
    const isChanged = this.deps.adopt(ranges);
    this.pauseMs = isChanged ? SHORTEST_PAUSE_MS : Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
  }

  /**
   * Two groups: in each, the hint precedes nodes with a connection, and silent nodes are last. A node that
   * has replied CLUSTERDOWN may be cut off and still consider the slots its own. It is asked only when no
   * other node has answered.
   */
  private candidates(): Informant[][] {
    const nodes = shuffled(this.deps.pool.list());
    const rank = (node: ClusterNode): number => {
      if (node.isDown || node.isLost || node.isUnheard) return 3;
      if (node === this.hint) return 0;
      return node.isLive ? 1 : 2;
    };
    nodes.sort((a, b) => rank(a) - rank(b));
    this.hint = null;
    return [false, true].map((isDoubted) =>
      nodes
        .filter((node) => node.isDoubted === isDoubted)
        .map((node) => ({ address: node.address, client: this.deps.pool.clientOf(node) })),
    );
  }

  private async askSeeds(isAllowed: boolean, errors: Record<string, Error>): Promise<TopologyRange[] | null> {
    if (!isAllowed || this.isStopped) return null;
    const { generation } = this;
    let seeds: Informant[];
    try {
      seeds = await this.deps.openSeeds();
    } catch (error) {
      errors["startup nodes"] = error as Error;
      return null;
    }
    const isVoid = generation !== this.generation;
    const ranges = isVoid ? null : await this.askAll(seeds, errors);
    for (const { client } of seeds) client.link.disconnect();
    return ranges;
  }

  /** The first reply; each node gets a head start before the next one is asked as well. */
  private askAll(
    informants: readonly Informant[],
    errors: Record<string, Error>,
  ): Promise<TopologyRange[] | null> {
    return new Promise((resolve) => {
      let asked = 0;
      let failed = 0;
      let timer: NodeJS.Timeout | undefined;
      const finish = (ranges: TopologyRange[] | null): void => {
        stopTimer(timer);
        asked = informants.length;
        resolve(ranges);
      };
      const askNext = (): void => {
        stopTimer(timer);
        const informant = informants[asked];
        if (informant === undefined) return;
        asked++;
        timer = startTimer(askNext, STAGGER_MS);
        this.ask(informant).then(finish, (error: Error) => {
          const key = nodeKey(informant.address);
          errors[key] = error;
          if (error instanceof ReplyError || error instanceof TopologyError) this.isDenied = true;
          this.deps.owner.onNodeError(error, key);
          if (++failed === informants.length) finish(null);
          else askNext();
        });
      };
      if (informants.length === 0) finish(null);
      else askNext();
    });
  }

  private async ask(informant: Informant): Promise<TopologyRange[]> {
    const { usesTls } = this.deps.views;
    // CLUSTER SHARDS reports the zones of nodes.
    const needsZones = this.options.availabilityZone !== undefined;
    const [first, second] = needsZones ? (["SHARDS", "SLOTS"] as const) : (["SLOTS", "SHARDS"] as const);
    try {
      const reply = await this.query(informant.client, first);
      if (first === "SLOTS" || !hidesSlots(reply)) return PARSERS[first](reply, informant.address, usesTls);
    } catch (error) {
      if (!isUnknownQuestion(error as Error)) throw error;
    }
    return PARSERS[second](await this.query(informant.client, second), informant.address, usesTls);
  }

  private query(client: NodeClient, question: string): Promise<Reply> {
    const completion = new PromiseCompletion();
    const command = ownCommand(Origin.Question, "cluster", [question], completion);
    const timer = startTimer(
      () => command.fail(new TopologyTimeoutError()),
      this.options.slotsRefreshTimeout,
    );
    client.link.dispatch(command);
    return completion.promise.finally(() => stopTimer(timer));
  }
}

/** If all nodes fail in the same way, the cause is certain, such as a server without cluster mode. */
function explained(error: ClusterAllFailedError): ClusterAllFailedError {
  const reasons = Object.values(error.nodeErrors);
  const hints = new Set(reasons.map(unwrapped).map((reason) => hintOf(reason) ?? hintOnNode(reason.message)));
  const [hint] = hints;
  if (hints.size !== 1 || hint === null) return error;
  addHint(error, hint);
  const isLasting = ({ message }: Error): boolean =>
    hintOnNode(message) !== null && !isTransientRefusal(message);
  const areCertain = reasons.every(
    (reason) => isCertain(reason) || isCertain(unwrapped(reason)) || isLasting(reason),
  );
  return areCertain ? markCertain(error) : error;
}

function isUnknownQuestion(error: Error): boolean {
  return /unknown (sub)?command|NOPERM/i.test(error.message);
}
