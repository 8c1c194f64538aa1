/**
 * Harm done to real clusters under load, with exact books (see cluster-load). After each fault
 * every call has settled once, nothing was refused, no acknowledged write is missing beyond what
 * a killed master had not replicated, no transaction was run in part, and no answered command was
 * sent again. Once on each kind of server, ten times in the long run.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { freePort } from "../../scripts/servers/free-port";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { ClusterLoad, type LoadReport, loadedSlots } from "../support/cluster-load";
import { FaultProxy } from "../support/fault-proxy";
import { serverKinds } from "../support/shared-servers";

const LONG = process.env.SLUICE_LONG === "1";
const ROUNDS = LONG ? 10 : 1;
/** How many slots the node that joins takes. All nodes agree about a move after a second or two. */
const SLOTS_TAKEN = LONG ? 12 : 4;
const FAULT_TIMEOUT_MS = 180_000;

const KINDS = serverKinds().filter((kind) => kind !== ServerKind.Redis8);

/** The cluster of the kind that is being tested. */
let fixture: ClusterFixture;

/** Runs the load, does the harm, and returns what the books say. */
async function underLoad(
  options: ClusterOptions,
  harm: (load: ClusterLoad) => Promise<void>,
): Promise<LoadReport> {
  const plain = fixture.connect(options);
  const auto = fixture.connect({ ...options, enableAutoPipelining: true });
  await Promise.all([untilClusterReady(plain), untilClusterReady(auto)]);
  const load = new ClusterLoad(plain, auto);
  return runLoad(load, harm);
}

async function runLoad(load: ClusterLoad, harm: (load: ClusterLoad) => Promise<void>): Promise<LoadReport> {
  load.start();
  try {
    await sleep(500);
    load.markHarm();
    await harm(load);
    await load.untilAllAnswered();
    await sleep(300);
  } catch (error) {
    await load.finish();
    throw error;
  }
  return load.finish();
}

function expectClean(what: string, report: LoadReport): void {
  const { acknowledged, batches, resent, lost, recoveryMs, refusals } = report;
  console.log(
    `      ${what}: ${acknowledged} acknowledged in ${batches} batches, ${resent} sent again, ${lost} lost, recovered in ${recoveryMs} ms`,
  );
  expect([...new Set(refusals)].slice(0, 5), "refused").to.deep.equal([]);
  expect(report.answeredAgain, "answered commands sent again").to.equal(0);
  expect(report.surplus, "increments too many").to.equal(0);
  expect(report.lostBeyondReplication, "acknowledged increments missing").to.equal(0);
  expect(report.torn, "transactions run in part").to.equal(0);
  expect(acknowledged).to.be.greaterThan(1000);
}

function rounds(name: string, body: () => Promise<void>): void {
  for (let round = 1; round <= ROUNDS; round++) {
    it(ROUNDS === 1 ? name : `${name} (${round} of ${ROUNDS})`, body).timeout(FAULT_TIMEOUT_MS);
  }
}

for (const kind of KINDS) {
  describe(`cluster: faults under load, ${kind}`, () => faults(kind));
}

