/**
 * Router, redirector, retry queue, slot owners and node pool together, without a server: random
 * calls and transactions, moves of slots, connections that are lost for good or dialled again, and
 * tables, against a model that knows only one sentence:
 * every call settles once, and the calls of a slot run in the order in which they were made.
 */

import { expect } from "chai";
import fc from "fast-check";
import { type SinonFakeTimers, useFakeTimers } from "sinon";
import { ROUTING_DEFAULTS } from "../../../src/cluster/cluster-defaults";
import type { ClusterNode, NodeClient } from "../../../src/cluster/cluster-node";
import { madeWhole } from "../../../src/cluster/cluster-transaction";
import { NodePool } from "../../../src/cluster/node-pool";
import { Redirector } from "../../../src/cluster/redirector";
import { RetryQueue } from "../../../src/cluster/retry-queue";
import { ClusterRouter } from "../../../src/cluster/router";
import { SlotMap } from "../../../src/cluster/slot-map";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { slotOfKey } from "../../../src/command/slot";
import { ConnectionClosedError, ReplyError } from "../../../src/errors";
import { Ending } from "../../support/ending";
import { fixedRuns } from "../../support/properties";

const NODES = 3;
const KEYS = ["{a}", "{b}", "{c}"];
const TEXT = { protocol: 2, replyMapping: "legacy" } as const;

/** A node: what it was given waits until it is answered. */
class ModelNode {
  given: Command[] = [];
  isAsking = false;
  /** It answers CLUSTERDOWN to everything. */
  isDown = false;
  /** The transaction that is open on the connection. */
  open: { readonly isAsking: boolean; isBroken: boolean; readonly queued: Command[] } | null = null;
  readonly link = {
    isLeaving: false,
    isIdle: true,
    isWritable: true,
    connection: null,
    session: { endedGuards: 0 },
    offline: { length: 0, takeThose: (): Command[] => [] },
    disconnect: (): void => {},
    dispatch: (): void => {},
  };

  readonly client = {
    link: this.link,
    handOn: (): void => {},
    setReadOnly: (): void => {},
    lastOf: (slot: number): Command | null =>
      this.given.findLast((one) => one.slot === slot && !one.isSettled) ?? null,
    youngest: (): Map<number, Command> =>
      new Map(this.given.filter((one) => !one.isSettled).map((one) => [one.slot, one])),
    dispatch: (command: Command): void => this.take([command]),
    dispatchBatch: (commands: readonly Command[]): void => this.take(commands),
  } as unknown as NodeClient;

  private take(commands: readonly Command[]): void {
    for (const command of commands) command.state = CommandState.Sent;
    this.given.push(...commands);
  }
}

class ModelCluster {
  readonly nodes = Array.from({ length: NODES }, () => new ModelNode());
  /** The truth: index of the node that serves a key, and the one that it is on its way to. */
  readonly owner = new Map(KEYS.map((key, index) => [key, index % NODES]));
  readonly importer = new Map<string, number>();
  readonly log = new Map<string, number[]>(KEYS.map((key) => [key, []]));
  /**
   * The slots that a node has refused since one served them, with the last of the commands that were in flight at the
   * first refusal. The node refuses all of these: no client can keep the order if it serves a later one of them.
   */
  private readonly refused = new Map<number, Command | null>();
  readonly calls: { readonly command: Command; readonly ending: Ending }[] = [];
  private readonly slots: SlotMap;
  readonly pool: NodePool;
  private readonly retries: RetryQueue;
  readonly router: ClusterRouter;
  private readonly redirector: Redirector;

  constructor() {
    this.pool = new NodePool(
      {
        makeClient: (node) => this.nodeOf(node).client,
        onClientOpened: () => {},
        onClientClosed: () => {},
        lifecycle: { onEmpty() {} },
      },
      true,
    );
    this.pool.isSealed = false;
    this.retries = new RetryQueue(this);
    const { pool, retries } = this;
    this.slots = new SlotMap(null, { pool, retries, onSlotMoved() {} });
    this.router = new ClusterRouter({
      slots: this.slots,
      pool: this.pool,
      retries: this.retries,
      lifecycle: { admit: () => {} },
      reads: null,
      subscriptions: { dispatch: () => {} },
      followsTips: false,
      fanOut: { plan: () => null },
      refresher: { request: () => {} },
      redirector: {
        onUnreachable: (node, commands) => this.redirector.onUnreachable(node, commands),
        wait: (commands) => this.redirector.wait(commands),
      },
    });
    this.redirector = new Redirector(
      {
        ...ROUTING_DEFAULTS,
        retryDelayOnFailover: 50,
        retryDelayOnClusterDown: 50,
        retryDelayOnTryAgain: 50,
      },
      {
        slots: this.slots,
        pool: this.pool,
        retries: this.retries,
        refresher: { request: () => {}, isDenied: false },
        onRedirected: null,
      },
    );
    this.redirector.isActive = true;
    this.router.isOpen = true;
    this.refresh();
    this.retries.resume();
  }

