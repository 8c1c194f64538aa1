/** The pool of nodes: what a change of role means for the client of a node. */

import { expect } from "chai";
import { ClusterNode, type NodeClient, Shard } from "../../../src/cluster/cluster-node";
import { NodePool } from "../../../src/cluster/node-pool";
import { inVirtualTime } from "../../support/modules-in-virtual-time";

describe("NodePool, when a table changes the role of a master", () => {
  let told: string[];
  let pool: NodePool;
  let node: ClusterNode;

  beforeEach(() => {
    told = [];
    const note =
      (what: string) =>
      (...args: unknown[]): void =>
        void told.push([what, ...args].join(" "));
    pool = new NodePool(
      {
        makeClient: () =>
          ({
            link: {
              connection: { lastActivityMs: 0, queue: { inFlight: 0 }, destroy: note("destroy") },
              isLeaving: false,
              disconnect: note("disconnect"),
            },
            links: [],
            isIdle: true,
            handOn: note("hand on"),
            setReadOnly: note("read-only"),
          }) as unknown as NodeClient,
        onClientOpened() {},
        onClientClosed() {},
        lifecycle: { onEmpty() {} },
      },
      false,
    );
    pool.isSealed = false;
    node = new ClusterNode({ host: "h", port: 1 });
    pool.setMembers(new Map([[node, "master"]]));
  });

  it("a silent one that becomes a replica gives back its commands at once, in one piece, and gets a new client", () => {
    const before = node.client;
    node.suspect();
    pool.setMembers(new Map([[node, "slave"]]));
    expect(told).to.deep.equal(["hand on", "destroy", "disconnect"]);
    expect([node.role, node.client === before]).to.deep.equal(["slave", false]);
  });

  it("one that answers keeps its client, which serves reads of a replica from now on", () => {
    const before = node.client;
    pool.setMembers(new Map([[node, "slave"]]));
    expect([told, node.client === before]).to.deep.equal([["read-only true"], true]);
  });

  it("a silent one that stays a master, or becomes one again, keeps its client", () => {
    const before = node.client;
    node.suspect();
    pool.setMembers(new Map([[node, "master"]]));
    expect([told, node.client === before]).to.deep.equal([[], true]);
    node.role = "slave";
    pool.setRole(node, "master");
    expect([told, node.client === before]).to.deep.equal([["read-only false"], true]);
  });
});

describe("NodePool, when another master is looked for", () => {
  it("prefers one with a connection, and never a silent one", () => {
    const isLive = new Map<number, boolean>();
    const pool = new NodePool(
      {
        makeClient: ({ address }) =>
          ({
            link: {
              get isWritable() {
                return isLive.get(address.port) === true;
              },
              connection: { lastActivityMs: 0, queue: { inFlight: 0 } },
              isLeaving: false,
            },
          }) as unknown as NodeClient,
        onClientOpened() {},
        onClientClosed() {},
        lifecycle: { onEmpty() {} },
      },
      false,
    );
    pool.isSealed = false;
    const [owner, silent, opening, open] = [1, 2, 3, 4].map(
      (port) => new ClusterNode({ host: "h", port }),
    ) as [ClusterNode, ClusterNode, ClusterNode, ClusterNode];
    pool.setMembers(new Map([owner, silent, opening, open].map((node) => [node, "master"])));
    for (const { address } of [owner, silent, open]) isLive.set(address.port, true);
    silent.suspect();
    const found = (): Set<string | undefined> =>
      new Set(Array.from({ length: 50 }, () => pool.otherMaster(owner)?.key));
    expect([...found()]).to.deep.equal([open.key]);
    isLive.clear();
    expect(found().has(silent.key)).to.equal(false);
    expect(found().size).to.be.greaterThan(0);
  });
});