function faults(kind: ServerKind): void {
  const own = new ClusterFixture(kind, { config: { appendonly: "yes", "shutdown-timeout": 0 } });
  before(() => {
    fixture = own;
  });
  own.install();
  const proxies: FaultProxy[] = [];

  beforeEach(async function () {
    this.timeout(FAULT_TIMEOUT_MS);
    await fixture.cluster.untilHealthy();
    await fixture.flush();
  });
  afterEach(async () => {
    await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
  });

  rounds("slots move back and forth all the time", async () => {
    const { cluster } = fixture;
    const report = await underLoad({}, async () => {
      const endAt = Date.now() + 4000;
      for (const slot of loadedSlots(1000)) {
        if (Date.now() > endAt) break;
        const owner = await cluster.ownerOf(slot);
        const other = (await cluster.masters()).find((master) => master !== owner) as ServerProcess;
        await cluster.moveSlot(slot, other);
        await cluster.moveSlot(slot, owner);
      }
    });
    expectClean("slots moved", report);
    expect(report.lost).to.equal(0);
  });

  rounds("a master is killed and its replica takes over", async () => {
    const { cluster } = fixture;
    const [victim] = (await cluster.masters()) as [ServerProcess];
    const report = await underLoad({}, async (load) => {
      await victim.kill();
      await waitUntil(async () => (await cluster.masters()).length === 3, {
        timeoutMs: 20_000,
        what: "the replica to take over",
      });
      console.log(`      the replica took over after ${Math.round(load.sinceHarmMs)} ms`);
    });
    await victim.start();
    expectClean("master killed", report);
  });

  rounds("the connections of a node are cut", async () => {
    const natMap: Record<string, { host: string; port: number }> = {};
    for (const { host, port } of fixture.cluster.nodes) {
      const proxy = await FaultProxy.start({ host, port });
      proxies.push(proxy);
      natMap[`${host}:${port}`] = { host: proxy.host, port: proxy.port };
    }
    const report = await underLoad({ natMap }, async (load) => {
      for (let cut = 0; cut < 10; cut++) {
        for (const proxy of proxies) proxy.cutAll("reset");
        await load.untilAllAnswered();
      }
    });
    expectClean("connections cut", report);
    expect(report.lost).to.equal(0);
  });

  rounds("a master is paused and replaced", async () => {
    const { cluster } = fixture;
    const [victim] = (await cluster.masters()) as [ServerProcess];
    const report = await underLoad({}, async (load) => {
      victim.pause();
      const successors = async (): Promise<number> => {
        const lines = await cluster.lines(otherThan(victim));
        return lines.filter((line) => isServingMaster(line) && line.port !== victim.port).length;
      };
      await waitUntil(async () => (await successors()) === 3, {
        timeoutMs: 20_000,
        what: "the replica to take over",
      });
      console.log(`      the replica took over after ${Math.round(load.sinceHarmMs)} ms`);
    });
    victim.resume();
    expectClean("master paused", report);
  });

  rounds("all nodes come back on other ports", async () => {
    const { cluster } = fixture;
    const resolveSrv: ClusterOptions["resolveSrv"] = (_name, callback) =>
      callback(
        null,
        cluster.nodes.map(({ host, port }) => ({ name: host, port, priority: 1, weight: 1 })),
      );
    const nodes = cluster.nodes;
    const plain = fixture.connectTo([{ host: "cluster.example" }], { useSRVRecords: true, resolveSrv });
    const auto = fixture.connectTo([{ host: "cluster.example" }], {
      useSRVRecords: true,
      resolveSrv,
      enableAutoPipelining: true,
    });
    await Promise.all([untilClusterReady(plain), untilClusterReady(auto)]);
    const report = await runLoad(new ClusterLoad(plain, auto), async () => {
      await Promise.all(nodes.map((node) => node.shutDown()));
      for (const node of nodes) node.port = await freePort();
      await Promise.all(nodes.map((node) => node.start()));
    });
    expectClean("all ports changed", report);
    expect(report.lost).to.equal(0);
  });

  rounds("a node joins, takes slots, and leaves again", async () => {
    const { cluster } = fixture;
    const report = await underLoad({}, async () => {
      const slots = loadedSlots(SLOTS_TAKEN);
      const added = await cluster.addNode();
      await cluster.untilHealthy();
      for (const slot of slots) await cluster.moveSlot(slot, added);
      await sleep(300);
      const [home] = (await cluster.masters()).filter((master) => master !== added) as [ServerProcess];
      for (const slot of slots) await cluster.moveSlot(slot, home);
      await cluster.removeNode(added);
      await sleep(300);
    });
    expectClean("node added and removed", report);
    expect(report.lost).to.equal(0);
  });
}

function isServingMaster({
  flags,
  slotRanges,
}: {
  flags: readonly string[];
  slotRanges: readonly unknown[];
}): boolean {
  return slotRanges.length > 0 && flags.includes("master") && !flags.includes("fail");
}

function otherThan(node: ServerProcess): ServerProcess {
  return fixture.cluster.nodes.find((other) => other !== node && other.isRunning) as ServerProcess;
}