  call(key: string): void {
    const ending = new Ending();
    const command = new Command(specOf("append"), [key, String(this.calls.length)], false, ending);
    this.calls.push({ command, ending });
    this.router.dispatch(command);
  }

  callTogether(keys: readonly string[]): void {
    const commands = keys.map((key) => {
      const ending = new Ending();
      const command = new Command(specOf("append"), [key, String(this.calls.length)], false, ending);
      this.calls.push({ command, ending });
      return command;
    });
    this.router.dispatchBatch(commands);
  }

  /** MULTI, two calls of one key, EXEC. */
  callAsTransaction(key: string): void {
    const commands = ["multi", "append", "append", "exec"].map((name) => {
      const ending = new Ending();
      const args = name === "append" ? [key, String(this.calls.length)] : [];
      const command = new Command(specOf(name), args, false, ending);
      this.calls.push({ command, ending });
      return command;
    });
    this.router.dispatchBatch(commands);
  }

  /** The oldest command of a node gets its reply. */
  answer(index: number): boolean {
    const node = this.nodes[index] as ModelNode;
    const command = node.given.shift();
    if (command === undefined) return false;
    const { isAsking } = node;
    node.isAsking = command.spec.lowerName === "asking";
    if (node.isAsking && !command.isSettled) command.fulfil("OK", TEXT);
    if (command.isSettled) return true;
    const error = this.run(node, command, index, isAsking);
    if (error !== null && !this.redirector.onReplyError(this.at(index), command, error)) command.fail(error);
    return true;
  }

  /** Answers the command, or tells the error that it is answered with. */
  private run(node: ModelNode, command: Command, index: number, isAsking: boolean): Error | null {
    const { open } = node;
    const name = command.spec.lowerName;
    if (name === "multi") {
      node.open = { isAsking, isBroken: false, queued: [] };
      command.fulfil("OK", TEXT);
      return null;
    }
    if (name === "exec") {
      node.open = null;
      if (open === null) return new ReplyError("ERR EXEC without MULTI");
      if (open.isBroken) {
        // The client learns of the refusal of a member with this reply.
        if (this.refused.has(command.slot)) this.refuseAllInFlight(command.slot, node.given);
        return new ReplyError("EXECABORT Transaction discarded because of previous errors.");
      }
      for (const one of open.queued) this.note(one);
      command.fulfil(
        open.queued.map(() => 1),
        TEXT,
      );
      return null;
    }
    const error = this.refusal(command, index, open?.isAsking ?? isAsking);
    if (error !== null && open !== null) open.isBroken = true;
    if (error !== null) return error;
    if (open === null) this.note(command);
    else open.queued.push(command);
    command.fulfil(open === null ? 1 : "QUEUED", TEXT);
    return null;
  }

  private note({ args, slot }: Command): void {
    this.refused.delete(slot);
    this.log.get(String(args[0]))?.push(Number(args[1]));
  }

  /** The connection is lost, or dialled again; what was not answered was not run either. */
  lose(index: number, isDialledAgain: boolean): void {
    const node = this.nodes[index] as ModelNode;
    const left = node.given.splice(0).filter((one) => !one.isSettled);
    node.isAsking = false;
    node.open = null;
    const isOwn = (one: Command): boolean => this.redirector.takesOver(one);
    for (const one of left) if (!isOwn(one)) one.fail(new ConnectionClosedError());
    const own = left.filter(isOwn);
    if (isDialledAgain) node.given.push(...madeWhole(own));
    else this.redirector.takeOver(this.at(index), own, new ConnectionClosedError());
  }

  /** A move begins, or ends. */
  move(key: string, to: number): void {
    const importer = this.importer.get(key);
    if (importer !== undefined) {
      this.owner.set(key, importer);
      this.importer.delete(key);
    } else if (this.owner.get(key) !== to) this.importer.set(key, to);
  }

  turn(index: number): void {
    const node = this.nodes[index] as ModelNode;
    node.isDown = !node.isDown;
  }

  refresh(): void {
    const ranges = [{ from: 0, to: 0, master: addressOf(0), replicas: [1, 2].map(addressOf) }];
    for (const key of KEYS) {
      const slot = slotOfKey(key);
      ranges.push({ from: slot, to: slot, master: addressOf(this.owner.get(key) ?? 0), replicas: [] });
    }
    const { moved } = this.slots.adopt(ranges);
    this.redirector.onNewOwners(moved);
  }

  giveUp(index: number): void {
    const { command } = this.calls[index % this.calls.length] ?? {};
    if (command?.batch === null) command.fail(new Error("given up"));
  }

  get isIdle(): boolean {
    return this.nodes.every(({ given }) => given.length === 0) && this.retries.size === 0;
  }

