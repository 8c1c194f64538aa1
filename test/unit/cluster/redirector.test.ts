/** Commands that a node gives back: which of them go on, stay there, or end. */

import { expect } from "chai";
import { askingFor } from "../../../src/cluster/asking";
import { ClusterNode } from "../../../src/cluster/cluster-node";
import { type ClusterTransaction, makeTransaction } from "../../../src/cluster/cluster-transaction";
import { Redirector, type RedirectorDeps } from "../../../src/cluster/redirector";
import type { Returned } from "../../../src/cluster/retry-queue";
import type { Command } from "../../../src/command/command";
import { ConnectionClosedError, ReplyError } from "../../../src/errors";
import { OfflineQueue } from "../../../src/link/offline-queue";
import { CommandsOfTest } from "../../support/ending";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;

describe("Redirector", () => {
  const made = new CommandsOfTest();
  const command = made.make.bind(made);
  let returned: Command[];
  let node: ClusterNode;
  let waiting: OfflineQueue;
  let other: ClusterNode;
  let isDenied: boolean;
  let redirector: Redirector;

  beforeEach(() => {
    returned = [];
    isDenied = false;
    waiting = new OfflineQueue();
    node = new ClusterNode({ host: "h", port: 1 });
    other = new ClusterNode({ host: "h", port: 2 });
    node.client = {
      takeWaiting: (isWanted: (one: Command) => boolean) => waiting.takeThose(isWanted),
    } as never;
    redirector = new Redirector(
      {
        maxRedirections: 16,
        retryDelayOnMoved: 0,
        retryDelayOnFailover: 100,
        retryDelayOnClusterDown: 100,
        retryDelayOnTryAgain: 100,
      },
      {
        slots: { ownerOf: () => other },
        owners: {
          nodeAt: ({ port }: { port: number }) => (port === 1 ? node : other),
          move() {},
        },
        pool: { isSealed: false, list: () => [node], otherMaster: () => other, promote() {} },
        retries: {
          giveBack: (back: readonly Returned[]) => void returned.push(...back.map((one) => one.command)),
          onNewOwners: () => {},
        },
        refresher: {
          request() {},
          get isDenied() {
            return isDenied;
          },
        },
        onRedirected: null,
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
    "because its connection was lost": (): void => redirector.onLost(node),
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
        asked.slot = 7;
        const asking = askingFor(asked);
        for (const one of [asking, asked]) waiting.push(one);
        leave();
        expect(returned).to.deep.equal([asked]);
        expect([asking.isSettled, waiting.length]).to.deep.equal([true, 0]);
      });

      it("leaves it what was given to its own client", () => {
        const own = command("dbsize");
        const routed = command("get", "a");
        routed.slot = 7;
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

  it("counts the detour around a node that said CLUSTERDOWN, and the way back to it, as one try", () => {
    const one = command("get", "a");
    one.slot = 7;
    const triesAfter = (from: ClusterNode, message: string): number | undefined => {
      expect(redirector.onReplyError(from, one, new ReplyError(message)), message).to.equal(true);
      return one.extra?.trail?.count;
    };
    expect(triesAfter(node, "CLUSTERDOWN The cluster is down")).to.equal(1);
    expect(one.extra?.trail?.avoided).to.equal(node.key);
    expect(triesAfter(other, "MOVED 7 h:1")).to.equal(1);
    expect(one.extra?.trail?.avoided).to.equal(null);
    expect(triesAfter(other, "MOVED 7 h:1"), "no detour").to.equal(2);
    expect(triesAfter(node, "MOVED 7 h:2")).to.equal(3);
  });

  it("leads a command around a node that loses it only while the nodes refuse the table", () => {
    const avoidedAfterLosses = (): string | null | undefined => {
      const one = command("get", "a");
      one.slot = 7;
      for (let losses = 0; losses < 3; losses++)
        redirector.takeOver(node, [one], new ConnectionClosedError());
      return one.extra?.trail?.avoided;
    };
    other.isDown = true;
    expect(avoidedAfterLosses(), "with a table").to.equal(null);
    isDenied = true;
    expect(avoidedAfterLosses(), "without a table").to.equal(node.key);
  });
});
