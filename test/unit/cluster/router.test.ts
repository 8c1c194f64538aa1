/** The router between its parts, without a server: what becomes of commands that no node can take yet. */

import { expect } from "chai";
import { type SinonFakeTimers, useFakeTimers } from "sinon";
import { ClusterNode, type NodeClient } from "../../../src/cluster/cluster-node";
import { NodePool } from "../../../src/cluster/node-pool";
import { RetryQueue } from "../../../src/cluster/retry-queue";
import { ClusterRouter, type FanOutPart, type RouterDeps } from "../../../src/cluster/router";
import { SlotMap } from "../../../src/cluster/slot-map";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { slotOfKey } from "../../../src/command/slot";
import { WatchLostError } from "../../../src/errors";
import type { Link } from "../../../src/link/link";
import { CommandsOfTest, Ending } from "../../support/ending";
import { LONE_SLOTS } from "../../support/lone-slots";

const RETRY_DELAY_MS = 50;

describe("ClusterRouter", () => {
  const commands = new CommandsOfTest();
  let clock: SinonFakeTimers | undefined;
  let pool: NodePool;
  let router: ClusterRouter;
  let nodes: ClusterNode[];
  let slots: SlotMap;
  let retries: RetryQueue;
  let plan: RouterDeps["fanOut"]["plan"];
  let retried: ClusterNode[];
  /** Node and command, in the order of sending. */
  let sent: string[];
  /** The sizes of the batches. */
  let batches: number[];

  beforeEach(() => make(null));

  function make(reads: RouterDeps["reads"]): void {
    clock?.restore();
    clock = useFakeTimers();
    [sent, batches] = [[], []];
    retried = [];
    plan = () => null;
    pool = new NodePool(
      {
        makeClient: ({ address }) => {
          const youngest = new Map<number, Command>();
          const take = (command: Command): void => {
            sent.push(`${address.port} ${command.spec.lowerName}`);
            youngest.set(command.slot, command);
          };
          return {
            link: { isLeaving: false, connection: null, session: { endedGuards: 0 }, disconnect() {} },
            isIdle: true,
            lastOf: (slot: number) => youngest.get(slot) ?? null,
            dispatch: take,
            dispatchBatch: (batch: readonly Command[]) => {
              batches.push(batch.length);
              batch.forEach(take);
            },
          } as unknown as NodeClient;
        },
        onClientOpened() {},
        onClientClosed() {},
        lifecycle: { onEmpty() {} },
      },
      false,
    );
    pool.isSealed = false;
    nodes = [1, 2].map((port) => new ClusterNode({ host: "h", port }));
    pool.setMembers(new Map(nodes.map((node) => [node, "master"])));
    slots = new SlotMap(null, LONE_SLOTS);
    retries = new RetryQueue({
      pool,
      router: { sendAgain: (again) => router.sendAgain(again) },
    });
    const subscriptions = {
      dispatch: ({ spec }: Command) => void sent.push(`subscriptions ${spec.lowerName}`),
    };
    router = new ClusterRouter({
      slots,
      pool,
      retries,
      lifecycle: { admit: (all) => void sent.push(...all.map(({ spec }) => `admitted ${spec.lowerName}`)) },
      reads,
      subscriptions,
      followsTips: true,
      fanOut: { plan: (command) => plan(command) },
      refresher: { request() {} },
      redirector: {
        onUnreachable: (node) => void retried.push(node),
        wait: (waiting) => retries.putBack(waiting, { reason: "not served", delayMs: RETRY_DELAY_MS }),
      },
    });
    router.isOpen = true;
    retries.resume();
  }

  afterEach(() => {
    commands.failAll();
    clock?.restore();
  });

  it("keeps a transaction without keys until a node can be reached, and sends all of it there", () => {
    for (const node of nodes) pool.setLost(node, true);
    router.dispatchBatch(["multi", "ping", "exec"].map((name) => commands.make(name)));
    clock?.tick(3 * RETRY_DELAY_MS);
    expect(sent).to.deep.equal([]);
    pool.setLost(nodes[1] as ClusterNode, false);
    clock?.tick(RETRY_DELAY_MS);
    expect(sent).to.deep.equal(["2 multi", "2 ping", "2 exec"]);
  });

  /** The same command alone, and in a batch behind another one. */
  const WAYS: Record<string, (command: Command) => void> = {
    alone: (command) => router.dispatch(command),
    "in a batch": (command) => router.dispatchBatch([command]),
  };
  for (const [way, dispatch] of Object.entries(WAYS)) {
    describe(`with a command ${way}`, () => {
      function outcomeOf(name: string, ...args: string[]): string | undefined {
        const ending = new Ending();
        const command = new Command(specOf(name), args, false, ending);
        commands.add(command);
        dispatch(command);
        return ending.error?.message;
      }

      beforeEach(() => {
        for (const slot of [slotOfKey("a"), slotOfKey("b")]) slots.move(slot, nodes[0] as ClusterNode);
      });

      it("hands subscriptions to their own connections", () => {
        dispatch(commands.make("subscribe", "news"));
        dispatch(commands.make("sunsubscribe", "news"));
        expect(sent).to.deep.equal(["subscriptions subscribe", "subscriptions sunsubscribe"]);
      });

      it("refuses keys of several slots where a single server would not tell", () => {
        expect(outcomeOf("msetex", "2", "a", "1", "b", "2")).to.match(/^CROSSSLOT/);
        expect(outcomeOf("msetex", "1", "a", "1")).to.equal(undefined);
        expect(sent).to.deep.equal(["1 msetex"]);
      });

      it("refuses a MULTI without its EXEC", () => {
        expect(outcomeOf("multi")).to.match(/transaction/);
        expect(sent).to.deep.equal([]);
      });

      it("remembers where a WATCH went", () => {
        dispatch(commands.make("watch", "a"));
        expect(sent).to.deep.equal(["1 watch"]);
        const elsewhere = { connection: null, session: { endedGuards: 0 } } as unknown as Link;
        expect(router.watches.refusal(slotOfKey("a"), elsewhere)).to.be.instanceOf(WatchLostError);
      });
    });
  }

  it("holds a slot without a known owner until the node that was asked has answered", () => {
    const slot = slotOfKey("c");
    const first = commands.make("get", "c");
    router.dispatch(first);
    expect(retries.isHeld(slot)).to.equal(true);
    router.dispatch(commands.make("set", "c", "1"));
    expect(sent).to.have.length(1);
    first.fulfil("1", { protocol: 2, replyMapping: "legacy" });
    clock?.tick(1);
    expect(sent.map((one) => one.slice(2))).to.deep.equal(["get", "set"]);
  });

  it("sends the parts of a command to their nodes, and parts without one to the owner of their slot", () => {
    const [first, second] = nodes as [ClusterNode, ClusterNode];
    slots.move(slotOfKey("a"), first);
    const parts = (): FanOutPart[] => [
      { command: commands.make("dbsize"), node: second },
      { command: commands.make("get", "a"), node: null },
    ];
    plan = ({ spec }) => (spec.lowerName === "info" ? parts() : null);
    router.dispatch(commands.make("info"));
    expect(sent).to.have.members(["2 dbsize", "1 get"]);
    sent = [];
    router.dispatchBatch([commands.make("set", "a", "1"), commands.make("info")]);
    expect(sent).to.have.members(["1 set", "2 dbsize", "1 get"]);
  });

  it("asks a master that is up for commands that have waited, if their slot has no known owner", () => {
    pool.setLost(nodes[0] as ClusterNode, true);
    const waited = commands.make("get", "c");
    waited.slot = slotOfKey("c");
    router.sendAgain([waited]);
    expect(sent).to.deep.equal(["2 get"]);
    expect(retries.isHeld(waited.slot), "it may be redirected").to.equal(true);
    pool.setLost(nodes[1] as ClusterNode, true);
    const later = commands.make("get", "d");
    later.slot = slotOfKey("d");
    router.sendAgain([later]);
    expect([sent.length, retries.isHeld(later.slot)]).to.deep.equal([1, true]);
  });

  it("hands everything to the lifecycle while the cluster is not open", () => {
    router.isOpen = false;
    router.dispatch(commands.make("get", "a"));
    router.dispatchBatch([commands.make("set", "a", "1"), commands.make("multi")]);
    expect(sent).to.deep.equal(["admitted get", "admitted set", "admitted multi"]);
    expect(router.lastNodes).to.deep.equal([]);
  });

  it("sends commands without keys of a batch to the node of the nearest command with keys", () => {
    const [first, second] = nodes as [ClusterNode, ClusterNode];
    slots.move(slotOfKey("a"), second);
    slots.move(slotOfKey("b"), first);
    const batch = (...calls: string[][]): string[] => {
      sent = [];
      router.dispatchBatch(calls.map(([name = "", ...args]) => commands.make(name, ...args)));
      return sent;
    };
    for (let i = 0; i < 10; i++) {
      expect(batch(["get", "a"], ["ping"])).to.deep.equal(["2 get", "2 ping"]);
      expect(batch(["ping"], ["get", "b"], ["get", "a"])).to.have.members(["1 ping", "1 get", "2 get"]);
      const together = batch(["ping"], ["time"], ["dbsize"]);
      expect(new Set(together.map((one) => one[0])).size, "without any keys").to.equal(1);
    }
    expect(router.lastNodes).to.have.length(1);
    second.isDown = true;
    expect(batch(["ping"], ["get", "a"]), "the owner is down").to.deep.equal(["1 ping"]);
  });

  it("waits for an owner that is down, and for one that is lost asks another master", () => {
    const [first] = nodes as [ClusterNode];
    const slot = slotOfKey("a");
    slots.move(slot, first);
    first.isDown = true;
    router.dispatch(commands.make("get", "a"));
    expect([sent, retries.isHeld(slot)]).to.deep.equal([[], true]);
    pool.setLost(first, true);
    clock?.tick(RETRY_DELAY_MS);
    expect([sent, retried]).to.deep.equal([["2 get"], []]);
    expect(retries.isHeld(slot), "the other master may redirect it").to.equal(true);
  });

  it("gives the commands of a lost owner back if no other master can be asked", () => {
    const [first] = nodes as [ClusterNode];
    slots.move(slotOfKey("a"), first);
    for (const node of nodes) pool.setLost(node, true);
    const waited = commands.make("get", "a");
    waited.slot = slotOfKey("a");
    router.sendAgain([waited]);
    expect([sent, retried]).to.deep.equal([[], [first]]);
  });

  it("refuses a transaction whose WATCH was sent over another connection, and sends the others of the batch", () => {
    slots.move(slotOfKey("a"), nodes[0] as ClusterNode);
    router.dispatch(commands.make("watch", "a"));
    pool.renew(nodes[0] as ClusterNode);
    sent = [];
    const outcomes = ["multi", "set", "exec"].map((name) => {
      const ending = new Ending();
      const command = new Command(specOf(name), name === "set" ? ["a", "1"] : [], false, ending);
      commands.add(command);
      return { command, ending };
    });
    router.dispatchBatch([...outcomes.map(({ command }) => command), commands.make("get", "a")]);
    for (const { ending } of outcomes) expect(ending.error).to.be.instanceOf(WatchLostError);
    expect(sent).to.deep.equal(["1 get"]);
  });

  it("tells every master the fieldsets of HIMPORT", () => {
    const [first, second] = nodes as [ClusterNode, ClusterNode];
    plan = () =>
      [first, second].map((node) => ({ command: commands.make("himport", "prepare", "f", "x"), node }));
    router.dispatch(commands.make("himport", "prepare", "f", "x"));
    expect(sent).to.have.members(["1 himport", "2 himport"]);
    sent = [];
    router.dispatchBatch([commands.make("himport", "prepare", "f", "x")]);
    expect(sent, "in a batch").to.have.lengthOf(1);
  });

  describe("with reads from replicas", () => {
    let choose: () => ClusterNode;

    beforeEach(() => {
      make({ choose: () => choose(), roleFor: () => "slave" });
      slots.move(slotOfKey("a"), nodes[0] as ClusterNode);
    });

    it("sends reads where the choice says, and writes to the master", () => {
      choose = () => nodes[1] as ClusterNode;
      router.dispatch(commands.make("get", "a"));
      router.dispatch(commands.make("set", "a", "1"));
      router.dispatchBatch([commands.make("get", "a"), commands.make("set", "a", "1")]);
      expect(sent).to.have.members(["2 get", "1 set", "2 get", "1 set"]);
    });

    it("reads from the master if the chosen node is down", () => {
      (nodes[1] as ClusterNode).isDown = true;
      choose = () => nodes[1] as ClusterNode;
      router.dispatch(commands.make("get", "a"));
      expect(sent).to.deep.equal(["1 get"]);
    });

    it("fails only the read for which the function of the application throws", () => {
      choose = () => {
        throw new Error("no choice");
      };
      const sentBefore: number[] = [];
      for (const dispatch of [
        (one: Command) => router.dispatch(one),
        (one: Command) => router.dispatchBatch([one, commands.make("set", "a", "1")]),
      ]) {
        const ending = new Ending();
        const { reject } = ending;
        ending.reject = (...how) => {
          sentBefore.push(sent.length);
          reject.apply(ending, how);
        };
        const read = new Command(specOf("get"), ["a"], false, ending);
        commands.add(read);
        dispatch(read);
        expect(ending.error?.message).to.equal("no choice");
      }
      expect(sent).to.deep.equal(["1 set"]);
      expect(sentBefore, "code of its caller runs when all of its batch is sent").to.deep.equal([0, 1]);
    });

    it("asks a node of the role that the reads prefer for a read without keys, and a master for other commands", () => {
      (nodes[1] as ClusterNode).role = "slave";
      choose = () => nodes[1] as ClusterNode;
      for (let i = 0; i < 20; i++)
        for (const name of ["dbsize", "ping"]) router.dispatch(commands.make(name));
      expect(new Set(sent)).to.deep.equal(new Set(["2 dbsize", "1 ping"]));
    });
  });

  it("treats the first slot like the others", () => {
    const key = "k596";
    const slot = slotOfKey(key);
    expect(slot).to.equal(0);
    const first = commands.make("get", key);
    router.dispatch(first);
    expect(retries.isHeld(slot), "its owner is not known").to.equal(true);
    first.fulfil("1", { protocol: 2, replyMapping: "legacy" });
    const [one, other] = nodes as [ClusterNode, ClusterNode];
    slots.move(slot, one);
    slots.move(slotOfKey("a"), other);
    for (let i = 0; i < 20; i++) {
      sent = [];
      router.dispatchBatch([commands.make("get", key), commands.make("ping"), commands.make("get", "a")]);
      expect(sent).to.have.members(["1 get", "1 ping", "2 get"]);
    }
  });

  it("discards a transaction that was given up while it waited, and sends the commands behind it", () => {
    const owner = nodes[0] as ClusterNode;
    slots.move(slotOfKey("a"), owner);
    owner.isDown = true;
    const transaction = [commands.make("multi"), commands.make("set", "a", "1"), commands.make("exec")];
    const behind = commands.make("get", "a");
    router.dispatchBatch([...transaction, behind]);
    expect(sent).to.deep.equal([]);
    transaction[1]?.fail(new Error("timed out"));
    owner.isDown = false;
    clock?.tick(3 * RETRY_DELAY_MS);
    expect(transaction.map(({ isSettled }) => isSettled)).to.deep.equal([true, true, true]);
    expect(sent).to.deep.equal(["1 get"]);
  });

  it("places commands without keys that have waited like new ones, one by one", () => {
    for (const node of nodes) pool.setLost(node, true);
    for (const name of ["ping", "dbsize"]) router.dispatch(commands.make(name));
    expect(sent).to.deep.equal([]);
    pool.setLost(nodes[1] as ClusterNode, false);
    clock?.tick(3 * RETRY_DELAY_MS);
    expect(sent).to.deep.equal(["2 ping", "2 dbsize"]);
  });

  /** A command of slot 0 that has waited; a node has named another one, perhaps with ASK. */
  function waited(name: string, port: number, isAsk: boolean): Command {
    const command = commands.make(name, "k596", ...(name === "set" ? ["1"] : []));
    command.slot = 0;
    if (port > 0) command.ensureExtra().ensureTrail().next = { host: "h", port, isAsk };
    return command;
  }

  it("sends commands to the node that a redirect has named, behind ASKING if it says so", () => {
    const [first, second] = nodes as [ClusterNode, ClusterNode];
    slots.move(0, first);
    const asked = [waited("get", 2, true), waited("set", 2, true)];
    router.sendAgain(asked);
    expect(sent).to.deep.equal(["2 asking", "2 get", "2 asking", "2 set"]);
    expect(retries.isHeld(0), "new commands go to the owner").to.equal(true);
    for (const one of asked) one.fulfil("1", { protocol: 2, replyMapping: "legacy" });
    expect(retries.isHeld(0)).to.equal(false);
    sent = [];
    const named = waited("get", 2, false);
    router.sendAgain([named]);
    expect([sent, retries.isHeld(0)]).to.deep.equal([["2 get"], true]);
    named.fulfil("1", { protocol: 2, replyMapping: "legacy" });
    sent = [];
    router.sendAgain([waited("get", 1, false)]);
    expect([sent, retries.isHeld(0)], "the owner").to.deep.equal([["1 get"], false]);
    sent = [];
    second.isDown = true;
    router.sendAgain([waited("get", 2, false)]);
    expect(sent, "it cannot be reached: the owner").to.deep.equal(["1 get"]);
  });

  it("asks another master than the one that a command avoids", () => {
    const [first] = nodes as [ClusterNode];
    slots.move(0, first);
    const command = waited("get", 0, false);
    command.ensureExtra().ensureTrail().avoided = first.key;
    router.sendAgain([command]);
    expect([sent, retries.isHeld(0)]).to.deep.equal([["2 get"], true]);
  });

  it("keeps a transaction behind the commands for which its slot is held", () => {
    slots.move(0, nodes[0] as ClusterNode);
    const first = waited("get", 2, false);
    router.sendAgain([first]);
    sent = [];
    router.dispatchBatch([commands.make("multi"), commands.make("set", "k596", "1"), commands.make("exec")]);
    expect(sent).to.deep.equal([]);
    first.fulfil("1", { protocol: 2, replyMapping: "legacy" });
    clock?.tick(1);
    expect(sent).to.deep.equal(["1 multi", "1 set", "1 exec"]);
  });

  it("hands single commands on as such, and others as one batch for each node", () => {
    slots.move(0, nodes[0] as ClusterNode);
    slots.move(slotOfKey("a"), nodes[1] as ClusterNode);
    router.dispatch(commands.make("get", "k596"));
    router.dispatch(commands.make("watch", "k596"));
    expect(batches).to.deep.equal([]);
    router.dispatchBatch(
      [
        ["get", "k596"],
        ["get", "a"],
        ["set", "k596", "1"],
      ].map(([name = "", ...args]) => commands.make(name, ...args)),
    );
    expect(batches).to.deep.equal([2, 1]);
    expect(router.lastNodes).to.deep.equal(nodes);
  });

  it("sends reads that have waited to replicas, and transactions to the master", () => {
    make({ choose: () => nodes[1] as ClusterNode, roleFor: () => "slave" });
    slots.move(0, nodes[0] as ClusterNode);
    router.sendAgain([waited("get", 0, false), waited("set", 0, false)]);
    expect(sent).to.have.members(["2 get", "1 set"]);
    sent = [];
    slots.noteLeaving(0, nodes[0] as ClusterNode);
    router.dispatch(commands.make("get", "k596"));
    expect(sent, "a replica does not know which keys have left").to.deep.equal(["1 get"]);
  });
});
