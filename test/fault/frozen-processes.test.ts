/**
 * A process that is frozen while its connection dies, as on AWS Lambda, in a paused virtual machine or on a laptop: the first
 * command after the thaw runs once, on a new connection, and its caller does not wait for long.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { guardProcess, releaseProcess } from "../../scripts/servers/orphan-guard";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { FaultProxy } from "../support/fault-proxy";
import { FrozenProcess } from "../support/frozen-process";
import { startServer } from "../support/shared-servers";
import { CpuQuota } from "./cpu-quota";

/** With default options a connection is doubted after 10 s. */
const DOUBTED_AFTER_MS = 10_000;
const QUICK = { watchdog: { idleMs: 100, probeTimeoutMs: 2000 } };
const QUICK_DOUBT_MS = 300;
const THROTTLED = { watchdog: { idleMs: 100, probeTimeoutMs: 1000 }, commandTimeout: 5000 };
/** The promise is 500 ms; the rest is for a machine that is busy with other tests. */
const LONGEST_MS = 2000;

describe("frozen processes", function () {
  this.timeout(60_000);
  let server: ServerProcess;
  let proxy: FaultProxy;
  let child: FrozenProcess;
  let quota: CpuQuota | null = null;

  before(async () => {
    server = await startServer(ServerKind.Redis);
  });
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    await server.command("FLUSHALL");
  });
  afterEach(async () => {
    await child.end();
    quota?.remove();
    quota = null;
    await proxy.stop();
  });

  async function start(options: object = {}): Promise<void> {
    child = new FrozenProcess({ port: proxy.port, options });
    expect((await child.ask("incr")).replies).to.deep.equal([1]);
  }

  async function callsOf(name: string): Promise<number> {
    const stats = String(await server.command("INFO", "commandstats"));
    return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }

  it("with default options: the first reply comes soon on a new connection, and nothing runs twice", async () => {
    await start();
    proxy.isolate();
    await child.freeze(DOUBTED_AFTER_MS + 500);
    const { replies, firstMs } = await child.ask("incr incr get");
    console.log(`      the first reply after ${Math.round(firstMs)} ms`);
    expect(replies).to.deep.equal([2, 3, "3"]);
    expect(firstMs).to.be.below(LONGEST_MS);
  });

  for (const retryPolicy of ["at-least-once", "at-most-once"] as const) {
    it(`no command is in doubt, ${retryPolicy}, again and again`, async () => {
      await start({ ...QUICK, retryPolicy });
      for (let round = 1; round <= 3; round++) {
        proxy.isolate();
        await child.freeze(QUICK_DOUBT_MS);
        const { replies, firstMs } = await child.ask("incr incr");
        expect(replies).to.deep.equal([2 * round, 2 * round + 1]);
        expect(firstMs).to.be.below(LONGEST_MS);
      }
    });
  }

  it("a suspended system, whose timers stood still: the date tells", async () => {
    await start();
    proxy.isolate();
    child.signal("SIGUSR2");
    // The signal is handled before the next line is read, or a turn later.
    await sleep(100);
    const { replies, firstMs } = await child.ask("incr incr");
    expect(replies).to.deep.equal([2, 3]);
    expect(firstMs).to.be.below(LONGEST_MS);
  });

  it("a connection that is alive is asked once after a silence, and kept", async () => {
    await start(QUICK);
    const connections = await callsOf("hello");
    const pings = await callsOf("ping");
    for (let round = 1; round <= 3; round++) {
      await child.freeze(QUICK_DOUBT_MS);
      expect((await child.ask("incr incr incr")).replies).to.deep.equal([
        3 * round - 1,
        3 * round,
        3 * round + 1,
      ]);
      expect((await child.ask("get")).replies).to.deep.equal([String(3 * round + 1)]);
    }
    expect(await callsOf("ping")).to.equal(pings + 3);
    expect(await callsOf("hello"), "connections").to.equal(connections);
  });

  it("a busy connection is never asked", async () => {
    await start(QUICK);
    const pings = await callsOf("ping");
    for (let round = 1; round <= 20; round++) {
      await child.ask("incr");
      await sleep(30);
    }
    expect(await callsOf("ping")).to.equal(pings);
  });

  /** The client may ask about its connection over another one meanwhile. */
  async function expectOneConnection(): Promise<void> {
    const { replies: ids } = await child.ask("client:id");
    for (let round = 1; round <= 10; round++) {
      const { replies } = await child.ask("incr incr");
      expect(replies).to.deep.equal([2 * round, 2 * round + 1]);
      if (round % 3 === 0) await sleep(QUICK_DOUBT_MS);
    }
    expect((await child.ask("client:id")).replies, "the connection").to.deep.equal(ids);
  }

  it("a process that gets 20 of every 100 ms keeps its connection", async () => {
    await start(THROTTLED);
    let isOver = false;
    const throttle = (async () => {
      while (!isOver) {
        child.signal("SIGSTOP");
        await sleep(80);
        child.signal("SIGCONT");
        await sleep(20);
      }
    })();
    try {
      await expectOneConnection();
    } finally {
      isOver = true;
      await throttle;
    }
  });

  // Without permission to limit CPU time, the stopped process above is the only check.
  if (CpuQuota.isPermitted()) {
    it("a process keeps its connection in a container that has used up its CPU time", async () => {
      await start(THROTTLED);
      quota = CpuQuota.create(0.25);
      const busy = spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });
      guardProcess(busy.pid as number);
      try {
        for (const { pid } of [busy, child]) quota.add(pid as number);
        await expectOneConnection();
      } finally {
        busy.kill("SIGKILL");
        await once(busy, "exit");
        releaseProcess(busy.pid as number);
      }
    });
  }
});