  private isDownFor(command: Command, { isDown, given }: ModelNode): boolean {
    const { slot } = command;
    const last = this.refused.get(slot);
    if (last === undefined && isDown) this.refuseAllInFlight(slot, given);
    if (last === undefined || last === null) return isDown;
    if (last === command) this.refused.set(slot, null);
    return isDown || last === command || given.includes(last);
  }

  private refuseAllInFlight(slot: number, given: readonly Command[]): void {
    this.refused.set(slot, given.findLast((one) => one.slot === slot) ?? null);
  }

  private refusal(command: Command, index: number, isAsking: boolean): Error | null {
    const key = String(command.args[0]);
    if (this.isDownFor(command, this.nodes[index] as ModelNode))
      return new ReplyError("CLUSTERDOWN The cluster is down");
    const owner = this.owner.get(key) ?? 0;
    const importer = this.importer.get(key);
    if (owner === index) return importer === undefined ? null : redirect("ASK", command.slot, importer);
    return importer === index && isAsking ? null : redirect("MOVED", command.slot, owner);
  }

  private at(index: number): ClusterNode {
    return this.pool.at(addressOf(index)) as ClusterNode;
  }

  private nodeOf(node: ClusterNode): ModelNode {
    return this.nodes[node.address.port - 7000] as ModelNode;
  }
}

function addressOf(index: number): { host: string; port: number } {
  return { host: "h", port: 7000 + index };
}

function redirect(word: string, slot: number, index: number): Error {
  return new ReplyError(`${word} ${slot} h:${7000 + index}`);
}

type Step = (cluster: ModelCluster, clock: SinonFakeTimers) => void;

const key = fc.constantFrom(...KEYS);
const node = fc.nat(NODES - 1);
const step: fc.Arbitrary<{ readonly name: string; readonly run: Step }> = fc.oneof(
  { weight: 6, arbitrary: key.map((k) => ({ name: `call ${k}`, run: (c: ModelCluster) => c.call(k) })) },
  {
    weight: 2,
    arbitrary: fc
      .array(key, { minLength: 1, maxLength: 5 })
      .map((keys) => ({ name: `batch ${keys.join()}`, run: (c: ModelCluster) => c.callTogether(keys) })),
  },
  {
    weight: 8,
    arbitrary: node.map((n) => ({ name: `answer ${n}`, run: (c: ModelCluster) => void c.answer(n) })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(key, node)
      .map(([k, n]) => ({ name: `move ${k} to ${n}`, run: (c: ModelCluster) => c.move(k, n) })),
  },
  {
    weight: 2,
    arbitrary: key.map((k) => ({
      name: `transaction ${k}`,
      run: (c: ModelCluster) => c.callAsTransaction(k),
    })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(node, fc.boolean()).map(([n, isDialledAgain]) => ({
      name: isDialledAgain ? `dial ${n} again` : `lose ${n}`,
      run: (c: ModelCluster) => c.lose(n, isDialledAgain),
    })),
  },
  {
    weight: 2,
    arbitrary: node.map((n) => ({ name: `down or up ${n}`, run: (c: ModelCluster) => c.turn(n) })),
  },
  { weight: 1, arbitrary: fc.constant({ name: "refresh", run: (c: ModelCluster) => c.refresh() }) },
  {
    weight: 1,
    arbitrary: fc.nat(50).map((n) => ({ name: `give up ${n}`, run: (c: ModelCluster) => c.giveUp(n) })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(1, 20, 60)
      .map((ms) => ({ name: `${ms} ms`, run: (_: ModelCluster, clock: SinonFakeTimers) => clock.tick(ms) })),
  },
);

describe("routing, on a model of a cluster", () => {
  let clock: SinonFakeTimers;

  beforeEach(() => {
    clock = useFakeTimers();
  });
  afterEach(() => clock.restore());

  /** Answers everything, in a time in which no order is given up. */
  function finish(cluster: ModelCluster): void {
    for (const node of cluster.nodes) node.isDown = false;
    for (let round = 0; round < 2000 && !cluster.isIdle; round++) {
      for (let index = 0; index < NODES; index++) while (cluster.answer(index));
      clock.tick(25);
    }
  }

  it("runs the calls of a slot in their order, each once, whatever happens", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const cluster = new ModelCluster();
        let elapsed = 0;
        for (const { name, run } of steps) {
          // A slot is held for a second at most: everything is answered before.
          const ms = Number(/^(\d+) ms$/.exec(name)?.[1] ?? 0);
          if (elapsed + ms > 800) {
            finish(cluster);
            elapsed = 0;
          } else elapsed += ms;
          run(cluster, clock);
        }
        finish(cluster);
        expect(cluster.isIdle, "something is left").to.equal(true);
        for (const { ending } of cluster.calls) expect(ending.times).to.equal(1);
        for (const log of cluster.log.values()) {
          expect(log).to.deep.equal([...log].sort((a, b) => a - b));
          expect(new Set(log).size).to.equal(log.length);
        }
      }),
      fixedRuns(1500),
    );
  });
});
