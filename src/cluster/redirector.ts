/**
 * Judges what a node gave back: error replies that say "not here" or "not now", and commands whose
 * connection was lost. It learns from them (who owns a slot, which node to leave alone), counts the
 * try against the budget of the command, and hands the command to the retry queue with the delay
 * that its kind of error asks for. It sends nothing itself:
 *
 *   node --> Redirector --> RetryQueue --> ClusterRouter --> node
 *            judges          keeps the       chooses the
 *            and learns      order           node, sends
 *
 * Only commands that were not answered, or answered with "not here" or "not now", are ever sent
 * again. Whatever comes here leaves in the same call: settled, or handed to the retry queue.
 */

import { BatchKind } from "../command/batch";
import { type Command, Origin } from "../command/command";
import type { RedirectTrail } from "../command/command-extra";
import { endingError } from "../command/ending-errors";
import { fateOf } from "../command/fate";
import { NO_SLOT, UNROUTED } from "../command/slot";
import { ConnectionClosedError, WatchLostError } from "../errors";
import { maskName } from "../util/credentials";
import { debugLog } from "../util/debug";
import { clockMs } from "../util/scheduling";
import { RedirectionsOutcomeUnknownError, TooManyRedirectionsError } from "./cluster-errors";
import type { ClusterNode, NodeClient } from "./cluster-node";
import { type ClusterTransaction, transactionOf } from "./cluster-transaction";
import type { NodePool } from "./node-pool";
import { isReplicaRead } from "./read-preference";
import { parseRedirect, type Redirect, RedirectKind, tellRedirected } from "./redirect";
import { type RetryQueue, type Returned, WaitReason } from "./retry-queue";
import type { SlotOwners } from "./slot-owners";

const debug = debugLog("cluster");

export interface RedirectOptions {
  readonly maxRedirections: number;
  readonly retryDelayOnMoved: number;
  readonly retryDelayOnFailover: number;
  readonly retryDelayOnClusterDown: number;
  readonly retryDelayOnTryAgain: number;
}

export interface RedirectorDeps {
  readonly owners: SlotOwners;
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  /** Is told when the slot map is out of date; `hint` knows better. */
  readonly refresher: { request(hint: ClusterNode | null): void };
  /** A node has answered "not here" or "not now" to a command of the slot; null: nobody wants to know. */
  readonly onRedirected: ((slot: number) => void) | null;
}

/** An error reply of a node that asks for another try. */
interface Refusal {
  readonly node: ClusterNode;
  readonly redirect: Redirect;
  readonly error: Error;
}

/** Tries with the delay of the options; after that it doubles, up to `LONGEST_DELAY_MS`. */
const EVEN_TRIES = 4;
/** With 16 tries a command waits 31 s at most: twice the time in which servers notice a failed master by default. */
const LONGEST_DELAY_MS = 3500;
/** A command that one node has lost so often asks another master who owns its slot. */
const LOSSES_BELIEVED = 2;
/** A command that a node has sent away so often waits before it goes there again. */
const TIMES_SENT_AWAY = 2;
const FIRST_AGREEING_MS = 20;
/** A replica that could not serve a read is left alone for this long. */
const AVOID_MS = 1000;
const MAX_TRAIL = 64;

