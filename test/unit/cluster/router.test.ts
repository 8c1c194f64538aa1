/** The router between its parts, without a server: what becomes of commands that no node can take yet. */

import { expect } from "chai";
import { type SinonFakeTimers, useFakeTimers } from "sinon";
import { ClusterNode, type NodeClient } from "../../../src/cluster/cluster-node";
import { NodePool } from "../../../src/cluster/node-pool";
import { RetryQueue } from "../../../src/cluster/retry-queue";
import { ClusterRouter } from "../../../src/cluster/router";
import { SlotMap } from "../../../src/cluster/slot-map";
import type { Command } from "../../../src/command/command";
import { CommandsOfTest } from "../../support/ending";

const RETRY_DELAY_MS = 50;

describe("ClusterRouter", () => {
  const commands = new CommandsOfTest();
  let clock: SinonFakeTimers;
  let pool: NodePool;
  let router: ClusterRouter;
  let nodes: ClusterNode[];
  /** Node and command, in the order of sending. */
  let sent: string[];

  beforeEach(() => {
    clock = useFakeTimers();
    sent = [];
    pool = new NodePool(
      {
        makeClient: ({ address }) => {
          const take = ({ spec }: Command): void => void sent.push(`${address.port} ${spec.lowerName}`);
          return {
            link: { isLeaving: false, session: { endedGuards: 0 } },
            lastOf: () => null,
            dispatch: take,
            dispatchBatch: (batch: readonly Command[]) => batch.forEach(take),
          } as unknown as NodeClient;
        },
        onClientOpened() {},
        onClientClosed() {},
        onEmpty() {},
      },
      false,
    );
    pool.isSealed = false;
    nodes = [1, 2].map((port) => new ClusterNode({ host: "h", port }));
    pool.setMembers(new Map(nodes.map((node) => [node, "master"])));
    const retries: RetryQueue = new RetryQueue({
      pool,
      router: { sendAgain: (again) => router.sendAgain(again) },
    });
    const nothing = { dispatch() {}, dispatchBatch() {} };
    router = new ClusterRouter(RETRY_DELAY_MS, {
      slots: new SlotMap(),
      pool,
      retries,
      lifecycle: { admit() {} },
      reads: null,
      subscriptions: nothing,
      fanOut: null,
      announce: () => null,
      refresher: { request() {} },
      redirector: { onUnreachable() {} },
    });
    router.isOpen = true;
    retries.resume();
  });

  afterEach(() => {
    commands.failAll();
    clock.restore();
  });

  it("keeps a transaction without keys until a node can be reached, and sends all of it there", () => {
    for (const node of nodes) pool.lose(node);
    router.dispatchBatch(["multi", "ping", "exec"].map((name) => commands.make(name)));
    clock.tick(3 * RETRY_DELAY_MS);
    expect(sent).to.deep.equal([]);
    pool.regain(nodes[1] as ClusterNode);
    clock.tick(RETRY_DELAY_MS);
    expect(sent).to.deep.equal(["2 multi", "2 ping", "2 exec"]);
  });
});
