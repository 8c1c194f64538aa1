/** A refresh on scripted nodes: whom it asks, in which order, and what it makes of nodes that do not know. */

import { expect } from "chai";
import type { ClusterNode } from "../../../src/cluster/cluster-node";
import type { NodePool } from "../../../src/cluster/node-pool";
import type { Refresher } from "../../../src/cluster/refresher";
import type { Command } from "../../../src/command/command";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;
const TIMEOUT_MS = 500;
/** The order of equal nodes is random: as often as this, each of them was the first one once. */
const RUNS = 30;

type Modules = typeof import("../../../src/cluster/refresher") &
  typeof import("../../../src/cluster/cluster-node") &
  Pick<typeof import("../../../src/errors"), "ReplyError" | "ConnectionClosedError">;
type Answer = (command: Command) => void;

const silent: Answer = () => {};
const table: Answer = (command) => command.fulfil([[0, 100, ["h", 1, "id"]]], TEXT);

describe("Refresher", () => {
  let home: InVirtualTime<Modules>;
  let nodes: ClusterNode[];
  /** Ports and questions, in the order of asking; start nodes are called "start". */
  let asked: string[];
  let answers: Answer[];
  let startNodes: Answer[];
  let closed: number;
  let taken: number;
  let errors: string[];
  let refresher: Refresher;

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/cluster/refresher"),
      ...require("../../../src/cluster/cluster-node"),
      ...require("../../../src/errors"),
    }));
  });

  beforeEach(() => {
    home.time.reset();
    make();
  });

  function clientOf(name: string | number, answer: Answer, isWritable = true): never {
    const dispatch = (command: Command): void => {
      asked.push(`${name} ${command.args.join(" ")}`);
      answer(command);
    };
    return { link: { dispatch, isWritable, connection: null, disconnect: () => closed++ } } as never;
  }

  function make(availabilityZone?: string): void {
    [asked, errors, startNodes, closed, taken] = [[], [], [], 0, 0];
    answers = [silent, silent, silent];
    nodes = [1, 2, 3].map((port, index) => {
      const node = new home.modules.ClusterNode({ host: "h", port });
      node.client = clientOf(port, (command) => answers[index]?.(command));
      return node;
    });
    refresher = new home.modules.Refresher(
      { slotsRefreshTimeout: TIMEOUT_MS, availabilityZone },
      {
        views: { usesTls: false },
        retries: { hasDelayed: false },
        subscriptions: { isInHurry: false },
        owner: { onNodeError: (_error, key) => void errors.push(key) },
        pool: {
          list: () => nodes,
          clientOf: ({ client }: ClusterNode) => client,
          lost: () => [],
        } as unknown as NodePool,
        adopt: () => taken++ > 0,
        openSeeds: async () => {
          if (startNodes.length === 0) throw new Error("no start node");
          return startNodes.map((answer, index) => ({
            address: { host: "start", port: index },
            client: clientOf("start", answer),
          }));
        },
      },
    );
    refresher.start();
  }

  const ports = (): string[] => asked.map((one) => one.split(" ")[0] as string);

  /** The nodes in the order in which a refresh asks them, of which none answers. */
  async function order(prepare = (): void => {}): Promise<string> {
    asked = [];
    refresher.start();
    prepare();
    const refreshed = refresher.refresh().catch(() => {});
    await home.pass(4 * TIMEOUT_MS);
    await refreshed;
    refresher.stop();
    return ports().join(" ");
  }

  it("asks the node first that has news, then those with a connection, silent ones last", async () => {
    const [one, two, three] = nodes as [ClusterNode, ClusterNode, ClusterNode];
    for (let i = 0; i < RUNS; i++) {
      one.client = clientOf(1, silent, false);
      [two.isLost, three.isLost] = [true, false];
      expect(await order()).to.equal("3 1 2");
      [two.isLost, two.isDown] = [false, true];
      expect(await order()).to.equal("3 1 2");
      two.isDown = false;
      expect(await order(() => refresher.request(one))).to.match(/^(1|[23])/);
    }
    const firsts = new Set<string | undefined>();
    for (let i = 0; i < RUNS; i++) firsts.add((await order())[0]);
    expect([...firsts].sort(), "both have a connection").to.deep.equal(["2", "3"]);
    refresher.stop();
    refresher.request(one);
    expect((await order())[0], "it has news").to.equal("1");
    expect((await order())[0], "which are old by now").to.not.equal("1");
  });

  it("asks a node that doubts the cluster only when no other one has a table", async () => {
    const [one] = nodes as [ClusterNode];
    for (let i = 0; i < RUNS; i++) {
      one.doubt();
      expect(await order()).to.match(/ 1$/);
    }
    answers = [table, table, table];
    one.doubt();
    await refresher.refresh();
    expect(asked.at(-1)).to.not.contain("1 ");
  });

  it("asks the next node as well when one does not answer, and takes the first table", async () => {
    answers = [table, silent, silent];
    const [one] = nodes as [ClusterNode];
    one.client = clientOf(1, table, false);
    const refreshed = refresher.refresh();
    await home.pass(190);
    expect(asked).to.have.length(1);
    await home.pass(20);
    expect(asked).to.have.length(2);
    await home.pass(200);
    await refreshed;
    expect([ports().at(-1), taken]).to.deep.equal(["1", 1]);
    refresher.stop();
    await home.pass(TIMEOUT_MS);
    expect([asked.length, taken, home.time.pending], "late answers and timers").to.deep.equal([3, 1, 0]);
  });

  it("asks the next node at once when one answers without a table, and reports that", async () => {
    answers = [1, 2, 3].map(() => (command) => command.fail(new home.modules.ReplyError("LOADING")));
    await refresher.refresh().catch(() => {});
    expect([...ports()].sort()).to.deep.equal(["1", "2", "3"]);
    expect([...errors].sort()).to.deep.equal(["h:1", "h:2", "h:3"]);
    refresher.stop();
    await home.time.run(() => false, 0);
    expect(home.time.pending, "timers").to.equal(0);
  });

  it("asks the start nodes when no node answers, and closes their connections", async () => {
    nodes = [];
    startNodes = [silent, table];
    const refreshed = refresher.refresh();
    await home.pass(TIMEOUT_MS);
    await refreshed;
    expect([ports(), taken, closed]).to.deep.equal([["start", "start"], 1, 2]);
    refresher.stop();
  });

  it("asks no start nodes for the first table, for which they are the nodes, and after a stop", async () => {
    nodes = [];
    startNodes = [table];
    const failed = async (mayAskSeeds: boolean): Promise<boolean> =>
      refresher.refresh(mayAskSeeds).then(
        () => false,
        () => true,
      );
    expect(await failed(false)).to.equal(true);
    refresher.stop();
    expect(await failed(true)).to.equal(true);
    expect(asked).to.deep.equal([]);
    refresher.start();
    expect(await failed(true)).to.equal(false);
    refresher.stop();
  });

  for (const [zone, first, second] of [
    [undefined, "SLOTS", "SHARDS"],
    ["a", "SHARDS", "SLOTS"],
  ] as const) {
    it(`asks for ${second} where the server does not know ${first} or forbids it`, async () => {
      for (const said of ["ERR unknown subcommand", "NOPERM no permissions"]) {
        make(zone);
        nodes = nodes.slice(0, 1);
        answers = [
          (command) =>
            command.args[0] === first ? command.fail(new home.modules.ReplyError(said)) : undefined,
        ];
        refresher.refresh().catch(() => {});
        await home.pass(1);
        expect(asked).to.deep.equal([`1 ${first}`, `1 ${second}`]);
        refresher.stop();
      }
      make(zone);
      nodes = nodes.slice(0, 1);
      answers = [(command) => command.fail(new home.modules.ReplyError("LOADING"))];
      await refresher.refresh(false).catch(() => {});
      expect(asked, "another error").to.deep.equal([`1 ${first}`]);
      refresher.stop();
    });
  }

  it("asks the next node whether the cluster serves when one does not answer, and believes the first that does", async () => {
    const [one] = nodes as [ClusterNode];
    const reasonAfter = async (...how: Answer[]): Promise<string | undefined> => {
      [asked, answers] = [[], how];
      refresher.request(one);
      const reason = refresher.reasonAgainst();
      await home.pass(4 * TIMEOUT_MS);
      return (await reason)?.message;
    };
    refresher.stop();
    const ok: Answer = (command) => command.fulfil("cluster_state:ok", TEXT);
    const fail: Answer = (command) => command.fulfil("cluster_state:fail", TEXT);
    expect(await reasonAfter(silent, ok, ok)).to.equal(undefined);
    expect(asked).to.have.length(2);
    expect(await reasonAfter(fail, ok, ok)).to.contain("h:1");
    expect(asked).to.deep.equal(["1 INFO"]);
    expect(await reasonAfter(silent, silent, silent)).to.contain("did not answer");
    expect(asked).to.have.length(3);
  });
});
