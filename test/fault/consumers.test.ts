/**
 * Consumer processes that are killed under load: no message is lost, and only messages of killed processes are processed
 * twice.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { guardProcess, releaseProcess } from "../../scripts/servers/orphan-guard";
import { waitUntil } from "../../scripts/servers/wait-until";
import { matrix } from "../support/matrix";
import type { ConsumerTask } from "./consumer-program";

const LONG = process.env.SLUICE_LONG === "1";
const PROGRAM = join(__dirname, "consumer-program.js");
const KILLS = LONG ? 40 : 2;
const CONSUMERS = LONG ? 4 : 2;
const LIMIT = { timeoutMs: LONG ? 600_000 : 60_000, what: "all messages to be acknowledged" };

class Processes {
  readonly killed = new Set<string>();
  private readonly running = new Map<string, ChildProcess>();
  private count = 0;

  constructor(private readonly port: number) {}

  start(): void {
    const consumer = `consumer-${++this.count}`;
    const task: ConsumerTask = { port: this.port, consumer, claimIdleMs: 1500, concurrency: 5, workMs: 2 };
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(task)], {
      env: { ...process.env, NODE_V8_COVERAGE: "" },
      stdio: "inherit",
    });
    guardProcess(child.pid as number);
    this.running.set(consumer, child);
  }

  /** Kills the oldest one, and starts another. */
  async killOne(): Promise<void> {
    const [[consumer, child] = []] = this.running;
    if (consumer === undefined || child === undefined) throw new Error("No consumer is running");
    this.killed.add(consumer);
    this.running.delete(consumer);
    await end(child, "SIGKILL");
    this.start();
  }

  /** Returns the exit codes. */
  async stop(signal: NodeJS.Signals): Promise<(number | null)[]> {
    const children = [...this.running.values()];
    this.running.clear();
    return Promise.all(children.map((child) => end(child, signal)));
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
  child.kill(signal);
  await exited;
  releaseProcess(child.pid as number);
  return child.exitCode;
}

describe("killed consumers", function () {
  this.timeout(LIMIT.timeoutMs + 30_000);
  let processes: Processes;
  afterEach(() => processes.stop("SIGKILL"));

  const where = LONG ? {} : { servers: [ServerKind.Redis] };
  const options = { protocols: [3], autoPipelining: [false], ...where } as const;
  matrix("lose no message", options, async ({ redis, server }) => {
    processes = new Processes(server.port);
    await redis.xgroup("CREATE", "jobs", "workers", "0", "MKSTREAM");
    for (let n = 0; n < CONSUMERS; n++) processes.start();
    let added = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await redis.llen("done");
      while ((await redis.llen("done")) < before + 100) {
        await Promise.all(Array.from({ length: 10 }, () => redis.xadd("jobs", "*", "n", added++)));
        await sleep(5);
      }
      await processes.killOne();
    }
    const isDone = async (): Promise<boolean> => {
      const [group = []] = (await redis.xinfo("GROUPS", "jobs")) as unknown[][];
      const factOf = (name: string): unknown => group[group.indexOf(name) + 1];
      const [last] = await redis.xrevrange("jobs", "+", "-", "COUNT", 1);
      return factOf("pending") === 0 && factOf("last-delivered-id") === last?.[0];
    };
    await waitUntil(isDone, LIMIT);
    expect(await processes.stop("SIGTERM")).to.deep.equal(Array(CONSUMERS).fill(0));
    const processed = new Map<string, string[]>();
    for (const line of await redis.lrange("done", 0, -1)) {
      const [id, consumer] = JSON.parse(line) as [string, string, number];
      processed.set(id, [...(processed.get(id) ?? []), consumer]);
    }
    const ids = (await redis.xrange("jobs", "-", "+")).map(([id]) => id);
    expect(ids.filter((id) => !processed.has(id))).to.deep.equal([]);
    expect(ids).to.have.length(added);
    // All but the last consumer of a message died before its acknowledgement.
    const twice = [...processed.values()].flatMap((consumers) => consumers.slice(0, -1));
    expect(twice.filter((consumer) => !processes.killed.has(consumer))).to.deep.equal([]);
  });
});
