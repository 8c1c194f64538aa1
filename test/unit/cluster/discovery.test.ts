import type { SrvRecord } from "node:dns";
import { expect } from "chai";
import sinon from "sinon";
import { findSeeds, type StartNode, srvOrder } from "../../../src/cluster/discovery";

const start = (host: string, port: number, options = {}): StartNode => ({ host, port, options });
const record = (name: string, priority: number, weight = 1, port = 7000): SrvRecord => ({
  name,
  priority,
  weight,
  port,
});

describe("discovery", () => {
  it("leaves addresses as they are and looks names up, each once", async () => {
    const asked: string[] = [];
    const seeds = await findSeeds(
      [start("10.0.0.1", 1), start("a.example", 2), start("a.example", 3), start("::1", 4)],
      {
        dnsLookup: (name, callback) => {
          asked.push(name);
          callback(null, "10.9.9.9", 4);
        },
      },
    );
    expect(asked).to.deep.equal(["a.example"]);
    expect(seeds.map(({ address }) => `${address.host}:${address.port}`).sort()).to.deep.equal([
      "10.0.0.1:1",
      "10.9.9.9:2",
      "10.9.9.9:3",
      "::1:4",
    ]);
    // The certificate of a node is made out to its name.
    expect(seeds.filter(({ address }) => address.serverName === "a.example")).to.have.length(2);
  });

  it("can keep names", async () => {
    const [seed] = await findSeeds([start("a.example", 2)], {
      dnsLookup: (name, callback) => callback(null, name),
    });
    expect(seed?.address).to.deep.equal({ host: "a.example", port: 2, serverName: undefined });
  });

  it("fails when one name cannot be found", async () => {
    const error = await findSeeds([start("10.0.0.1", 1), start("nowhere.example", 2)], {
      dnsLookup: (_name, callback) => callback(new Error("ENOTFOUND") as NodeJS.ErrnoException, ""),
    }).then(
      () => null,
      (reason: Error) => reason.message,
    );
    expect(error).to.equal("ENOTFOUND");
  });

  it("takes port and name from SRV records, the next one when a name cannot be found", async () => {
    const seeds = await findSeeds([start("_redis.example", 1, { password: "p" })], {
      useSRVRecords: true,
      resolveSrv: (_name, callback) =>
        callback(null, [record("down.example", 1), record("up.example", 2, 1, 7002)]),
      dnsLookup: (name, callback) => {
        if (name === "down.example") callback(new Error("ENOTFOUND") as NodeJS.ErrnoException, "");
        else callback(null, "10.0.0.5");
      },
    });
    expect(seeds.map(({ address: { host, port }, options }) => ({ host, port, options }))).to.deep.equal([
      { host: "10.0.0.5", port: 7002, options: { password: "p" } },
    ]);
  });

  it("says when there is no SRV record", async () => {
    const error = await findSeeds([start("_redis.example", 1)], {
      useSRVRecords: true,
      resolveSrv: (_name, callback) => callback(null, []),
    }).then(
      () => null,
      (reason: Error) => reason.message,
    );
    expect(error).to.contain("_redis.example");
  });

  it("orders SRV records by priority, and by chance in proportion to their weights", () => {
    const order = srvOrder([record("c", 3), record("a", 1), record("b", 2), record("zero", 1, 0)]).map(
      ({ name }) => name,
    );
    expect(order.slice(0, 2)).to.have.members(["a", "zero"]);
    expect(order.slice(2)).to.deep.equal(["b", "c"]);
    let heavyFirst = 0;
    for (let i = 0; i < 2000; i++) {
      if (srvOrder([record("light", 1, 9), record("heavy", 1, 89)])[0]?.name === "heavy") heavyFirst++;
    }
    expect(heavyFirst).to.be.within(1650, 1950);
  });

  it("draws SRV records one by one, each in proportion to its weight", () => {
    const random = sinon.stub(Math, "random");
    try {
      random.returns(0.6);
      expect(srvOrder([record("a", 1, 3), record("b", 1, 1)]).map(({ name }) => name)).to.deep.equal([
        "a",
        "b",
      ]);
      for (const [index, value] of [0.5, 0, 0].entries())
        random.onCall(random.callCount + index).returns(value);
      const equal = ["a", "b", "c"].map((name) => record(name, 1, 0));
      expect(srvOrder(equal).map(({ name }) => name)).to.deep.equal(["b", "a", "c"]);
    } finally {
      random.restore();
    }
  });
});
