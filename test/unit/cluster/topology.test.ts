import { expect } from "chai";
import fc from "fast-check";
import { parseAddress } from "../../../src/cluster/node-address";
import { hidesSlots, parseShards, parseSlots, type TopologyRange } from "../../../src/cluster/topology";
import { isHost, parsePort } from "../../../src/util/address-checks";

const SENDER = { host: "10.0.0.1", port: 7000 };
const slots = (reply: unknown): TopologyRange[] => parseSlots(reply, SENDER);
const shards = (reply: unknown, usesTls = false): TopologyRange[] => parseShards(reply, SENDER, usesTls);

function plain({ host, port }: { host: string; port: number }): string {
  return `${host}:${port}`;
}

describe("topology: CLUSTER SLOTS", () => {
  it("reads ranges with master and replicas", () => {
    const [first, second] = slots([
      [0, 100, ["10.0.0.1", 7000, "a"], ["10.0.0.2", 7001, "b", []]],
      [101, 16_383, ["10.0.0.3", 7002, "c"]],
    ]);
    expect([first?.from, first?.to, plain(first?.master as never)]).to.deep.equal([0, 100, "10.0.0.1:7000"]);
    expect(first?.replicas.map(plain)).to.deep.equal(["10.0.0.2:7001"]);
    expect([second?.from, second?.to, plain(second?.master as never)]).to.deep.equal([
      101,
      16_383,
      "10.0.0.3:7002",
    ]);
  });

  it("reads numbers that arrive as text", () => {
    expect(slots([["0", "5", ["h", "7000", "a"]]])[0]).to.include({ from: 0, to: 5 });
  });

  it("takes its own host where a node names none", () => {
    for (const host of [null, ""]) {
      expect(plain(slots([[0, 1, [host, 7005, "a", ["hostname", "x"]]]])[0]?.master as never)).to.equal(
        "10.0.0.1:7005",
      );
    }
  });

  it("takes the address where a host name was promised and is missing", () => {
    const [range] = slots([[0, 1, ["?", 7005, "a", ["ip", "10.0.0.9"]]]]);
    expect(plain(range?.master as never)).to.equal("10.0.0.9:7005");
  });

  it("keeps the announced name for TLS", () => {
    const [range] = slots([[0, 1, ["10.0.0.9", 7005, "a", ["hostname", "node-1.example"]]]]);
    expect(range?.master.serverName).to.equal("node-1.example");
  });

  it("reads IPv6 addresses", () => {
    expect(plain(slots([[0, 1, ["::1", 7005, "a"]]])[0]?.master as never)).to.equal("::1:7005");
  });

  it("leaves out what makes no sense", () => {
    const good = [5, 6, ["h", 1, "a"]];
    for (const bad of [
      null,
      7,
      "x",
      [],
      [0],
      [0, 1],
      [0, 1, []],
      [-1, 1, ["h", 1, "a"]],
      [2, 1, ["h", 1, "a"]],
      [0, 16_384, ["h", 1, "a"]],
      [0.5, 1, ["h", 1, "a"]],
      ["__proto__", 1, ["h", 1, "a"]],
      [0, 1, ["h", 0, "a"]],
      [0, 1, ["h", 65_536, "a"]],
      [0, 1, ["h", "1; rm", "a"]],
      [0, 1, ["h h", 1, "a"]],
      [0, 1, ["x".repeat(256), 1, "a"]],
      [0, 1, [{}, 1, "a"]],
    ]) {
      expect(slots([bad, good]), JSON.stringify(bad)).to.have.length(1);
    }
  });

  it("refuses a reply without any served slot", () => {
    for (const reply of [null, "OK", 1, {}, [], [null]]) expect(() => slots(reply)).to.throw();
  });

  it("holds bounds whatever a node says", () => {
    const many = Array.from({ length: 20_000 }, () => [0, 1, ["h", 1, "a"]]);
    expect(slots(many)).to.have.length(16_384);
    const crowd = [0, 1, ["h", 1, "a"], ...Array.from({ length: 1000 }, (_, i) => ["h", i + 2, "r"])];
    expect(slots([crowd])[0]?.replicas).to.have.length(256);
  });

  it("reads only so many addresses of one reply", () => {
    const nodes = Array.from({ length: 257 }, () => ["10.0.0.1", 7000, "a"]);
    const ranges = slots(Array.from({ length: 2000 }, (_, slot) => [slot, slot, ...nodes]));
    expect(ranges.length * nodes.length).to.be.within(16 * 16_384, 16 * 16_384 + nodes.length);
  });

  it("survives random replies", () => {
    const node = fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.array(fc.string())));
    const entry = fc.array(fc.oneof(fc.integer(), fc.string(), node));
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.array(entry)), (reply) => {
        let ranges: TopologyRange[] = [];
        try {
          ranges = [...slots(reply), ...shards(reply)];
        } catch {
          return;
        }
        for (const { from, to, master } of ranges) {
          expect(from).to.be.within(0, to);
          expect(to).to.be.within(0, 16_383);
          expect(isHost(master.host)).to.equal(true);
          expect(parsePort(master.port)).to.equal(master.port);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("topology: CLUSTER SHARDS", () => {
  const node = (fields: Record<string, unknown>): unknown[] => Object.entries(fields).flat();
  const master = node({
    id: "a",
    port: 7000,
    ip: "10.0.0.1",
    endpoint: "10.0.0.1",
    role: "master",
    health: "online",
  });

  it("reads flat lists and objects alike", () => {
    const replica = node({
      id: "b",
      port: 7001,
      "tls-port": 8001,
      endpoint: "10.0.0.2",
      hostname: "b.example",
      role: "replica",
      health: "online",
      "availability-zone": "zone-1",
    });
    const flat = [["slots", [0, 5, 10, 11], "nodes", [master, replica]]];
    const [first, second, ...rest] = shards(flat);
    expect(rest).to.deep.equal([]);
    expect([first?.from, first?.to, second?.from, second?.to]).to.deep.equal([0, 5, 10, 11]);
    expect(first?.replicas[0]).to.include({
      host: "10.0.0.2",
      port: 7001,
      serverName: "b.example",
      zone: "zone-1",
    });
    expect(shards(flat, true)[0]?.replicas[0]?.port).to.equal(8001);
    const object = [{ slots: [0, 5], nodes: [{ port: 7000, endpoint: "10.0.0.1", role: "master" }] }];
    expect(plain(shards(object)[0]?.master as never)).to.equal("10.0.0.1:7000");
  });

  it("takes the master that is online where a failed one is listed beside it", () => {
    const failed = node({ port: 7001, endpoint: "10.0.0.2", role: "master", health: "fail" });
    for (const nodes of [
      [failed, master],
      [master, failed],
    ]) {
      const [range] = shards([["slots", [0, 5], "nodes", nodes]]);
      expect(plain(range?.master as never)).to.equal("10.0.0.1:7000");
      expect(range?.replicas).to.deep.equal([]);
    }
    const [alone] = shards([["slots", [0, 5], "nodes", [failed]]]);
    expect(plain(alone?.master as never)).to.equal("10.0.0.2:7001");
  });

  it("tells of slots that the reply hides", () => {
    const failed = node({ port: 7001, endpoint: "10.0.0.2", role: "master", health: "fail" });
    const ofNodes = (slots: unknown, nodes: unknown): boolean =>
      hidesSlots([["slots", slots, "nodes", nodes]]);
    expect(ofNodes([], [failed, master])).to.equal(true);
    expect(ofNodes([0, 5], [master, failed])).to.equal(false);
    expect(ofNodes([], [master])).to.equal(false);
    expect(ofNodes([], "master")).to.equal(false);
    expect(ofNodes(null, [failed, master])).to.equal(false);
    expect(hidesSlots([null, "slots"])).to.equal(false);
    expect(() => hidesSlots(null)).to.throw("not a list");
  });

  it("leaves out shards without a list of slots or nodes", () => {
    const good = ["slots", [0, 5], "nodes", [master]];
    for (const bad of [
      ["slots", [6, 7], "nodes", null],
      ["slots", null, "nodes", [master]],
      ["slots", [6, 7]],
      [],
      null,
    ]) {
      expect(shards([bad, good] as never), JSON.stringify(bad)).to.have.length(1);
    }
  });

  it("leaves out replicas that are not online, and shards without a master", () => {
    const ill = node({ port: 7001, endpoint: "10.0.0.2", role: "replica", health: "loading" });
    expect(shards([["slots", [0, 5], "nodes", [master, ill]]])[0]?.replicas).to.deep.equal([]);
    expect(() => shards([["slots", [0, 5], "nodes", [ill]]])).to.throw();
  });
});

describe("node addresses", () => {
  it("are split at the last colon", () => {
    expect(parseAddress("127.0.0.1:7000", SENDER)).to.deep.equal({ host: "127.0.0.1", port: 7000 });
    expect(parseAddress("::1:7000", SENDER)).to.deep.equal({ host: "::1", port: 7000 });
    expect(parseAddress("[::1]:7000", SENDER)).to.deep.equal({ host: "::1", port: 7000 });
    expect(parseAddress("a.example:7000", SENDER)).to.deep.equal({ host: "a.example", port: 7000 });
    expect(parseAddress(":7000", SENDER)).to.deep.equal({ host: "10.0.0.1", port: 7000 });
  });

  it("are refused when they are none", () => {
    for (const text of [
      "",
      "x",
      "x:",
      "x:y",
      "x:0",
      "x:65536",
      "?:7000",
      "a b:7000",
      "x:1.5",
      "x:-1",
      "x: 1",
      "\u0000:1",
    ]) {
      expect(parseAddress(text, SENDER), text).to.equal(null);
    }
  });
});
