/**
 * With `scaleReads: "master"` no read is answered by a replica, also when the node has been a
 * replica or a master before: the connection has sent READONLY only while the node is a replica, and
 * what waits for a node that has stepped down goes to its successor.
 */

import type { Socket } from "node:net";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import type { FakeNode } from "../support/fake-cluster";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { encodeReply, type FakeReply, NO_REPLY, status } from "../support/fake-server";

const NAMES = ["first", "second"] as const;

describe("cluster: a node that is master and replica by turns", () => {
  const fixture = new FakeClusterFixture().install();
  /** Number of the node that is the master. */
  let master = 0;
  let slotsAsked = 0;
  /** Servers are stopped while it is true: INFO and the commands behind it run later. */
  let isSlow = false;
  let stopped = new WeakSet<Socket>();
  let release: (() => void)[] = [];
  let readonlySockets = new WeakSet<Socket>();

  beforeEach(() => {
    master = OWNER;
    slotsAsked = 0;
    isSlow = false;
    release = [];
    readonlySockets = new WeakSet();
    stopped = new WeakSet();
    for (const number of [0, 1]) serve(number);
    tellTruth();
  });

  const node = (number: number): FakeNode => fixture.fake.node(number);

  function serve(number: number): void {
    node(number).script = (words, { socket }) => {
      if (!isSlow || !(words[0] === "info" || stopped.has(socket))) return answerOf(number, words, socket);
      stopped.add(socket);
      const known = words[0] === "info" ? "loading:0\r\n" : status("OK");
      release.push(() => {
        socket.write(encodeReply(answerOf(number, words, socket) ?? known));
      });
      return NO_REPLY;
    };
  }

  /** Reads answer with the name of the node, as replicas do behind READONLY. */
  function answerOf(
    number: number,
    [name = "", first = ""]: string[],
    socket: Socket,
  ): FakeReply | undefined {
    switch (name) {
      case "readonly":
        readonlySockets.add(socket);
        return status("OK");
      case "readwrite":
        readonlySockets.delete(socket);
        return status("OK");
      case "cluster":
        if (first.toLowerCase() === "slots") slotsAsked++;
        return undefined;
      case "get":
      case "sort": {
        const answer = name === "get" ? (NAMES[number] as string) : [NAMES[number] as string];
        if (number === master || readonlySockets.has(socket)) return answer;
        return new Error(`MOVED ${SLOT} ${node(master).key}`);
      }
      default:
        return undefined;
    }
  }

  /** From now on the table names this master, whoever it is. */
  function tell(number: number): void {
    const address = (one: number): FakeReply[] => [node(one).server.host, node(one).server.port, `id${one}`];
    const table: FakeReply = [[0, 16383, address(number), address(1 - number)]];
    fixture.fake.slots = () => table;
  }

  function tellTruth(): void {
    tell(master);
  }

  async function connect(): Promise<Cluster> {
    const cluster = fixture.connect({}, [fixture.fake.seeds[OWNER]] as typeof fixture.fake.seeds);
    await untilClusterReady(cluster);
    return cluster;
  }

  it("was named by MOVED before any table has told of its role", async () => {
    const cluster = await connect();
    // It takes over for a moment, and no table tells of it.
    master = OTHER;
    expect(await cluster.get(KEY)).to.equal(NAMES[OTHER]);
    master = OWNER;
    expect(await cluster.get(KEY)).to.equal(NAMES[OWNER]);
  });

  it("was used as a replica before it was promoted", async () => {
    const cluster = await connect();
    // The application asks the replica itself.
    const keys = Array.from({ length: 8 }, (_, i) => `{${KEY}${i}}`);
    const [replica] = cluster.nodes("slave");
    for (const key of keys) expect(await replica?.get(key)).to.equal(NAMES[OTHER]);
    master = OTHER;
    tellTruth();
    await cluster.refreshSlotsCache();
    for (const key of keys) expect(await cluster.get(key)).to.equal(NAMES[OTHER]);
    master = OWNER;
    for (const key of keys) expect(await cluster.get(key)).to.equal(NAMES[OWNER]);
  });

  it("is promoted while its connection is being made", async () => {
    const cluster = await connect();
    const [replica] = cluster.nodes("slave");
    isSlow = true;
    const read = replica?.get(KEY);
    await waitUntil(async () => release.length > 0, { timeoutMs: 5000, what: "the handshake" });
    master = OTHER;
    tellTruth();
    await cluster.refreshSlotsCache();
    isSlow = false;
    for (const go of release) go();
    expect(await read).to.equal(NAMES[OTHER]);
    expect(await cluster.get(KEY)).to.equal(NAMES[OTHER]);
    master = OWNER;
    expect(await cluster.get(KEY)).to.equal(NAMES[OWNER]);
  });

  it("is demoted while commands wait for its first connection", async () => {
    // The table is asked for at the first node, over a connection that is the second one of it.
    master = OTHER;
    tellTruth();
    const cluster = await connect();
    isSlow = true;
    const read = cluster.get(KEY);
    await waitUntil(async () => release.length > 0, { timeoutMs: 5000, what: "the handshake" });
    master = OWNER;
    tellTruth();
    isSlow = false;
    await cluster.refreshSlotsCache();
    for (const go of release) go();
    expect(await read).to.equal(NAMES[OWNER]);
    expect(slotsAsked).to.be.above(1);
  });
});
