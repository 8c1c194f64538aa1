/**
 * What becomes of commands that a node did not serve: redirected ones follow at once, others
 * wait as long as their kind of error asks for and go to whoever serves their slot by then. Each
 * return is counted against the budget of its command. Only commands that were not answered, or
 * answered with "not here" or "not now", are ever sent again.
 *
 * Whatever comes here leaves in the same call: ended, sent to a port, or put into a waiting room,
 * which has a timer. Nothing is handed to a port while the router is closed.
 */

import { BatchKind } from "../command/batch";
import { Command, CommandState, issuedBy, Origin } from "../command/command";
import type { RedirectTrail, SettleHook } from "../command/command-extra";
import { specOf } from "../command/command-table";
import { IGNORED } from "../command/promise-completion";
import { NO_SLOT, UNROUTED } from "../command/slot";
import { ConnectionClosedError, WatchLostError } from "../errors";
import { endOf } from "../link/closing";
import { debugLog } from "../util/debug";
import { clockMs } from "../util/scheduling";
import { RedirectionsOutcomeUnknownError, TooManyRedirectionsError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import type { NodeAddress } from "./node-address";
import type { NodePool } from "./node-pool";
import { isReplicaRead } from "./read-preference";
import { parseRedirect, type Redirect, RedirectKind } from "./redirect";
import { type RetryQueue, WaitReason } from "./retry-queue";
import type { ClusterRouter } from "./router";
import type { SlotMap } from "./slot-map";
import { TransactionGroup } from "./transaction-group";

const debug = debugLog("cluster");

export interface RedirectOptions {
  readonly maxRedirections: number;
  readonly retryDelayOnMoved: number;
  readonly retryDelayOnFailover: number;
  readonly retryDelayOnClusterDown: number;
  readonly retryDelayOnTryAgain: number;
}

export interface RedirectorDeps {
  readonly slots: SlotMap;
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  readonly router: ClusterRouter;
  /** The address under which a node can be reached from here (NAT). */
  translate(address: NodeAddress): NodeAddress;
  /** The slot map is out of date; `hint` knows better. */
  onStale(hint: ClusterNode | null): void;
}

/** Tries with the delay of the options; after that it doubles, up to `LONGEST_DELAY_MS`. */
const EVEN_TRIES = 4;
const LONGEST_DELAY_MS = 2000;
/** A replica that could not serve a read is left alone for this long. */
const AVOID_MS = 1000;
const MAX_TRAIL = 64;

export class Redirector {
  /** False while the cluster is being closed: then nothing is sent again. */
  isActive = false;
  /** Commands and transactions that were redirected, by kind. */
  readonly counts: number[] = [0, 0, 0, 0, 0, 0];

  constructor(
    private readonly options: RedirectOptions,
    private readonly deps: RedirectorDeps,
  ) {}

  takesOver(command: Command): boolean {
    return this.isActive && command.slot !== UNROUTED && isAwaited(command);
  }

  /** True when the command goes again, or has been ended here. */
  onReplyError(node: ClusterNode, command: Command, error: Error): boolean {
    if (command.slot === UNROUTED || !this.isActive) return false;
    const redirect = parseRedirect(error.message, node.address);
    this.deps.retries.endTravel(command);
    const { batch } = command;
    const isTaken =
      batch instanceof TransactionGroup
        ? this.onGroupError(node, batch, { command, redirect, error })
        : redirect !== null && !command.isSettled && this.follow(node, command, redirect, error);
    if (isTaken) debug("%s of slot %d goes again, %s said: %s", command.name, command.slot, node.key, error);
    if (isTaken) this.deps.retries.onReturned(command);
    return isTaken;
  }

  /** The link of a node has ended; the commands may go again. */
  takeOver(node: ClusterNode, commands: readonly Command[], error: Error): void {
    const atOnce: Command[] = [];
    for (const command of commands) {
      this.deps.retries.endTravel(command);
      const unit = this.unitOf(command, error);
      if (unit === null) continue;
      detach(unit);
      if (this.options.retryDelayOnFailover === 0) {
        const reason = endOf(unit, error);
        endUnit(unit, () => reason);
      } else if (this.maySpend(unit, node, error)) {
        if (this.hasOtherOwner(unit, node)) atOnce.push(unit);
        else this.giveBack(unit, WaitReason.Failover, this.options.retryDelayOnFailover);
      }
    }
    if (atOnce.length > 0) this.deps.router.sendAgain(atOnce);
    for (const command of commands) this.deps.retries.onReturned(command);
    this.deps.onStale(null);
  }

  /** A node is being redialled: commands that wait there and whose slot has another owner go to that one. */
  onLostOwner(node: ClusterNode): void {
    const offline = node.port?.link.offline;
    if (offline === undefined || offline.length === 0) return;
    const moved: Command[] = [];
    const kept: Command[] = [];
    for (const command of offline.takeAll()) (this.hasOtherOwner(command, node) ? moved : kept).push(command);
    offline.putBack(kept);
    this.onLeft(node, moved);
  }

  /** Commands waited for a node that is being redialled; now they leave it. */
  onLeft(node: ClusterNode, commands: readonly Command[]): void {
    if (commands.length > 0) this.takeOver(node, commands, new ConnectionClosedError());
  }

  /** A command waits for a node that cannot be reached, and no other one can be asked. */
  onUnreachable(node: ClusterNode, command: Command): void {
    const error = new ConnectionClosedError();
    if (this.maySpend(command, node, error)) {
      this.giveBack(command, WaitReason.Failover, this.options.retryDelayOnFailover || 100);
    }
  }

  // --- inside ------------------------------------------------------------------------------

  private onGroupError(
    node: ClusterNode,
    group: TransactionGroup,
    { command, redirect, error }: { command: Command; redirect: Redirect | null; error: Error },
  ): boolean {
    if (command !== group.closing) {
      if (redirect === null) return false;
      group.pending ??= { redirect, error };
      if (!command.isSettled) group.withhold(command, error);
      return true;
    }
    const pending = group.pending ?? (redirect === null ? null : { redirect, error });
    if (pending === null || command.isSettled) return false;
    if (group.isGuarded) {
      // Where it would go, nobody watches the keys.
      command.fail(new WatchLostError());
      return true;
    }
    return this.follow(node, command, pending.redirect, pending.error);
  }

  private follow(node: ClusterNode, unit: Command, redirect: Redirect, error: Error): boolean {
    (this.counts[redirect.kind] as number)++;
    switch (redirect.kind) {
      case RedirectKind.Moved:
      case RedirectKind.Ask:
        return this.followTo(node, unit, redirect, error);
      case RedirectKind.TryAgain:
        detach(unit);
        if (this.maySpend(unit, node, error)) {
          this.giveBack(unit, WaitReason.TryAgain, this.options.retryDelayOnTryAgain);
        }
        return true;
      case RedirectKind.Unfit:
        if (node.role === "slave" && isReplicaRead(unit)) return this.leaveReplica(node, unit, error);
        break;
      case RedirectKind.ClusterDown:
        node.doubt();
        if (node.role === "slave") node.avoidedUntilMs = clockMs() + AVOID_MS;
    }
    const delayMs = this.options.retryDelayOnClusterDown;
    if (delayMs === 0) return false;
    detach(unit);
    if (this.maySpend(unit, node, error)) {
      if (redirect.kind === RedirectKind.ClusterDown) trailOf(unit).avoided = node.key;
      this.giveBack(unit, WaitReason.ClusterDown, delayMs);
    }
    this.deps.onStale(null);
    return true;
  }

  private followTo(node: ClusterNode, unit: Command, redirect: Redirect, error: Error): boolean {
    const { pool, retries, router } = this.deps;
    if (!router.takesReturns) return this.sendOn(node, unit, error);
    const address = redirect.target === null ? null : this.deps.translate(redirect.target);
    const target = address === null ? null : pool.at(address);
    if (target === null) return false;
    detach(unit);
    // The detour around a node that said CLUSTERDOWN and the way back are one try.
    const isLedBack = unit.extra?.trail?.avoided === target.key;
    if (isLedBack) trailOf(unit).avoided = null;
    else if (!this.maySpend(unit, node, error)) return true;
    const isAsk = redirect.kind === RedirectKind.Ask;
    if (unit.slot === NO_SLOT) unit.slot = redirect.slot;
    if (!isAsk) this.learn(node, target, redirect.slot);
    if (!isAsk && !retries.mayTravel(unit, target)) {
      trailOf(unit).next = target.address;
      return true;
    }
    const delayMs = isAsk ? 0 : this.options.retryDelayOnMoved;
    if (delayMs > 0 || retries.hasReturned(unit.slot)) {
      if (!isAsk && unit.extra?.trail) unit.extra.trail.next = target.address;
      retries.giveBack(unit, WaitReason.Moved, delayMs);
      if (delayMs === 0) retries.onNews([unit.slot]);
      return true;
    }
    if (target.isDown && target.isLost) {
      this.giveBack(unit, WaitReason.Failover, this.options.retryDelayOnFailover);
      return true;
    }
    const commands = unit.batch instanceof TransactionGroup ? unit.batch.nextRun() : [unit];
    router.sendTo(target, isAsk ? [asking(unit), ...commands] : commands);
    if (!isAsk) retries.travels(unit, target);
    return true;
  }

  /** To whoever serves its slot; when connections are being closed, once they are made anew. */
  private sendOn(node: ClusterNode, unit: Command, error: Error): boolean {
    detach(unit);
    if (this.maySpend(unit, node, error)) this.deps.router.sendAgain([unit]);
    return true;
  }

  /** MOVED changes exactly one slot; the rest is left to a refresh. */
  private learn(node: ClusterNode, target: ClusterNode, slot: number): void {
    const { slots, pool, retries } = this.deps;
    if (target === node) {
      // Something between here and the node answers for it: a fresh connection may lead elsewhere.
      if (!node.isRenewed) pool.renew(node);
    } else if (node.role === "slave" && slots.shardOf(slot)?.master === target) {
      node.avoidedUntilMs = clockMs() + AVOID_MS;
    } else if (slots.shardOf(slot)?.master !== target) {
      const owner = slots.shardOf(slot)?.master ?? null;
      slots.move(slot, target);
      for (const former of new Set([node, owner])) {
        const last = former?.port?.lastGiven() ?? null;
        if (last !== null) retries.keepOrder(slot, last);
      }
      if (owner?.isLost) this.onLostOwner(owner);
    }
    this.deps.onStale(target);
  }

  private leaveReplica(node: ClusterNode, unit: Command, error: Error): boolean {
    node.avoidedUntilMs = clockMs() + AVOID_MS;
    return this.sendOn(node, unit, error);
  }

  private giveBack(unit: Command, reason: WaitReason, delayMs: number): void {
    this.deps.retries.giveBack(unit, reason, grownDelay(delayMs, unit.extra?.trail?.count ?? 1));
  }

  /** The command that stands for all that is left of a transaction, or null when it is listed already. */
  private unitOf(command: Command, error: Error): Command | null {
    const { batch } = command;
    if (!(batch instanceof TransactionGroup)) return command;
    if (batch.closing.isSettled) {
      command.fail(endOf(command, error));
      return null;
    }
    if (batch.isWaiting) return null;
    batch.isWaiting = true;
    return batch.closing;
  }

  private hasOtherOwner(unit: Command, node: ClusterNode): boolean {
    const { router, retries, slots } = this.deps;
    if (!router.takesReturns || unit.slot < 0 || retries.hasReturned(unit.slot)) return false;
    const master = slots.shardOf(unit.slot)?.master;
    return master !== undefined && master !== node && !master.isDown;
  }

  /** Counts a try. False when there is none left: the command has ended. */
  private maySpend(unit: Command, node: ClusterNode, error: Error): boolean {
    const trail = trailOf(unit);
    if (trail.nodes.length < MAX_TRAIL) trail.nodes.push(node.key);
    if (trail.count++ < this.options.maxRedirections) return true;
    const Failure = unit.extra?.mayHaveRun ? RedirectionsOutcomeUnknownError : TooManyRedirectionsError;
    endUnit(unit, () => new Failure(error, trail.nodes));
    return false;
  }
}

function trailOf(unit: Command): RedirectTrail {
  const extra = unit.ensureExtra();
  extra.trail ??= { count: 0, nodes: [], next: null, avoided: null };
  return extra.trail;
}

/** The delay of the options for the first tries, then longer ones: a failover takes its time. */
export function grownDelay(delayMs: number, tries: number): number {
  if (tries <= EVEN_TRIES) return delayMs;
  return Math.max(delayMs, Math.min(delayMs * 2 ** (tries - EVEN_TRIES), LONGEST_DELAY_MS));
}

/** Takes a command out of its automatic batch: it no longer keeps that batch from ending. */
function detach(command: Command): void {
  const { batch } = command;
  if (batch === null || batch.kind !== BatchKind.Automatic) return;
  command.batch = null;
  batch.settleOne();
}

function endUnit(unit: Command, makeError: () => Error): void {
  if (unit.batch instanceof TransactionGroup) {
    for (const command of unit.batch.commands) if (command !== unit) command.fail(makeError());
  }
  unit.fail(makeError());
}

/** ASKING opens an importing slot for exactly the command behind it. */
function asking(unit: Command): Command {
  const command = issuedBy(Origin.Client, new Command(specOf("asking"), [], false, IGNORED));
  if (!(unit.batch instanceof TransactionGroup)) unit.ensureExtra().addHook(new AskingGuard(command));
  return command;
}

/** A command that ends before it is written takes its ASKING with it. */
class AskingGuard implements SettleHook {
  constructor(private readonly asking: Command) {}

  onFulfilled(): void {
    this.withdraw();
  }

  onFailed(): void {
    this.withdraw();
  }

  private withdraw(): void {
    if (this.asking.state <= CommandState.Queued) this.asking.fail(new Error("withdrawn"));
  }
}

/** Somebody waits for its outcome. */
function isAwaited({ origin }: Command): boolean {
  return origin !== Origin.Client && origin !== Origin.StandIn;
}
