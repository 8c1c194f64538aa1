/** Commands that a node gives back: which of them go on, stay there, or end. */

import { expect } from "chai";
import { askingFor } from "../../../src/cluster/asking";
import { ROUTING_DEFAULTS, type RoutingOptions } from "../../../src/cluster/cluster-defaults";
import {
  RedirectionsOutcomeUnknownError,
  TooManyRedirectionsError,
} from "../../../src/cluster/cluster-errors";
import { ClusterNode } from "../../../src/cluster/cluster-node";
import { type ClusterTransaction, makeTransaction } from "../../../src/cluster/cluster-transaction";
import { Redirector, type RedirectorDeps } from "../../../src/cluster/redirector";
import type { Returned } from "../../../src/cluster/retry-queue";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ConnectionClosedError, ReplyError, WatchLostError } from "../../../src/errors";
import { OfflineQueue } from "../../../src/link/offline-queue";
import { CommandsOfTest, Ending } from "../../support/ending";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;

describe("Redirector", () => {
  const made = new CommandsOfTest();
  const command = made.make.bind(made);
  let returned: Command[];
  let delaysMs: number[];
  let moved: string[];
  let isSealed: boolean;
  let renewed: string[];
  let told: number[];
  let putBack: { commands: readonly Command[]; delayMs: number }[];
  let options: RoutingOptions;
  let node: ClusterNode;
  let waiting: OfflineQueue;
  let other: ClusterNode;
  /** The owner of every slot. */
  let owner: ClusterNode;
  let isDenied: boolean;
  /** How often a table was asked for. */
  let tables: number;
  let redirector: Redirector;

  beforeEach(() => {
    returned = [];
    delaysMs = [];
    moved = [];
    isSealed = false;
    renewed = [];
    told = [];
    putBack = [];
    isDenied = false;
    tables = 0;
    waiting = new OfflineQueue();
    node = new ClusterNode({ host: "h", port: 1 });
    other = new ClusterNode({ host: "h", port: 2 });
    owner = other;
    node.client = { link: { offline: waiting } } as never;
    options = ROUTING_DEFAULTS;
    redirector = new Redirector(
      {
        ...options,
        get maxRedirections() {
          return options.maxRedirections;
        },
        get retryDelayOnClusterDown() {
          return options.retryDelayOnClusterDown;
        },
        get retryDelayOnFailover() {
          return options.retryDelayOnFailover;
        },
      },
      {
        slots: {
          ownerOf: () => owner,
          noteLeaving() {},
          nodeAt: ({ port }: { port: number }) => (port === 1 ? node : other),
          holdAllOf: ({ key }: ClusterNode) => void renewed.push(`hold ${key}`),
          move: (slot: number, target: ClusterNode) => {
            moved.push(`${slot} ${target.key}`);
            owner = target;
          },
        },
        pool: {
          get isSealed() {
            return isSealed;
          },
          list: () => [node, other],
          otherMaster: () => other,
          setRole: ({ key }: ClusterNode, role: string) => void renewed.push(`${key} is a ${role}`),
          renew: ({ key }: ClusterNode) => void renewed.push(`renew ${key}`),
        },
        retries: {
          giveBack: (back: readonly Returned[]) => {
            returned.push(...back.map((one) => one.command));
            delaysMs.push(...back.map((one) => one.delayMs));
          },
          onNewOwners: (slots: readonly number[]) => void told.push(...slots),
          putBack: (commands: readonly Command[], { delayMs }: { delayMs: number }) =>
            void putBack.push({ commands, delayMs }),
        },
        refresher: {
          request: () => tables++,
          get isDenied() {
            return isDenied;
          },
        },
        onRedirected: (slot: number) => void told.push(slot),
      } as unknown as RedirectorDeps,
    );
    redirector.isActive = true;
  });
  afterEach(() => made.failAll());

  /** A transaction whose MULTI was answered at another node, as it waits here. */
  function secondRun(): { readonly transaction: ClusterTransaction; readonly run: readonly Command[] } {
    const commands = [command("multi"), command("set", "a", "1"), command("exec")];
    const transaction = makeTransaction(commands) as ClusterTransaction;
    commands[0]?.fulfil("OK", TEXT);
    const run = transaction.nextRun();
    for (const one of run) waiting.push(one);
    return { transaction, run };
  }

  const WAYS_OUT = {
    "because its slots have other owners": (): void => redirector.onNewOwners([]),
    "because its connection was lost": (): void => redirector.leadAway(node, true),
  };

  for (const [why, leave] of Object.entries(WAYS_OUT)) {
    describe(`when commands leave a node ${why}`, () => {
      it("ends the copies of a transaction, whose next run has its own", () => {
        const { transaction, run } = secondRun();
        const [copy, member] = run as [Command, Command, Command];
        leave();
        expect(returned).to.deep.equal([transaction.closing]);
        expect([copy.isSettled, member.isSettled, waiting.length]).to.deep.equal([true, false, 0]);
      });

      it("ends the ASKING of a command that leaves", () => {
        const asked = command("get", "a");
        asked.slot = 0;
        const asking = askingFor(asked);
        for (const one of [asking, asked]) waiting.push(one);
        leave();
        expect(returned).to.deep.equal([asked]);
        expect([asking.isSettled, waiting.length]).to.deep.equal([true, 0]);
      });

      it("leaves it what was given to its own client", () => {
        const own = command("dbsize");
        const routed = command("get", "a");
        routed.slot = 0;
        for (const one of [own, routed]) waiting.push(one);
        leave();
        expect(returned).to.deep.equal([routed]);
        expect(waiting.pending()).to.deep.equal([own]);
      });
    });
  }

  it("defers no error of a member once EXEC has been given up, since nothing would tell it any more", () => {
    const { transaction, run } = secondRun();
    const [copy] = run as [Command];
    transaction.closing.fail(new Error("timed out"));
    const error = new ReplyError("LOADING Redis is loading the dataset in memory");
    expect(redirector.onReplyError(node, copy, error)).to.equal(false);
    copy.fail(error);
  });

  it("sends a transaction again once EXEC has told that a redirected member ended it", () => {
    const commands = [command("multi"), command("set", "a", "1"), command("exec")];
    const [multi, set, exec] = commands as [Command, Command, Command];
    makeTransaction(commands);
    multi.fulfil("OK", TEXT);
    expect(redirector.onReplyError(node, set, new ReplyError(`MOVED ${set.slot} h:2`))).to.equal(true);
    expect([set.isSettled, returned]).to.deep.equal([false, []]);
    const aborted = new ReplyError("EXECABORT Transaction discarded because of previous errors.");
    expect(redirector.onReplyError(node, exec, aborted)).to.equal(true);
    expect([set.isSettled, exec.isSettled, returned]).to.deep.equal([false, false, [exec]]);
  });

  it("leaves an EXEC with its error if no member was redirected", () => {
    const commands = [command("multi"), command("set", "a", "1"), command("exec")];
    const [, , exec] = commands as [Command, Command, Command];
    makeTransaction(commands);
    const aborted = new ReplyError("EXECABORT Transaction discarded because of previous errors.");
    expect(redirector.onReplyError(node, exec, aborted)).to.equal(false);
    expect(returned).to.deep.equal([]);
  });

  it("learns the owner of a slot from MOVED if the table names another one", () => {
    const one = command("get", "a");
    one.slot = 0;
    redirector.onReplyError(node, one, new ReplyError("MOVED 0 h:2"));
    expect(moved, "as the table says").to.deep.equal([]);
    redirector.onReplyError(other, one, new ReplyError("MOVED 0 h:1"));
    expect(moved).to.deep.equal([`0 ${node.key}`]);
    redirector.onReplyError(node, one, new ReplyError("ASK 0 h:2"));
    expect(moved, "ASK is about one command").to.have.length(1);
  });

  const UNFIT = "LOADING Redis is loading the dataset in memory";

  it("asks another node for a read at once that a replica cannot serve, and lets a master some time", () => {
    const [read, other] = [command("get", "a"), command("get", "a")];
    for (const one of [read, other]) one.slot = 0;
    node.role = "slave";
    expect(node.takesReads).to.equal(true);
    expect(redirector.onReplyError(node, read, new ReplyError(UNFIT))).to.equal(true);
    expect([node.takesReads, delaysMs]).to.deep.equal([false, [0]]);
    node.role = "master";
    node.avoidedUntilMs = 0;
    redirector.onReplyError(node, other, new ReplyError(UNFIT));
    expect([node.takesReads, delaysMs]).to.deep.equal([true, [0, 100]]);
  });

  it("counts what nodes have answered, by kind", () => {
    const one = command("get", "a");
    one.slot = 0;
    for (const said of ["MOVED 0 h:2", "ASK 0 h:2", "TRYAGAIN later", "CLUSTERDOWN no", UNFIT])
      redirector.onReplyError(node, one, new ReplyError(said));
    expect(redirector.counts).to.deep.equal({ moved: 1, ask: 1, tryAgain: 1, clusterDown: 1, other: 1 });
  });

  it("takes a redirected command out of its automatic batch, which does not wait for it", () => {
    for (const message of ["MOVED 0 h:2", UNFIT]) {
      const [one, stays] = [command("get", "a"), command("get", "b")];
      const batch = new Batch(BatchKind.Automatic, 0, null);
      for (const member of [one, stays]) {
        batch.add(member);
        member.slot = 0;
      }
      redirector.onReplyError(node, one, new ReplyError(message));
      expect([one.batch, stays.batch, batch.left], message).to.deep.equal([null, batch, 1]);
    }
  });

  it("keeps a redirected command without a delay while the connections are closing", () => {
    isSealed = true;
    const one = command("get", "a");
    one.slot = 0;
    expect(redirector.onReplyError(node, one, new ReplyError("MOVED 0 h:2"))).to.equal(true);
    expect([returned, delaysMs, moved]).to.deep.equal([[one], [0], []]);
  });

  it("ends every command of a transaction that has used up its attempts", () => {
    const commands = [command("multi"), command("set", "a", "1"), command("exec")];
    makeTransaction(commands);
    for (let i = 0; i <= 16; i++) {
      expect(commands.map(({ isSettled }) => isSettled)).to.deep.equal([false, false, false]);
      redirector.takeOver(node, commands, new ConnectionClosedError());
      (commands[2]?.batch as ClusterTransaction).isWaiting = false;
    }
    expect(commands.map(({ isSettled }) => isSettled)).to.deep.equal([true, true, true]);
    expect(returned).to.have.length(16);
  });

  it("counts the detour around a node that said CLUSTERDOWN, and the way back to it, as one try", () => {
    const one = command("get", "a");
    one.slot = 0;
    const triesAfter = (from: ClusterNode, message: string): number | undefined => {
      expect(redirector.onReplyError(from, one, new ReplyError(message)), message).to.equal(true);
      return one.extra?.trail?.count;
    };
    expect(triesAfter(node, "CLUSTERDOWN The cluster is down")).to.equal(1);
    expect(one.extra?.trail?.avoided).to.equal(node.key);
    expect(triesAfter(other, "MOVED 0 h:1")).to.equal(1);
    expect(one.extra?.trail?.avoided).to.equal(null);
    expect(triesAfter(other, "MOVED 0 h:1"), "no detour").to.equal(2);
    expect(triesAfter(node, "MOVED 0 h:2")).to.equal(3);
  });

  it("leads a command around a node that loses it only while the nodes refuse the table", () => {
    const avoidedAfterLosses = (): string | null | undefined => {
      const one = command("get", "a");
      one.slot = 0;
      for (let losses = 0; losses < 3; losses++)
        redirector.takeOver(node, [one], new ConnectionClosedError());
      return one.extra?.trail?.avoided;
    };
    other.isDown = true;
    expect(avoidedAfterLosses(), "with a table").to.equal(null);
    expect(delaysMs).to.deep.equal([100, 100, 100]);
    isDenied = true;
    delaysMs = [];
    expect(avoidedAfterLosses(), "without a table").to.equal(node.key);
    expect(delaysMs, "after the second loss another node is asked at once").to.deep.equal([100, 0, 0]);
  });

  it("tells which slots nodes have redirected", () => {
    const [one, none] = [command("get", "a"), command("ping")];
    [one.slot, none.slot] = [0, -1];
    for (const unit of [one, none]) redirector.onReplyError(node, unit, new ReplyError("TRYAGAIN later"));
    expect(told).to.deep.equal([0]);
  });

  it("takes nothing while the cluster is closing, and nothing that its link or another user has sent itself", () => {
    const moved = new ReplyError("MOVED 0 h:2");
    const [routed, direct, own] = [command("get", "a"), command("get", "a"), command("get", "a")];
    [routed.slot, own.slot] = [0, 0];
    own.origin = Origin.Client;
    expect(redirector.onReplyError(node, direct, moved), "not routed").to.equal(false);
    expect(redirector.onReplyError(node, own, moved), "of the client").to.equal(false);
    redirector.isActive = false;
    expect(redirector.onReplyError(node, routed, moved), "closing").to.equal(false);
    expect(returned).to.deep.equal([]);
  });

  it("refuses a redirected transaction under a WATCH: nothing is watched at the other node", () => {
    const ending = new Ending();
    const exec = new Command(specOf("exec"), [], false, ending);
    made.add(exec);
    const commands = [command("multi"), command("set", "a", "1"), exec];
    (makeTransaction(commands) as ClusterTransaction).isGuarded = true;
    expect(redirector.onReplyError(node, commands[1] as Command, new ReplyError("MOVED 0 h:2"))).to.equal(
      true,
    );
    expect(redirector.onReplyError(node, exec, new ReplyError("EXECABORT discarded"))).to.equal(true);
    expect(ending.error).to.be.instanceOf(WatchLostError);
    expect(returned).to.deep.equal([]);
  });

  it("connects anew, once, to a node that redirects to itself: a proxy may lead elsewhere then", () => {
    const one = command("get", "a");
    one.slot = 0;
    redirector.onReplyError(node, one, new ReplyError("MOVED 0 h:1"));
    const promoted = `${node.key} is a master`;
    expect(renewed).to.deep.equal([promoted, `hold ${node.key}`, `renew ${node.key}`]);
    node.isRenewed = true;
    redirector.onReplyError(node, one, new ReplyError("MOVED 0 h:1"));
    expect(renewed.slice(3)).to.deep.equal([promoted]);
    expect(moved).to.deep.equal([]);
  });

  it("asks the masters with the port that an ASK without a host names, one after the other", () => {
    const third = new ClusterNode({ host: "i", port: 2 });
    const nodes = [node, other, third];
    (redirector as unknown as { deps: { pool: { list(): ClusterNode[] } } }).deps.pool.list = () => nodes;
    const one = command("get", "a");
    one.slot = 0;
    const asked: (string | undefined)[] = [];
    for (const from of [node, other]) {
      redirector.onReplyError(from, one, new ReplyError("ASK 0 ?:2"));
      asked.push(one.extra?.trail?.next?.host);
    }
    expect(asked).to.deep.equal(["h", "i"]);
    expect(one.extra?.trail?.next?.isAsk).to.equal(true);
  });

  it("waits at a named node that cannot be reached, longer with each attempt", () => {
    const one = command("get", "a");
    one.slot = 0;
    other.isDown = true;
    other.isLost = true;
    for (let i = 0; i < 6; i++) redirector.onReplyError(node, one, new ReplyError("MOVED 0 h:2"));
    expect(delaysMs).to.deep.equal([100, 100, 100, 100, 200, 400]);
  });

  it("gives two nodes that name each other time to agree", () => {
    const one = command("get", "a");
    one.slot = 0;
    for (let i = 0; i < 4; i++) {
      redirector.onReplyError(node, one, new ReplyError("MOVED 0 h:2"));
      redirector.onReplyError(other, one, new ReplyError("MOVED 0 h:1"));
    }
    expect(delaysMs[0]).to.equal(0);
    expect(delaysMs.at(-1)).to.be.above(0);
    expect(delaysMs).to.deep.equal([...delaysMs].sort((a, b) => a - b));
  });

  it("fails a command that the cluster does not serve if the option says so", () => {
    options = { ...options, retryDelayOnClusterDown: 0 };
    const one = command("get", "a");
    one.slot = 0;
    expect(redirector.onReplyError(node, one, new ReplyError("CLUSTERDOWN The cluster is down"))).to.equal(
      false,
    );
    expect([returned, node.isDoubted]).to.deep.equal([[], true]);
  });

  it("reads from other nodes for a while when a replica is without a cluster", () => {
    const one = command("get", "a");
    one.slot = 0;
    node.role = "slave";
    redirector.onReplyError(node, one, new ReplyError("CLUSTERDOWN The cluster is down"));
    expect(node.takesReads).to.equal(false);
  });

  it("counts an attempt for each command of a slot that no node can take, and puts those back that have more", () => {
    const [fresh, spent] = [command("get", "a"), command("get", "b")];
    for (const one of [fresh, spent]) one.slot = 0;
    spent.ensureExtra().ensureTrail().count = options.maxRedirections;
    redirector.onUnreachable(node, [fresh, spent]);
    expect([fresh.isSettled, spent.isSettled]).to.deep.equal([false, true]);
    expect(putBack).to.deep.equal([{ commands: [fresh], delayMs: 100 }]);
    expect(fresh.extra?.trail?.count).to.equal(1);
  });

  it("sends lost commands to another owner at once, and not while the connections are closing", () => {
    const delayAfterLoss = (slot: number): number | undefined => {
      const one = command("get", "a");
      one.slot = slot;
      redirector.takeOver(node, [one], new ConnectionClosedError());
      return delaysMs.at(-1);
    };
    expect([delayAfterLoss(0), delayAfterLoss(-1)]).to.deep.equal([0, 100]);
    isSealed = true;
    expect(delayAfterLoss(0)).to.equal(100);
  });

  function routed(slot = 0): Command {
    const one = command("get", "a");
    one.slot = slot;
    return one;
  }

  it("takes over what a caller of the cluster waits for, until the cluster is closing", () => {
    const [one, direct, own] = [routed(), command("get", "a"), routed()];
    own.origin = Origin.Client;
    const all = [one, direct, own];
    expect(all.map((unit) => redirector.takesOver(unit))).to.deep.equal([true, false, false]);
    redirector.isActive = false;
    expect(all.map((unit) => redirector.takesOver(unit))).to.deep.equal([false, false, false]);
  });

  it("fails lost commands if the option says that no other master will follow", () => {
    options = { ...options, retryDelayOnFailover: 0 };
    const one = routed();
    const loss = new ConnectionClosedError();
    redirector.takeOver(node, [one], loss);
    expect((one.completion as Ending).error).to.be.instanceOf(ConnectionClosedError);
    expect(returned).to.deep.equal([]);
  });

  it("tries an unreachable node again after the delay of the option, or after a default instead of at once", () => {
    for (const retryDelayOnFailover of [70, 0]) {
      options = { ...options, retryDelayOnFailover };
      redirector.wait([routed()]);
    }
    const { retryDelayOnFailover } = ROUTING_DEFAULTS;
    expect(putBack.map(({ delayMs }) => delayMs)).to.deep.equal([70, retryDelayOnFailover]);
  });

  it("ends a command whose ASKING the named node has ignored", () => {
    const one = routed();
    const ignored = new ReplyError("ERR unknown command 'ASKING'");
    one.ensureExtra().ensureTrail().askingError = ignored;
    expect(redirector.onReplyError(node, one, new ReplyError("MOVED 0 h:2"))).to.equal(true);
    expect((one.completion as Ending).error).to.equal(ignored);
    expect(returned).to.deep.equal([]);
  });

  it("bounds the nodes that a command remembers, if it may be redirected very often", () => {
    options = { ...options, maxRedirections: Number.POSITIVE_INFINITY };
    const one = routed();
    for (let time = 0; time < 200; time++)
      redirector.onReplyError(node, one, new ReplyError("CLUSTERDOWN Hash slot not served"));
    const trail = one.ensureExtra().ensureTrail();
    expect([trail.count, trail.nodes.length]).to.deep.equal([200, 64]);
  });

  it("learns the slot of a command without known keys from its redirect", () => {
    const one = routed(-1);
    redirector.onReplyError(node, one, new ReplyError("MOVED 9 h:2"));
    expect([one.slot, returned]).to.deep.equal([9, [one]]);
  });

  it("counts an ASK to a lost connection, and the loss there, as one try", () => {
    const triesAndDelay = (): unknown[] => {
      const one = routed();
      redirector.onReplyError(node, one, new ReplyError("ASK 0 h:2"));
      return [one.extra?.trail?.count, delaysMs.at(-1)];
    };
    expect(triesAndDelay()).to.deep.equal([1, 0]);
    other.isDown = true;
    expect(triesAndDelay(), "its loss is about to be counted").to.deep.equal([0, 100]);
    other.isLost = true;
    expect(triesAndDelay(), "its loss was counted").to.deep.equal([1, 100]);
  });

  it("waits before it returns to a node that cannot be reached since the detour around it", () => {
    const delayBack = (): number | undefined => {
      const one = routed();
      redirector.onReplyError(node, one, new ReplyError("CLUSTERDOWN The cluster is down"));
      redirector.onReplyError(other, one, new ReplyError("MOVED 0 h:1"));
      return delaysMs.at(-1);
    };
    expect(delayBack()).to.equal(0);
    node.isDown = true;
    expect(delayBack()).to.equal(100);
  });

  it("reads from other nodes for a while when a replica does not serve the slot, as the table says", () => {
    node.role = "slave";
    redirector.onReplyError(node, routed(), new ReplyError("MOVED 0 h:2"));
    expect([node.takesReads, moved]).to.deep.equal([false, []]);
    const third = new ClusterNode({ host: "h", port: 3 });
    third.role = "slave";
    redirector.onReplyError(third, routed(), new ReplyError("MOVED 0 h:1"));
    expect([third.takesReads, moved], "the table is stale").to.deep.equal([true, [`0 ${node.key}`]]);
  });

  it("leads the commands that wait for a lost owner to the new one", () => {
    const third = new ClusterNode({ host: "h", port: 3 });
    for (const isLost of [false, true]) {
      const [asking, waits] = [routed(), routed()];
      owner = other;
      other.isLost = isLost;
      other.client = node.client;
      waiting.push(waits);
      redirector.onReplyError(third, asking, new ReplyError("MOVED 0 h:1"));
      expect([moved.length, returned.includes(waits)]).to.deep.equal([isLost ? 2 : 1, isLost]);
      for (const one of waiting.takeAll()) one.fail(new Error("the test is over"));
    }
  });

  it("asks a nameless node again if no other master has its port, and waits if none has it", () => {
    const one = routed();
    one.ensureExtra().ensureTrail().nodes.push(other.key);
    redirector.onReplyError(node, one, new ReplyError("ASK 0 ?:2"));
    expect([one.extra?.trail?.next?.port, delaysMs]).to.deep.equal([2, [0]]);
    redirector.onReplyError(node, one, new ReplyError("ASK 0 ?:5"));
    expect([returned, delaysMs]).to.deep.equal([
      [one, one],
      [0, 100],
    ]);
  });

  it("stays with a node that loses a command if no other master is known", () => {
    isDenied = true;
    (redirector as unknown as { deps: { pool: { otherMaster(): null } } }).deps.pool.otherMaster = () => null;
    owner = node;
    const one = routed();
    for (let losses = 0; losses < 3; losses++) redirector.takeOver(node, [one], new ConnectionClosedError());
    expect([one.extra?.trail?.avoided, delaysMs]).to.deep.equal([null, [100, 100, 100]]);
  });

  it("leaves a command with an error that is about the command itself", () => {
    const one = routed();
    expect(redirector.onReplyError(node, one, new ReplyError("WRONGTYPE wrong kind of value"))).to.equal(
      false,
    );
    expect([one.isSettled, returned, tables]).to.deep.equal([false, [], 0]);
  });

  it("leaves a redirected command that has ended for its caller", () => {
    const one = routed();
    one.fail(new Error("timed out"));
    expect(redirector.onReplyError(node, one, new ReplyError("MOVED 0 h:2"))).to.equal(false);
    expect(returned).to.deep.equal([]);
  });

  it("uses a node as a master that another one names, also before the next table", () => {
    redirector.onReplyError(node, routed(), new ReplyError("MOVED 0 h:2"));
    expect(renewed).to.deep.equal([`${other.key} is a master`]);
    expect(tables).to.equal(1);
  });

  it("asks for a table when commands come back, and tells the waiting ones which slots have moved", () => {
    redirector.onNewOwners([3, 4]);
    expect([told, tables]).to.deep.equal([[3, 4], 0]);
    waiting.push(routed());
    redirector.onNewOwners([]);
    expect([returned.length, tables]).to.deep.equal([1, 1]);
  });

  it("tells with the error of the last attempt whether the command may have run", () => {
    for (const mayHaveRun of [false, true]) {
      const one = routed();
      one.mayHaveRun = mayHaveRun;
      one.ensureExtra().ensureTrail().count = options.maxRedirections;
      redirector.takeOver(node, [one], new ConnectionClosedError());
      const { error } = one.completion as Ending;
      expect(error).to.be.instanceOf(mayHaveRun ? RedirectionsOutcomeUnknownError : TooManyRedirectionsError);
    }
  });

  it("ends the members of a transaction whose EXEC has ended, with the loss", () => {
    const commands = [command("multi"), command("set", "a", "1"), command("exec")];
    makeTransaction(commands);
    commands[2]?.fail(new Error("timed out"));
    redirector.takeOver(node, commands, new ConnectionClosedError());
    expect(commands.map(({ isSettled }) => isSettled)).to.deep.equal([true, true, true]);
    expect(returned).to.deep.equal([]);
  });
});
