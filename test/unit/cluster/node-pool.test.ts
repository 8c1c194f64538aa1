/** The pool of nodes: what a change of role means for the client of a node. */

import { expect } from "chai";
import { ClusterNode, type NodeClient } from "../../../src/cluster/cluster-node";
import { NodePool } from "../../../src/cluster/node-pool";

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
            gathered: [],
            isIdle: true,
            handOn: note("hand on"),
            setReadOnly: note("read-only"),
          }) as unknown as NodeClient,
        onClientOpened() {},
        onClientClosed() {},
        onEmpty() {},
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
    pool.promote(node);
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
        onEmpty() {},
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
        makeClient: () => ({ link: { isLeaving: false }, setReadOnly() {} }) as unknown as NodeClient,
        onClientOpened() {},
        onClientClosed() {},
        onEmpty() {},
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
    pool.lose(other);
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
    one.client = { link: { isLeaving: false, disconnect() {} }, isIdle: true } as unknown as NodeClient;
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

  it("knows whether a node owes replies and is silent", () => {
    expect(pool.hasSuspect).to.equal(false);
    const [, other] = nodes;
    other.client = { link: { connection: { lastActivityMs: 0 }, isLeaving: false } } as unknown as NodeClient;
    other.suspect();
    expect(pool.hasSuspect).to.equal(true);
  });

  it("tries nodes again that could not be reached, and waits for lost ones as the option says", () => {
    const [one, other] = nodes;
    one.isDown = true;
    pool.lose(other);
    expect([one.isDown, other.isDown]).to.deep.equal([true, false]);
    pool.forgetDown();
    expect([one.isDown, other.isDown]).to.deep.equal([false, false]);
    expect(pool.lost()).to.deep.equal([other]);
    pool.regain(other);
    expect(pool.lost()).to.deep.equal([]);
  });
});
