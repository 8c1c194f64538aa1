import { expect } from "chai";
import {
  ChosenReads,
  makeReadPreference,
  ReadPreference,
  RoleReads,
} from "../../../src/client/replicas/read-preference";
import { ClusterNode, Shard } from "../../../src/cluster/cluster-node";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { isReplicaRead } from "../../../src/command/replica-read";
import { OwnWrites, WriteNotes } from "../../../src/replicas/own-writes";
import { READONLY } from "../../support/readonly-commands";

const command = (name: string): Command => new Command(specOf(name), ["key"], false, new PromiseCompletion());
const node = (port: number, zone?: string): ClusterNode => new ClusterNode({ host: "h", port, zone });

const roleReads = (keyless: "all" | "slave", zone?: string): RoleReads =>
  new RoleReads(keyless, { zone, isNearest: false });

function drawn(reads: RoleReads, shard: Shard, times = 300): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < times; i++) {
    const { key } = reads.choose(shard, command("get"));
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

describe("read preference", () => {
  it("knows the commands that a replica may serve", () => {
    const missing = READONLY.filter((name) => !isReplicaRead(command(name)));
    expect(missing).to.deep.equal([]);
    for (const name of [
      "set",
      "incr",
      "eval",
      "xreadgroup",
      "sort",
      "georadius",
      "bitfield",
      "publish",
      "GET",
      "Get",
    ]) {
      expect(isReplicaRead(command(name)), name).to.equal(false);
    }
  });

  it('"slave" draws among replicas that are usable', () => {
    const [master, one, two] = [node(1), node(2), node(3)] as [ClusterNode, ClusterNode, ClusterNode];
    const shard = new Shard(master, [one, two]);
    const reads = roleReads("slave", undefined);
    expect(Object.keys(drawn(reads, shard)).sort()).to.deep.equal(["h:2", "h:3"]);
    one.isDown = true;
    expect(drawn(reads, shard)).to.deep.equal({ "h:3": 300 });
    two.avoidedUntilMs = performance.now() + 60_000;
    expect(drawn(reads, shard)).to.deep.equal({ "h:1": 300 });
    two.avoidedUntilMs = performance.now() - 1;
    expect(drawn(reads, shard)).to.deep.equal({ "h:3": 300 });
    expect(reads.choose(new Shard(master, []), command("get"))).to.equal(master);
  });

  it('"all" gives every node the same chance', () => {
    const counts = drawn(roleReads("all", undefined), new Shard(node(1), [node(2), node(3)]), 3000);
    for (const count of Object.values(counts)) expect(count).to.be.within(850, 1150);
    expect(Object.keys(counts)).to.have.length(3);
  });

  it("prefers the zone, and does without it when nobody is there", () => {
    const shard = new Shard(node(1, "a"), [node(2, "a"), node(3, "b")]);
    expect(drawn(roleReads("slave", "b"), shard)).to.deep.equal({ "h:3": 300 });
    expect(Object.keys(drawn(roleReads("all", "a"), shard)).sort()).to.deep.equal(["h:1", "h:2"]);
    expect(Object.keys(drawn(roleReads("slave", "c"), shard)).sort()).to.deep.equal(["h:2", "h:3"]);
  });

  it("keeps cursors at the master", () => {
    const shard = new Shard(node(1), [node(2)]);
    for (const name of ["hscan", "sscan", "zscan"])
      expect(roleReads("slave").choose(shard, command(name)), name).to.equal(shard.master);
  });

  it("asks the call first, then own writes, then the option", () => {
    const shard = new Shard(node(1), [node(2)]);
    const writes = new OwnWrites(60_000);
    const keyOf = (reads: ReadPreference, readFrom: "primary" | "replica" | null): string => {
      const read = command("get");
      if (readFrom !== null) read.ensureExtra().readFrom = readFrom;
      return reads.choose(shard, read).key;
    };
    const onRequest = new ReadPreference(null, roleReads("slave"), writes);
    const always = new ReadPreference(roleReads("slave"), roleReads("slave"), writes);
    expect([null, "primary", "replica"].map((one) => keyOf(onRequest, one as null))).to.deep.equal([
      "h:1",
      "h:1",
      "h:2",
    ]);
    expect([null, "primary", "replica"].map((one) => keyOf(always, one as null))).to.deep.equal([
      "h:2",
      "h:1",
      "h:2",
    ]);
    expect([onRequest.roleFor(command("dbsize")), always.roleFor(command("dbsize"))]).to.deep.equal([
      "master",
      "slave",
    ]);
    new WriteNotes(writes).note(command("set"));
    expect([null, "primary", "replica"].map((one) => keyOf(always, one as null))).to.deep.equal([
      "h:1",
      "h:1",
      "h:2",
    ]);
    expect(always.roleFor(command("dbsize"))).to.equal("master");
  });

  it("follows a function, and takes the master for no answer", () => {
    const shard = new Shard(node(1), [node(2)]);
    const chosenBy = (choose: (views: string[]) => string | string[] | null | undefined): string =>
      new ChosenReads<string>(choose, ({ key }) => `view of ${key}`).choose(shard, command("get")).key;
    expect(chosenBy((views) => views[1])).to.equal("h:2");
    expect(chosenBy((views) => views.slice(1))).to.equal("h:2");
    expect(chosenBy(() => [])).to.equal("h:1");
    expect(chosenBy(() => null)).to.equal("h:1");
    expect(chosenBy(() => "a view of another shard")).to.equal("h:1");
  });

  it("follows the option scaleReads", () => {
    const [master, replica] = [node(1), node(2)] as [ClusterNode, ClusterNode];
    replica.role = "slave";
    const shard = new Shard(master, [replica]);
    const readers = (scaleReads: unknown): string[] | null => {
      const made = makeReadPreference({ scaleReads }, null, ({ key }) => key);
      if (made === null) return null;
      return [...new Set(Array.from({ length: 100 }, () => made.choose(shard, command("get")).key))].sort();
    };
    const options = [undefined, "master", "primary", "slave", "all", "nearest", () => "h:2"];
    expect(options.map(readers)).to.deep.equal([
      null,
      null,
      ["h:1"],
      ["h:2"],
      ["h:1", "h:2"],
      ["h:1", "h:2"],
      ["h:2"],
    ]);
  });

  it("lets a call ask for a replica or the master, whatever the option says", () => {
    const [master, replica] = [node(1), node(2)] as [ClusterNode, ClusterNode];
    const shard = new Shard(master, [replica]);
    const reader = (scaleReads: string, readFrom: "replica" | "primary"): string | undefined => {
      const read = command("get");
      read.ensureExtra().readFrom = readFrom;
      return makeReadPreference({ scaleReads }, null, () => null)?.choose(shard, read).key;
    };
    expect([reader("primary", "replica"), reader("slave", "primary")]).to.deep.equal(["h:2", "h:1"]);
  });
});
