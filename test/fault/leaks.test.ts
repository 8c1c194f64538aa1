/**
 * Guarantee 12, first half: clients that were opened and closed leave no socket, timer or
 * listener, and no memory. Each kind of life runs in a process of its own, one client after
 * another and fifty side by side; the process then has to end by itself.
 */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { Certificates } from "../../scripts/servers/certificates";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { supportsTls } from "../../scripts/servers/server-binary";
import { ServerCluster } from "../../scripts/servers/server-cluster";
import { ServerProcess } from "../../scripts/servers/server-process";
import { ServerSentinels } from "../../scripts/servers/server-sentinels";
import { waitUntil } from "../../scripts/servers/wait-until";
import { sharedServer } from "../support/shared-servers";
import type { LeakReport, LeakTask } from "./leak-program";

const run = promisify(execFile);
const LONG = process.env.SLUICE_LONG === "1";
const TIMEOUT_MS = LONG ? 300_000 : 120_000;
/**
 * The memory that the engine itself keeps and moves (compiled code, feedback, pools) spread over the
 * clients; one client that stays takes more than twenty times as much, and is counted besides.
 */
const NOISE_BYTES = 768 * 1024;
const PROGRAM = join(__dirname, "leak-program.js");

async function livesOf(task: LeakTask): Promise<LeakReport> {
  // Coverage holds on to what it has seen.
  const env = { ...process.env, NODE_V8_COVERAGE: "" };
  const { stdout } = await run(process.execPath, ["--expose-gc", PROGRAM, JSON.stringify(task)], {
    env,
    timeout: TIMEOUT_MS - 5_000,
  });
  return JSON.parse(stdout) as LeakReport;
}

/** For TLS the sockets of the server close a moment after ours. */
async function untilOnlyWeAreConnected(server: ServerProcess): Promise<void> {
  const isAlone = async (): Promise<boolean> =>
    String(await server.command("INFO", "clients")).includes("connected_clients:1\r\n");
  await waitUntil(isAlone, { timeoutMs: 10_000, what: "the server to have no connection but ours" });
}

function keptBy({ clients, heapBytesPerClient }: LeakReport): number {
  return clients * heapBytesPerClient;
}

/**
 * Compiled code comes late on a busy machine, and to an end. A leak takes three times as much from three times as many,
 * so what counts is how much more those keep.
 */
async function settledReport(task: LeakTask): Promise<LeakReport> {
  let last = await livesOf(task);
  let report = last;
  for (const times of [3, 9]) {
    if (keptBy(report) < NOISE_BYTES) break;
    const more = await livesOf({ ...task, count: times * task.count });
    report = { ...more, heapBytesPerClient: (keptBy(more) - keptBy(last)) / more.clients };
    last = more;
  }
  return report;
}

function expectNothingLeft(report: LeakReport, life: string): void {
  const { clients, alive, heapBytesPerClient, outsideBytesPerClient } = report;
  console.log(
    `      ${life}: ${clients} clients, ${alive} alive, ${Math.round(heapBytesPerClient)} + ${outsideBytesPerClient} bytes kept by each`,
  );
  const { left, processListeners, signalListeners } = report;
  expect({ left, processListeners, signalListeners }).to.deep.equal({
    left: {},
    processListeners: 0,
    signalListeners: 0,
  });
  // The one that came last may still be held by the frame that made it.
  expect(alive, "clients alive").to.be.at.most(1);
  expect(keptBy(report), "bytes of heap kept").to.be.below(NOISE_BYTES);
  expect(outsideBytesPerClient * clients, "bytes of buffers kept").to.be.below(NOISE_BYTES);
}

describe("clients that were closed leave nothing", function () {
  this.timeout(TIMEOUT_MS);
  // Started out here, where the leak check of a single test does not see it.
  before(() => sharedServer(ServerKind.Redis));

  const counts: Partial<Record<LeakTask["life"], number>> = {
    plain: 1000,
    "closed too early": 400,
    "never connected": 400,
    "pub/sub": 200,
    "blocking connections": 200,
    "limits and signals": 300,
    watchdog: 100,
    "duplicates and monitors": 150,
  };

  for (const [life, count] of Object.entries(counts) as [LeakTask["life"], number][]) {
    it(life, async () => {
      const server = await sharedServer(ServerKind.Redis);
      const redis = { host: server.host, port: server.port };
      const lives = LONG ? Math.max(1000, count) : count;
      expectNothingLeft(await settledReport({ life, count: lives, redis }), life);
      await untilOnlyWeAreConnected(server);
    });
  }

  it("TLS", async function () {
    const binary = await findServer(ServerKind.Redis);
    if (!(await supportsTls(binary.path))) {
      console.log("      skipped: this server was built without TLS");
      this.skip();
    }
    const certificates = new Certificates();
    const server = await ServerProcess.start({ binary, tls: certificates });
    try {
      const { ca, cert, key } = certificates.clientOptions();
      const tls = { ca: String(ca), cert: String(cert), key: String(key) };
      const redis = { host: server.host, port: server.port, tls };
      expectNothingLeft(await livesOf({ life: "plain", count: LONG ? 1000 : 200, redis }), "TLS");
      await untilOnlyWeAreConnected(server);
    } finally {
      await server.stop();
    }
  });

  it("Cluster", async () => {
    const binary = await findServer(ServerKind.Redis);
    const servers = await ServerCluster.start({ binary, replicasPerMaster: 0 });
    try {
      const report = await livesOf({ life: "cluster", count: LONG ? 500 : 60, cluster: servers.seeds });
      expectNothingLeft(report, "Cluster");
      for (const node of servers.nodes) await untilOnlyWeAreConnected(node);
    } finally {
      await servers.stop();
    }
  });

  it("Sentinel", async () => {
    const binary = await findServer(ServerKind.Redis);
    const group = await ServerSentinels.start({ binary, replicas: 1, sentinels: 2 });
    try {
      const redis = { sentinels: group.addresses, name: group.groupName };
      expectNothingLeft(await livesOf({ life: "sentinel", count: LONG ? 500 : 100, redis }), "Sentinel");
    } finally {
      await group.stop();
    }
  });
});
