/**
 * Handles error replies of nodes that mean "not here" or "not now", and commands whose connection was
 * lost. It learns from them (the owner of a slot, a node to avoid), counts the attempt against the command's
 * budget, and passes the command to the retry queue with the delay for its kind of error. It sends nothing
 * itself:
 *
 *   node --> Redirector --> RetryQueue --> ClusterRouter --> node
 *            decides,        keeps the       chooses the
 *            learns          order           node, sends
 *
 * A command is sent again only if it was not answered, or answered with "not here" or "not now". Each call
 * settles its commands or passes them to the retry queue before it returns. A *unit* is sent and retried as a
 * whole: a command, or a transaction, represented by its EXEC.
 */

import { BatchKind } from "../command/batch";
import { type Command, Origin, UNROUTED } from "../command/command";
import type { RedirectTrail } from "../command/command-extra";
import { endingError } from "../command/ending-errors";
import { fateOf } from "../command/fate";
import { isReplicaRead } from "../command/replica-read";
import { NO_SLOT } from "../command/slot";
import { ConnectionClosedError, WatchLostError } from "../errors";
import { maskName } from "../util/credentials";
import { debugLog } from "../util/debug";
import { ROUTING_DEFAULTS, type RoutingOptions } from "./cluster-defaults";
import { RedirectionsOutcomeUnknownError, TooManyRedirectionsError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import { type ClusterTransaction, membersOf, type Refusal, transactionOf } from "./cluster-transaction";
import type { NodePool } from "./node-pool";
import { parseRedirect, type RedirectKind, tellRedirected } from "./redirect";
import type { RetryQueue, Returned, WaitReason, WaitTerms } from "./retry-queue";
import type { SlotMap } from "./slot-map";

const debug = debugLog("cluster");

export interface RedirectorDeps {
  readonly slots: SlotMap;
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  readonly refresher: {
    request(hint: ClusterNode | null): void;
    readonly isDenied: boolean;
  };
  /** A node has answered "not here" or "not now" to a command of the slot; null: no listener. */
  readonly onRedirected: ((slot: number) => void) | null;
}

/** Attempts with the delay of the options; after that it doubles, up to `LONGEST_DELAY_MS`. */
const EVEN_TRIES = 4;
/**
 * With 16 attempts a command waits at most 31 s: twice the time in which servers detect a failed master by
 * default.
 */
const LONGEST_DELAY_MS = 3500;
/**
 * After this many losses at one node, a command is sent to another master if no slot table is readable. After
 * this many redirects by one node, a redirect back to it is delayed.
 */
const TIMES_BELIEVED = 2;
const FIRST_AGREEING_MS = 20;
/** The maximum number of nodes in the trail of a command, even if `maxRedirections` allows more. */
const MAX_TRAIL = 64;

/** The link of its node has ended, and no other link takes its commands over. */
const ENDED = { kind: "link ended", isWritten: false, isTakenOver: false, isLate: true } as const;

export class Redirector {
  /** False while the cluster is closing: then no command is sent again. */
  isActive = false;
  readonly counts: Record<RedirectKind, number> = { moved: 0, ask: 0, tryAgain: 0, clusterDown: 0, other: 0 };

  constructor(
    readonly options: RoutingOptions,
    private readonly deps: RedirectorDeps,
  ) {}

  takesOver(command: Command): boolean {
    return this.isActive && command.slot !== UNROUTED && isAwaited(command);
  }

  onReplyError(node: ClusterNode, command: Command, error: Error): boolean {
    if (command.slot === UNROUTED || command.origin === Origin.Client || !this.isActive) return false;
    const redirect = parseRedirect(error.message, node.address);
    const refusal = redirect === null ? null : { node, redirect, error };
    const transaction = transactionOf(command);
    let isTaken = false;
    if (transaction !== null) isTaken = this.onMemberError(transaction, command, refusal);
    else if (refusal !== null && !command.isSettled) isTaken = this.follow(command, refusal);
    if (isTaken) {
      // Users sometimes pass a whole command line as the name.
      const name = maskName(command.name, command.args);
      debug("%s of slot %d goes again, %s said: %s", name, command.slot, node.key, error);
    }
    return isTaken;
  }

  takeOver(node: ClusterNode, commands: readonly Command[], error: Error): void {
    const { retryDelayOnFailover } = this.options;
    const isTakenOver = this.isActive && retryDelayOnFailover !== 0;
    const returned: Returned[] = [];
    for (const command of commands) {
      const unit = claimUnit(command, error);
      if (unit === null) continue;
      detach(unit);
      const { ending } = fateOf(unit, { ...ENDED, isTakenOver });
      if (ending !== null) endUnit(unit, () => endingError(ending, unit, { makeError: () => error }));
      else if (this.spendOrEnd(unit, node, error)) {
        const mayGoAtOnce = this.hasOtherOwner(unit, node) || this.avoidOwner(unit, node);
        const delayMs = mayGoAtOnce ? 0 : grownDelay(retryDelayOnFailover, triesOf(unit));
        returned.push({ command: unit, reason: "not served", delayMs });
      }
    }
    if (!this.isActive) return;
    this.deps.retries.giveBack(returned, commands, node.client);
    this.deps.refresher.request(null);
  }

  /**
   * A table has assigned new owners to these slots. Commands that wait for a connection to a former owner move,
   * even if that connection is the first one: as a replica the node would answer reads.
   */
  onNewOwners(moved: readonly number[]): void {
    for (const node of this.deps.pool.list()) this.leadAway(node);
    this.deps.retries.onNewOwners(moved);
  }

  /**
   * Takes the commands that wait for a connection of the node: all, because they must not wait for it
   * (`enableOfflineQueue: false`), or those whose slot has another owner. Commands given directly to its client
   * stay. Commands without a caller (copies, ASKING) end, because the commands that they serve are built again.
   */
  leadAway(node: ClusterNode, isAll = false): void {
    const offline = node.client?.link.offline;
    const isTaken = (one: Command): boolean =>
      one.slot !== UNROUTED && (isAll || this.hasOtherOwner(one, node));
    const taken = offline?.takeThose(isTaken) ?? [];
    const error = new ConnectionClosedError();
    for (const command of taken) if (!isAwaited(command)) command.fail(error);
    const awaited = taken.filter(isAwaited);
    if (awaited.length > 0) this.takeOver(node, awaited, error);
  }

  /**
   * Commands of one slot cannot be sent: their node is reconnecting, and no other node can be asked. This
   * uses one attempt of each command.
   */
  onUnreachable(node: ClusterNode, commands: readonly Command[]): void {
    const error = new ConnectionClosedError();
    const left = commands.filter((command) => this.spendOrEnd(command, node, error));
    const tries = left.reduce((most, command) => Math.max(most, triesOf(command)), 0);
    this.wait(left, tries);
  }

  /** Commands of one slot, or one without a slot, whose node cannot be reached wait until it is tried again. */
  wait(commands: readonly Command[], tries = 0): void {
    const delayMs = this.options.retryDelayOnFailover || ROUTING_DEFAULTS.retryDelayOnFailover;
    this.deps.retries.putBack(commands, { reason: "not served", delayMs: grownDelay(delayMs, tries) });
  }

  /** A redirected member discards the transaction: all of it is sent again once EXEC has confirmed that. */
  private onMemberError(transaction: ClusterTransaction, command: Command, refusal: Refusal | null): boolean {
    if (command !== transaction.closing) {
      // Once EXEC has settled, the transaction is not sent again, and no later event would report the deferred
      // error.
      if (refusal === null || transaction.closing.isSettled) return false;
      transaction.pending ??= refusal;
      transaction.defer(command, refusal.error);
      return true;
    }
    const pending = transaction.pending ?? refusal;
    if (pending === null || command.isSettled) return false;
    if (transaction.isGuarded) {
      // At the new node the keys are not watched.
      command.fail(new WatchLostError());
      return true;
    }
    return this.follow(command, pending);
  }

  private follow(unit: Command, refusal: Refusal): boolean {
    this.counts[refusal.redirect.kind]++;
    tellRedirected(refusal.redirect, refusal.node.key, unit);
    if (unit.slot >= 0) this.deps.onRedirected?.(unit.slot);
    switch (refusal.redirect.kind) {
      case "moved":
      case "ask":
        return this.followTo(unit, refusal);
      case "tryAgain":
        return this.spendAndGiveBack(unit, refusal, "try again", this.options.retryDelayOnTryAgain);
      default:
        return this.waitForOwner(unit, refusal);
    }
  }

  private followTo(unit: Command, refusal: Refusal): boolean {
    const { node, redirect } = refusal;
    const { pool, slots } = this.deps;
    if (pool.isSealed) {
      // Connections are closing: the command goes to the owner of its slot after the reconnect.
      return this.spendAndGiveBack(unit, refusal, "moved", 0);
    }
    const isNameless = redirect.target === null;
    const target = isNameless ? this.namelessAt(unit, refusal) : slots.nodeAt(redirect.target);
    if (target === null) return isNameless && this.waitForOwner(unit, refusal);
    // Even if the last table says otherwise.
    pool.setRole(target, "master");
    detach(unit);
    const isAsk = redirect.kind === "ask";
    const trail = trailOf(unit);
    const { askingError } = trail;
    if (askingError !== null) {
      // The node has refused the ASKING: the two nodes would redirect the command to each other until its
      // attempts are used up.
      endUnit(unit, () => askingError);
      return true;
    }
    if (unit.slot === NO_SLOT) unit.slot = redirect.slot;
    // A detour around a node that replied CLUSTERDOWN or lost the command counts as one attempt together with
    // the way back. So does an ASK to a node together with the loss there.
    const isWayBack = trail.avoided === target.key;
    const isCounted = isWayBack || (isAsk && target.isDown && !target.isLost);
    if (isCounted) trail.avoided = null;
    else if (!this.spendOrEnd(unit, node, refusal.error)) return true;
    trail.next = { host: target.address.host, port: target.address.port, isAsk };
    const { client } = node;
    if (isAsk) slots.noteLeaving(redirect.slot, node);
    else this.learn(node, target, redirect.slot);
    const { retryDelayOnFailover, retryDelayOnMoved } = this.options;
    const times = node === target ? 0 : timesAt(unit, target);
    const terms: WaitTerms = target.isDown
      ? { reason: "not served", delayMs: grownDelay(retryDelayOnFailover, triesOf(unit)) }
      : { reason: "moved", delayMs: Math.max(isAsk ? 0 : retryDelayOnMoved, agreeingDelay(times)) };
    this.giveBack(unit, terms, node, client);
    return true;
  }

  /** Returns a known master with the port of an ASK that names no host, preferably one that was not tried yet. */
  private namelessAt(unit: Command, { node, redirect }: Refusal): ClusterNode | null {
    const { port } = redirect;
    const possible = this.deps.pool.list("master").filter((one) => one !== node && one.address.port === port);
    return possible.find((one) => timesAt(unit, one) === 0) ?? possible[0] ?? null;
  }

  /** CLUSTERDOWN, a node that cannot serve, or an owner without a name: only a new table names the owner. */
  private waitForOwner(unit: Command, refusal: Refusal): boolean {
    const { node, redirect } = refusal;
    const isDown = redirect.kind === "clusterDown";
    if (redirect.kind === "other" && node.role === "slave" && isReplicaRead(unit)) {
      node.avoid();
      return this.spendAndGiveBack(unit, refusal, "moved", 0);
    }
    if (isDown) {
      node.doubt();
      if (node.role === "slave") node.avoid();
    }
    const { retryDelayOnClusterDown } = this.options;
    if (retryDelayOnClusterDown === 0) return false;
    if (isDown) trailOf(unit).avoided = node.key;
    this.spendAndGiveBack(unit, refusal, "not served", retryDelayOnClusterDown);
    this.deps.refresher.request(null);
    return true;
  }

  /** MOVED changes exactly one slot; a refresh updates the others. */
  private learn(node: ClusterNode, target: ClusterNode, slot: number): void {
    const { pool, slots } = this.deps;
    const owner = slots.ownerOf(slot);
    if (target === node) {
      // A proxy or NAT in between may route to another node: a new connection may reach the right one.
      if (!node.isRenewed) {
        slots.holdAllOf(node);
        pool.renew(node);
      }
    } else if (node.role === "slave" && owner === target) {
      node.avoid();
    } else if (owner !== target) {
      slots.move(slot, target);
      if (owner?.isLost) this.leadAway(owner);
    }
    this.deps.refresher.request(target);
  }

  private spendAndGiveBack(
    unit: Command,
    { node, error }: Refusal,
    reason: WaitReason,
    delayMs: number,
  ): true {
    detach(unit);
    const isLeft = this.spendOrEnd(unit, node, error);
    if (isLeft) this.giveBack(unit, { reason, delayMs: grownDelay(delayMs, triesOf(unit)) }, node);
    return true;
  }

  /** @param client The client of the node when it answered. */
  private giveBack(unit: Command, terms: WaitTerms, node: ClusterNode, client = node.client): void {
    // Reads of replicas have no order, so nothing waits for them.
    const from = node.role === "slave" && isReplicaRead(unit) ? null : client;
    this.deps.retries.giveBack([{ command: unit, ...terms }], [unit], from);
  }

  private hasOtherOwner(unit: Command, node: ClusterNode): boolean {
    const { slots, pool } = this.deps;
    const master = unit.slot < 0 || pool.isSealed ? null : slots.ownerOf(unit.slot);
    return master !== null && master !== node && !master.isDown;
  }

  /**
   * Avoids a node that has lost the command repeatedly, while no readable table names its successor: another
   * master answers MOVED. Returns true if one is available. With a table the command waits instead, because a
   * silent master would keep it for longer than its slot is held.
   */
  private avoidOwner(unit: Command, node: ClusterNode): boolean {
    const { pool, refresher } = this.deps;
    if (!refresher.isDenied || unit.slot < 0 || pool.isSealed) return false;
    if (timesAt(unit, node) < TIMES_BELIEVED) return false;
    if (pool.otherMaster(node) === null) return false;
    trailOf(unit).avoided = node.key;
    return true;
  }

  /** Counts an attempt. If none is left, ends the unit and returns false. */
  private spendOrEnd(unit: Command, node: ClusterNode, error: Error): boolean {
    const trail = trailOf(unit);
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
  return trailOf(unit).count;
}

export function grownDelay(delayMs: number, tries: number): number {
  if (tries <= EVEN_TRIES) return delayMs;
  return Math.max(delayMs, Math.min(delayMs * 2 ** (tries - EVEN_TRIES), LONGEST_DELAY_MS));
}

function timesAt(unit: Command, { key }: ClusterNode): number {
  return unit.extra?.trail?.nodes.filter((tried) => tried === key).length ?? 0;
}

/**
 * Two nodes that redirect to each other need time to agree: a command must not use up its attempts within
 * milliseconds.
 */
function agreeingDelay(times: number): number {
  return times < TIMES_BELIEVED ? 0 : grownDelay(FIRST_AGREEING_MS, times - TIMES_BELIEVED + EVEN_TRIES);
}

function detach(command: Command): void {
  const { batch } = command;
  if (batch === null || batch.kind !== BatchKind.Automatic) return;
  command.batch = null;
  batch.settleOne();
}

/**
 * The unit of a command. Null if the EXEC of its transaction already waits or has settled. If it has settled,
 * the command fails.
 */
function claimUnit(command: Command, error: Error): Command | null {
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
  for (const command of membersOf(unit)) command.fail(makeError());
}

function isAwaited({ origin }: Command): boolean {
  return origin !== Origin.Client && origin !== Origin.Copy;
}