/** The link of its node has ended, and nobody takes it over. */
const ENDED = { kind: "link ended", isWritten: false, isTakenOver: false, isLate: true } as const;

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
    if (command.slot === UNROUTED || command.origin === Origin.Client || !this.isActive) return false;
    const redirect = parseRedirect(error.message, node.address);
    const transaction = transactionOf(command);
    let isTaken = false;
    if (transaction !== null) isTaken = this.onMemberError(transaction, command, { node, redirect, error });
    else if (redirect !== null && !command.isSettled)
      isTaken = this.follow(command, { node, redirect, error });
    if (isTaken) {
      // People write whole lines into a name.
      const name = maskName(command.name, command.args);
      debug("%s of slot %d goes again, %s said: %s", name, command.slot, node.key, error);
    }
    return isTaken;
  }

  /** The link of a node has ended; the commands may go again. */
  takeOver(node: ClusterNode, commands: readonly Command[], error: Error): void {
    const { retryDelayOnFailover } = this.options;
    const isTakenOver = this.isActive && retryDelayOnFailover !== 0;
    const returned: Returned[] = [];
    for (const command of commands) {
      const unit = unitOf(command, error);
      if (unit === null) continue;
      detach(unit);
      const { ending } = fateOf(unit, { ...ENDED, isTakenOver });
      if (ending !== null) endUnit(unit, () => endingError(ending, unit, { makeError: () => error }));
      else if (this.maySpend(unit, node, error)) {
        const mayGoAtOnce = this.hasOtherOwner(unit, node) || this.doubtOwner(unit, node);
        const delayMs = mayGoAtOnce ? 0 : grownDelay(retryDelayOnFailover, triesOf(unit));
        returned.push({ command: unit, reason: WaitReason.Failover, delayMs });
      }
    }
    if (!this.isActive) return;
    this.deps.retries.giveBack(returned, commands, node.client);
    this.deps.refresher.request(null);
  }

  /**
   * A table has told the owners of all slots; these are new. What waits for a connection to a former owner leaves it,
   * also where that is dialled for the first time: as a replica the node would answer reads.
   */
  onNewOwners(moved: readonly number[]): void {
    for (const node of this.deps.pool.list()) this.leadAway(node);
    this.deps.retries.onNewOwners(moved);
  }

  /** A node is dialled again, and nothing may wait for it (`enableOfflineQueue: false`): its commands go elsewhere. */
  onLost(node: ClusterNode): void {
    this.takeWaiting(node, () => true);
  }

  /** Commands of one slot cannot be sent: their node is being redialled, and there is no other to ask. A try each. */
  onUnreachable(node: ClusterNode, commands: readonly Command[]): void {
    const error = new ConnectionClosedError();
    const left = commands.filter((command) => this.maySpend(command, node, error));
    const tries = Math.max(0, ...left.map(triesOf));
    const delayMs = grownDelay(this.options.retryDelayOnFailover || 100, tries);
    this.deps.retries.putBack(left, { reason: WaitReason.Failover, delayMs });
  }

  // --- inside ------------------------------------------------------------------------------

  /** Commands that wait for a connection of the node and whose slot has another owner go to that one. */
  private leadAway(node: ClusterNode): void {
    this.takeWaiting(node, (command) => this.hasOtherOwner(command, node));
  }

  /**
   * Takes over what waits for a connection of the node. Commands that were given to its client and not to the cluster
   * stay; those that nobody waits for (copies, ASKING) end, since the ones that they belong to are told anew.
   */
  private takeWaiting(node: ClusterNode, isWanted: (command: Command) => boolean): void {
    const taken = node.client?.takeWaiting((one) => one.slot !== UNROUTED && isWanted(one)) ?? [];
    const error = new ConnectionClosedError();
    for (const command of taken) if (!isAwaited(command)) command.fail(error);
    const awaited = taken.filter(isAwaited);
    if (awaited.length > 0) this.takeOver(node, awaited, error);
  }

  /** A redirected member discards the transaction: it goes again, whole, once EXEC has said so. */
  private onMemberError(
    transaction: ClusterTransaction,
    command: Command,
    { node, redirect, error }: { node: ClusterNode; redirect: Redirect | null; error: Error },
  ): boolean {
    if (command !== transaction.closing) {
      // Once EXEC is settled the transaction goes nowhere, and nothing would tell what is deferred.
      if (redirect === null || transaction.closing.isSettled) return false;
      transaction.pending ??= { redirect, error };
      transaction.defer(command, error);
      return true;
    }
    const pending = transaction.pending ?? (redirect === null ? null : { redirect, error });
    if (pending === null || command.isSettled) return false;
    if (transaction.isGuarded) {
      // Where it would go, nobody watches the keys.
      command.fail(new WatchLostError());
      return true;
    }
    return this.follow(command, { node, ...pending });
  }

  private follow(unit: Command, refusal: Refusal): boolean {
    (this.counts[refusal.redirect.kind] as number)++;
    tellRedirected(refusal.redirect, refusal.node.key, unit);
    if (unit.slot >= 0) this.deps.onRedirected?.(unit.slot);
    switch (refusal.redirect.kind) {
      case RedirectKind.Moved:
      case RedirectKind.Ask:
        return this.followTo(unit, refusal);
      case RedirectKind.TryAgain:
        detach(unit);
        this.spendAndGiveBack(unit, refusal, {
          reason: WaitReason.TryAgain,
          delayMs: this.options.retryDelayOnTryAgain,
        });
        return true;
      default:
        return this.waitForOwner(unit, refusal);
    }
  }

  /** MOVED and ASK name the node that is to be asked. */
  private followTo(unit: Command, refusal: Refusal): boolean {
    const { node, redirect } = refusal;
    const { owners, pool } = this.deps;
    if (pool.isSealed) {
      // Connections are being closed: to whoever serves its slot, once they are made anew.
      detach(unit);
      this.spendAndGiveBack(unit, refusal, { reason: WaitReason.Moved, delayMs: 0 });
      return true;
    }
    const isNameless = redirect.target === null;
    const target = isNameless ? this.namelessAt(unit, refusal) : owners.nodeAt(redirect.target);
    if (target === null) return isNameless && this.waitForOwner(unit, refusal);
    pool.promote(target);
    detach(unit);
    const isAsk = redirect.kind === RedirectKind.Ask;
    const trail = trailOf(unit);
    const { refusal: reason } = trail;
    if (reason !== null) {
      // The node has not heard the ASKING: the two would send the command to and fro until its tries are used up.
      endUnit(unit, () => reason);
      return true;
    }
    if (unit.slot === NO_SLOT) unit.slot = redirect.slot;
    // The detour around a node that said CLUSTERDOWN or lost the command is one try with the way back, and so is an ASK
    // to a node with the loss that it had there.
    const isWayBack = trail.avoided === target.key;
    if (isWayBack) trail.avoided = null;
    else if (isAsk && target.isDown && !target.isLost) trail.avoided = null;
    else if (!this.maySpend(unit, node, refusal.error, trail)) return true;
    trail.next = { host: target.address.host, port: target.address.port, isAsk };
    const { client } = node;
    if (!isAsk) this.learn(node, target, redirect.slot);
    const times = node === target ? 0 : timesAt(unit, target);
    const mustWait = target.isDown && (target.isLost || isAsk || isWayBack);
    const terms = mustWait ? this.afterLoss(unit) : this.afterMove(isAsk, times);
    this.giveBack(unit, terms, sourceOf(unit, node, client));
    return true;
  }

  /** An ASK has named the port alone: a master of the table that has it, if possible one that was not tried yet. */
  private namelessAt(unit: Command, { node, redirect }: Refusal): ClusterNode | null {
    const { port } = redirect;
    const possible = this.deps.pool.list("master").filter((one) => one !== node && one.address.port === port);
    return possible.find((one) => timesAt(unit, one) === 0) ?? possible[0] ?? null;
  }

  /** @param times How often the node that is named has sent the command away. */
  private afterMove(isAsk: boolean, times: number): Omit<Returned, "command"> {
    const delayMs = isAsk ? 0 : this.options.retryDelayOnMoved;
    return { reason: WaitReason.Moved, delayMs: Math.max(delayMs, agreeingDelay(times)) };
  }

  private afterLoss(unit: Command): Omit<Returned, "command"> {
    const delayMs = grownDelay(this.options.retryDelayOnFailover, triesOf(unit));
    return { reason: WaitReason.Failover, delayMs };
  }

  /** CLUSTERDOWN, a node that cannot serve, an owner without a name: the table has to tell. */
  private waitForOwner(unit: Command, refusal: Refusal): boolean {
    const { node, redirect } = refusal;
    const isDown = redirect.kind === RedirectKind.ClusterDown;
    if (redirect.kind === RedirectKind.Unfit && node.role === "slave" && isReplicaRead(unit)) {
      node.avoidedUntilMs = clockMs() + AVOID_MS;
      detach(unit);
      this.spendAndGiveBack(unit, refusal, { reason: WaitReason.Moved, delayMs: 0 });
      return true;
    }
    if (isDown) {
      node.doubt();
      if (node.role === "slave") node.avoidedUntilMs = clockMs() + AVOID_MS;
    }
    const { retryDelayOnClusterDown } = this.options;
    if (retryDelayOnClusterDown === 0) return false;
    detach(unit);
    if (isDown) trailOf(unit).avoided = node.key;
    this.spendAndGiveBack(unit, refusal, {
      reason: WaitReason.ClusterDown,
      delayMs: retryDelayOnClusterDown,
    });
    this.deps.refresher.request(null);
    return true;
  }

  /** MOVED changes exactly one slot; the rest is left to a refresh. */
  private learn(node: ClusterNode, target: ClusterNode, slot: number): void {
    const { owners, pool } = this.deps;
    const owner = owners.ownerOf(slot);
    if (target === node) {
      // Something between here and the node answers for it: a fresh connection may lead elsewhere.
      if (!node.isRenewed) {
        owners.holdAllOf(node);
        pool.renew(node);
      }
    } else if (node.role === "slave" && owner === target) {
      node.avoidedUntilMs = clockMs() + AVOID_MS;
    } else if (owner !== target) {
      owners.move(slot, target);
      if (owner?.isLost) this.leadAway(owner);
    }
    this.deps.refresher.request(target);
  }

  private spendAndGiveBack(
    unit: Command,
    { node, error }: Refusal,
    { reason, delayMs }: Omit<Returned, "command">,
  ): void {
    if (!this.maySpend(unit, node, error)) return;
    const grownMs = grownDelay(delayMs, triesOf(unit));
    this.giveBack(unit, { reason, delayMs: grownMs }, sourceOf(unit, node, node.client));
  }

  private giveBack(unit: Command, terms: Omit<Returned, "command">, from: NodeClient | null): void {
    this.deps.retries.giveBack([{ command: unit, ...terms }], [unit], from);
  }

  private hasOtherOwner(unit: Command, node: ClusterNode): boolean {
    const { owners, pool } = this.deps;
    const master = unit.slot < 0 || pool.isSealed ? null : owners.ownerOf(unit.slot);
    return master !== null && master !== node && !master.isDown;
  }

  /**
   * The node has lost the command repeatedly, and perhaps no table can be read that names its successor: another master
   * is asked, which answers MOVED. True if there is one.
   */
  private doubtOwner(unit: Command, node: ClusterNode): boolean {
    const { pool } = this.deps;
    if (unit.slot < 0 || pool.isSealed || timesAt(unit, node) < LOSSES_BELIEVED) return false;
    if (pool.otherMaster(node) === null) return false;
    trailOf(unit).avoided = node.key;
    return true;
  }

  /** Counts a try. False when there is none left: the command has ended. */
  private maySpend(unit: Command, node: ClusterNode, error: Error, trail = trailOf(unit)): boolean {
    if (trail.nodes.length < MAX_TRAIL) trail.nodes.push(node.key);
    if (trail.count++ < this.options.maxRedirections) return true;
    const Failure = unit.mayHaveRun ? RedirectionsOutcomeUnknownError : TooManyRedirectionsError;
    endUnit(unit, () => new Failure(error, trail.nodes));
    return false;
  }
}