describe("NodePool, when any node will do", () => {
  let pool: NodePool;
  let nodes: [ClusterNode, ClusterNode, ClusterNode];

  beforeEach(() => {
    pool = new NodePool(
      {
        makeClient: () => {
          const link = { isLeaving: false, disconnect: () => void (link.isLeaving = true) };
          return { link, isIdle: true, setReadOnly() {} } as unknown as NodeClient;
        },
        onClientOpened() {},
        onClientClosed() {},
        lifecycle: { onEmpty() {} },
      },
      true,
    );
    pool.isSealed = false;
    nodes = [1, 2, 3].map((port) => new ClusterNode({ host: "h", port })) as typeof nodes;
    pool.setMembers(new Map(nodes.map((node, index) => [node, index === 2 ? "slave" : "master"])));
  });

  /** The nodes that are drawn; 200 draws miss one of three once in 10^34 runs. */
  function chosen(role: "master" | "slave"): Set<ClusterNode | null> {
    return new Set(Array.from({ length: 200 }, () => pool.sample(role)));
  }

  it("draws from the nodes of the role", () => {
    const [one, other, replica] = nodes;
    expect([...chosen("master")]).to.have.members([one, other]);
    expect([...chosen("slave")]).to.deep.equal([replica]);
  });

  it("prefers nodes that are neither lost nor in doubt about the slots", () => {
    const [one, other] = nodes;
    one.doubt();
    expect([...chosen("master")]).to.deep.equal([other]);
    pool.setLost(other, true);
    expect([...chosen("master")], "neither is sound").to.have.members([one, other]);
  });

  it("never takes one that could not be reached while another of the role is up", () => {
    const [one, other] = nodes;
    one.isDown = true;
    other.doubt();
    expect([...chosen("master")]).to.deep.equal([other]);
  });

  it("takes any node if the role has none that is up", () => {
    const [one, other, replica] = nodes;
    one.isDown = true;
    other.isDown = true;
    expect([...chosen("master")]).to.have.members([one, other, replica]);
  });

  it("forgets a node that has left the cluster: its address leads to a new one", () => {
    const [one, other, replica] = nodes;
    one.doubt();
    pool.setMembers(
      new Map([
        [other, "master"],
        [replica, "slave"],
      ]),
    );
    const next = pool.at(one.address);
    expect([next === one, next?.isDoubted, pool.at(other.address) === other]).to.deep.equal([
      false,
      false,
      true,
    ]);
  });

  it("tries nodes again that could not be reached, and waits for lost ones as the option says", () => {
    const [one, other] = nodes;
    one.isDown = true;
    pool.setLost(other, true);
    expect([one.isDown, other.isDown]).to.deep.equal([true, false]);
    pool.forgetDown();
    expect([one.isDown, other.isDown]).to.deep.equal([false, false]);
    expect(other.isLost).to.equal(true);
    pool.setLost(other, false);
    expect(other.isLost).to.equal(false);
  });

  it("begins with the nodes of the user, whose clients it opens", () => {
    const begun = make();
    begun.pool.beginWith([
      { host: "h", port: 1 },
      { host: "h", port: 2 },
    ]);
    expect(begun.pool.list().map(({ key }) => key)).to.deep.equal(["h:1", "h:2"]);
    expect([begun.opened, begun.pool.allClients().length, begun.pool.allClients()]).to.deep.equal([
      begun.pool.list().map(({ client }) => client),
      2,
      begun.opened,
    ]);
  });

  it("tries a removed node anew if a command still leads to it, and knows it again", () => {
    const { pool: mine } = make();
    const node = mine.at({ host: "h", port: 1 }) as ClusterNode;
    mine.setMembers(new Map([[node, "master"]]));
    node.shard = new Shard(node, []);
    mine.setLost(node, true);
    expect([node.isDown, node.isLost]).to.deep.equal([true, true]);
    mine.setMembers(new Map());
    expect([node.isDown, node.isLost, node.shard]).to.deep.equal([false, false, null]);
    const other = new ClusterNode(node.address);
    expect(mine.clientOf(node)).to.equal(node.client);
    expect(mine.at(other.address)).to.equal(node);
  });

  it("opens no lasting client while the cluster is closed", () => {
    const { pool: mine, opened } = make();
    const node = new ClusterNode({ host: "h", port: 1 });
    mine.isSealed = true;
    expect((mine.clientOf(node) as unknown as ModelClient).isDisconnected).to.equal(true);
    expect([node.client, mine.allClients().length, opened, mine.list()]).to.deep.equal([null, 0, [], []]);
    expect(mine.at(node.address)).to.not.equal(node);
  });

  it("takes the slots from a master that becomes a replica, and leaves them to one that becomes a master", () => {
    const { pool: mine } = make();
    const node = mine.at({ host: "h", port: 1 }) as ClusterNode;
    mine.setMembers(new Map([[node, "master"]]));
    const shard = new Shard(node, []);
    node.shard = shard;
    mine.setRole(node, "master");
    expect(node.shard).to.equal(shard);
    mine.setMembers(new Map([[node, "slave"]]));
    expect(node.shard).to.equal(null);
    node.shard = shard;
    mine.setRole(node, "master");
    expect([node.role, node.shard]).to.deep.equal(["master", shard]);
  });

  it("replaces the connection of a node, and remembers that", () => {
    const { pool: mine } = make();
    mine.beginWith([{ host: "h", port: 1 }]);
    const [node] = mine.list() as [ClusterNode];
    const before = node.client as unknown as ModelClient;
    mine.renew(node);
    expect([node.isRenewed, before.isDisconnected, (node.client as unknown) === before]).to.deep.equal([
      true,
      true,
      false,
    ]);
  });

  it("lets nobody know of a client that is not its own, and tells when the last one is gone", () => {
    const { pool: mine, events } = make();
    mine.beginWith([
      { host: "h", port: 1 },
      { host: "h", port: 2 },
    ]);
    const [one, other] = mine.list() as [ClusterNode, ClusterNode];
    mine.onEnded({} as NodeClient);
    expect(events).to.deep.equal([]);
    mine.setLost(one, true);
    mine.onEnded(one.client as NodeClient);
    expect([one.client, one.isLost, events]).to.deep.equal([null, false, ["closed h:1"]]);
    mine.onEnded(other.client as NodeClient);
    expect(events).to.deep.equal(["closed h:1", "closed h:2", "empty"]);
  });

  it("forgets its nodes when everything is closed, each when its connection has ended", () => {
    const { pool: mine } = make();
    mine.beginWith([{ host: "h", port: 1 }]);
    const [node] = mine.list() as [ClusterNode];
    const client = node.client as unknown as ModelClient;
    node.isDown = true;
    mine.clear();
    expect([client.isDisconnected, client.isHandedOn, mine.isSealed, node.isDown]).to.deep.equal([
      true,
      true,
      true,
      false,
    ]);
    expect(mine.at(node.address), "its connection is ending").to.equal(node);
    mine.onEnded(node.client as NodeClient);
    expect(mine.at(node.address)).to.not.equal(node);
  });
});

