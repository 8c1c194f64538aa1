/**
 * The database of a cluster client: every connection selects it in its handshake, nobody moves it afterwards, and a
 * server that has one database only is a loud error.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { SelectOnClusterError } from "../../src/errors";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { codeOf, failureOf } from "../support/outcome";

describe("cluster: databases", () => {
  const fixture = new ClusterFixture(ServerKind.Valkey, { config: { "cluster-databases": 16 } }).install();
  const KEYS = Array.from({ length: 30 }, (_, index) => `key:${index}`);

  /** The numbers of keys in the databases 0 and 3 of all masters. */
  async function sizes(): Promise<[number, number]> {
    let inZero = 0;
    let inThree = 0;
    for (const master of await fixture.cluster.masters()) {
      const keyspace = String(await master.command("INFO", "keyspace"));
      inZero += Number(/db0:keys=(\d+)/.exec(keyspace)?.[1] ?? 0);
      inThree += Number(/db3:keys=(\d+)/.exec(keyspace)?.[1] ?? 0);
    }
    return [inZero, inThree];
  }

  beforeEach(() => fixture.flush());

  const WAYS = {
    "redisOptions.db": () => fixture.connect({ redisOptions: { db: 3 } }),
    "the URL of a startup node": () => {
      const { host, port } = fixture.cluster.seeds[0] as { host: string; port: number };
      return fixture.connectTo([`redis://${host}:${port}/3`]);
    },
    "db of a startup node": () =>
      fixture.connectTo(fixture.cluster.seeds.map((seed) => ({ ...seed, db: 3 }))),
    "a duplicate": () => fixture.connect({ redisOptions: { db: 3 } }).duplicate(),
  };

  for (const [way, connect] of Object.entries(WAYS)) {
    it(`${way} holds for every node, also after connections were lost`, async () => {
      const client = connect();
      client.on("error", () => {});
      try {
        await Promise.all(KEYS.map((key) => client.set(key, "1")));
        expect(await sizes()).to.deep.equal([0, KEYS.length]);
        for (const node of fixture.cluster.nodes)
          await node.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        const pipeline = client.pipeline();
        for (const key of KEYS) pipeline.incr(key);
        const rows = (await pipeline.exec()) ?? [];
        expect(new Set(rows.map(([, value]) => value))).to.deep.equal(new Set([2]));
        expect(await client.multi().set("{t}a", "1").get("{t}a").exec()).to.deep.equal([
          [null, "OK"],
          [null, "1"],
        ]);
        expect(await sizes()).to.deep.equal([0, KEYS.length + 1]);
      } finally {
        client.disconnect();
      }
    });
  }

  it("SELECT is refused in every form, and changes nothing", async () => {
    const client = fixture.connect({ redisOptions: { db: 3 } });
    await untilClusterReady(client);
    expect(await failureOf(client.select(2))).to.be.instanceOf(SelectOnClusterError);
    expect(await codeOf(client.call("SELECT", "2"))).to.equal("SELECT_ON_CLUSTER");
    const rows = (await client.pipeline().set("a", "1").select(2).set("b", "1").exec()) ?? [];
    expect(rows.map(([error]) => (error as { code?: string } | null)?.code)).to.deep.equal([
      undefined,
      "SELECT_ON_CLUSTER",
      undefined,
    ]);
    const transaction = client.multi().set("{t}a", "1").select(2).set("{t}b", "1").exec();
    expect(await codeOf(transaction)).to.equal("SELECT_ON_CLUSTER");
    for (const node of client.nodes("master"))
      expect(await codeOf(node.select(2))).to.equal("SELECT_ON_CLUSTER");
    await Promise.all(KEYS.map((key) => client.set(key, "1")));
    expect(await sizes()).to.deep.equal([0, KEYS.length + 2]);
  });

  it("startup nodes cannot name several", () => {
    expect(() => fixture.connectTo(["redis://127.0.0.1:1/3", "redis://127.0.0.1:2/4"])).to.throw(
      /databases 3 and 4/,
    );
  });
});

for (const kind of [ServerKind.Redis, ServerKind.Valkey]) {
  describe(`cluster: databases, ${kind} with one database`, () => {
    const fixture = new ClusterFixture(kind).install();

    it("another one fails the commands with the server's reason", async () => {
      const client = fixture.connect({ redisOptions: { db: 3 } });
      const told = new Promise((resolve) => client.once("error", resolve));
      const { message } = await failureOf(client.set("a", "1"));
      expect(message).to.match(/^ERR (?:SELECT is not allowed|DB index is out of range)/);
      expect(await told).to.be.instanceOf(Error);
      for (const master of await fixture.cluster.masters())
        expect(await master.command("DBSIZE")).to.equal(0);
    });

    it("0 is what it is without the option", async () => {
      const client = fixture.connect({ redisOptions: { db: 0 } });
      expect(await client.set("a", "1")).to.equal("OK");
    });
  });
}