function trailOf(unit: Command): RedirectTrail {
  return unit.ensureExtra().ensureTrail();
}

function triesOf(unit: Command): number {
  return unit.extra?.trail?.count ?? 1;
}

/** Where more commands of its slot may be. Reads of replicas have no order, so that none is waited for there. */
function sourceOf(unit: Command, node: ClusterNode, client: NodeClient | null): NodeClient | null {
  return node.role === "slave" && isReplicaRead(unit) ? null : client;
}

/** The delay of the options for the first tries, then longer ones: a failover takes its time. */
export function grownDelay(delayMs: number, tries: number): number {
  if (tries <= EVEN_TRIES) return delayMs;
  return Math.max(delayMs, Math.min(delayMs * 2 ** (tries - EVEN_TRIES), LONGEST_DELAY_MS));
}

function timesAt(unit: Command, { key }: ClusterNode): number {
  return unit.extra?.trail?.nodes.filter((tried) => tried === key).length ?? 0;
}

/** Two nodes that name each other need a moment: a command does not spend its tries within a few milliseconds. */
function agreeingDelay(times: number): number {
  return times < TIMES_SENT_AWAY ? 0 : grownDelay(FIRST_AGREEING_MS, times - TIMES_SENT_AWAY + EVEN_TRIES);
}

/** Takes a command out of its automatic batch: it no longer keeps that batch from ending. */
function detach(command: Command): void {
  const { batch } = command;
  if (batch === null || batch.kind !== BatchKind.Automatic) return;
  command.batch = null;
  batch.settleOne();
}

/** The command that stands for all that is left of a transaction, or null when it is listed already. */
function unitOf(command: Command, error: Error): Command | null {
  const transaction = transactionOf(command);
  if (transaction === null) return command;
  if (transaction.closing.isSettled) {
    const { ending } = fateOf(command, ENDED);
    if (ending !== null) command.fail(endingError(ending, command, { makeError: () => error }));
    return null;
  }
  if (transaction.isWaiting) return null;
  transaction.isWaiting = true;
  return transaction.closing;
}

function endUnit(unit: Command, makeError: () => Error): void {
  for (const command of transactionOf(unit)?.commands ?? []) if (command !== unit) command.fail(makeError());
  unit.fail(makeError());
}

/** Somebody waits for its outcome. */
function isAwaited({ origin }: Command): boolean {
  return origin !== Origin.Client && origin !== Origin.Copy;
}