describe("NodePool, while the client says goodbye to its nodes", () => {
  it("gives up a node that has left the cluster and does not answer", () => {
    const home = inVirtualTime(
      () => require("../../../src/cluster/node-pool") as typeof import("../../../src/cluster/node-pool"),
    );
    return home.liveAlone(async () => {
      const told: string[] = [];
      const client = {
        link: {
          isLeaving: false,
          isClosing: false,
          connection: {
            lastActivityMs: home.time.nowMs,
            queue: { inFlight: 1 },
            destroy: () => void told.push("destroy"),
          },
          disconnect: () => void told.push("disconnect"),
        },
        isIdle: false,
        handOn: () => void told.push("hand on"),
        setReadOnly() {},
      };
      const pool = new home.modules.NodePool(
        {
          makeClient: () => client as unknown as NodeClient,
          onClientOpened() {},
          onClientClosed() {},
          lifecycle: { onEmpty() {} },
        },
        false,
      );
      pool.isSealed = false;
      pool.beginWith([{ host: "h", port: 1 }]);
      pool.setMembers(new Map());
      // `quit` seals the pool, and the reply to its QUIT would come after the unanswered commands.
      pool.isSealed = true;
      client.link.isLeaving = true;
      await home.pass(2100);
      expect(told).to.deep.equal(["hand on", "destroy", "disconnect"]);
    });
  });
});

/** The client of a node, which notes what becomes of it. */
class ModelClient {
  isDisconnected = false;
  isHandedOn = false;
  readonly isIdle = true;
  readonly links = [];
  readonly link = {
    isLeaving: false,
    connection: null,
    disconnect: (): boolean => (this.isDisconnected = true),
  };

  setReadOnly(): void {}

  handOn(): void {
    this.isHandedOn = true;
  }
}

/** A pool whose commands go to other nodes when one is lost. */
function make(): { pool: NodePool; opened: NodeClient[]; events: string[] } {
  const [opened, events]: [NodeClient[], string[]] = [[], []];
  const pool = new NodePool(
    {
      makeClient: () => new ModelClient() as unknown as NodeClient,
      onClientOpened: (client) => void opened.push(client),
      onClientClosed: ({ key }) => void events.push(`closed ${key}`),
      lifecycle: { onEmpty: () => void events.push("empty") },
    },
    false,
  );
  pool.isSealed = false;
  return { pool, opened, events };
}
