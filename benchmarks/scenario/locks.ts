/**
 * Twenty contenders for one lock, with `lock()` of sluice and with packages for locks. Each contender has its
 * own connection. A second phase loses connections all the time, and counts simultaneous holders.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { installPackages, requirePackage, versionsOfPackages } from "../applications/packages";
import { ioredisClassOf, type SideName } from "../sides/all-sides";
import type { Address } from "../sides/side";
import { BareClient } from "../support/bare-client";
import { type Figures, Meter } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

/** One contender. */
interface Contender {
  acquire(): Promise<Held>;
  /** Commands that its client has sent. */
  sent(): number;
  close(): void;
}

interface Held {
  /** False once the holder knows that it has lost the lock. */
  isHeld(): boolean;
  release(): Promise<unknown>;
}

interface LockRow extends Row {
  open(side: SideName, address: Address): Contender;
}

const CONTENDERS = 20;
const KEY = "locks:job";
const TTL_MS = 2000;
const WAIT_MS = 60_000;
/** What the holder does. */
const WORK_MS = 2;
/** A contender does something else before it competes again. Otherwise the last holder, which polls first, gets the lock. */
const REST_MS = 20;
const WARM_MS = 500;
const MEASURE_MS = 4000;
const FAULTS_MS = 4000;
/** A connection lives for long enough that its client reconnects after the shortest delay. */
const BETWEEN_FAULTS_MS = 500;

interface IoredisClient {
  sendCommand(command: unknown, ...rest: unknown[]): unknown;
  on(event: "error", listener: () => void): unknown;
  disconnect(): void;
}

interface SluiceClient extends IoredisClient {
  lock(key: string, options: object): Promise<{ readonly signal: AbortSignal; release(): Promise<unknown> }>;
  stats(): { readonly flushes: { readonly commands: number } };
}

function openSluice(side: SideName, { host, port }: Address): Contender {
  const Redis = ioredisClassOf(side) as unknown as new (options: object) => SluiceClient;
  const client = new Redis({ host, port });
  client.on("error", () => {});
  return {
    acquire: async () => {
      const lock = await client.lock(KEY, { ttl: TTL_MS, wait: WAIT_MS });
      return { isHeld: () => !lock.signal.aborted, release: () => lock.release() };
    },
    sent: () => client.stats().flushes.commands,
    close: () => client.disconnect(),
  };
}

/** A package on a client of ioredis whose commands are counted. */
function openOnIoredis(
  side: SideName,
  { host, port }: Address,
  acquireWith: (client: IoredisClient) => () => Promise<Held>,
): Contender {
  const Redis = ioredisClassOf(side) as unknown as new (options: object) => IoredisClient;
  const client = new Redis({ host, port });
  client.on("error", () => {});
  let sent = 0;
  const send = client.sendCommand;
  client.sendCommand = function (command, ...rest) {
    sent++;
    return send.call(this, command, ...rest);
  };
  return { acquire: acquireWith(client), sent: () => sent, close: () => client.disconnect() };
}

type RedlockClass = new (
  clients: readonly unknown[],
  settings: object,
) => {
  acquire(resources: string[], ttlMs: number): Promise<{ release(): Promise<unknown> }>;
  on(event: "error", listener: () => void): unknown;
};

/** Their own intervals; only the number of attempts is raised, so that no contender gives up. */
function openRedlock(name: string, retryCount: number): LockRow["open"] {
  return (side, address) =>
    openOnIoredis(side, address, (client) => {
      const exports = requirePackage<RedlockClass & { Redlock?: RedlockClass; default?: RedlockClass }>(name);
      const Redlock = exports.Redlock ?? exports.default ?? exports;
      const redlock = new Redlock([client], { retryCount });
      redlock.on("error", () => {});
      return async () => {
        const lock = await redlock.acquire([KEY], TTL_MS);
        return { isHeld: () => true, release: () => lock.release() };
      };
    });
}

const openSemaphore: LockRow["open"] = (side, address) =>
  openOnIoredis(side, address, (client) => {
    const { Mutex } = requirePackage<{
      Mutex: new (
        client: unknown,
        key: string,
        options: object,
      ) => { readonly isAcquired: boolean; acquire(): Promise<void>; release(): Promise<void> };
    }>("redis-semaphore");
    return async () => {
      const options = { lockTimeout: TTL_MS, acquireTimeout: WAIT_MS, onLockLost: () => {} };
      const mutex = new Mutex(client, KEY, options);
      await mutex.acquire();
      return { isHeld: () => mutex.isAcquired, release: () => mutex.release() };
    };
  });

export const locks: Scenario<LockRow> = {
  id: "locks",
  rounds: 3,
  title: "Locks",
  about:
    "20 contenders for one lock, each with its own connection. The holder works for 2 ms and competes again after 20 ms. Commands: those of all clients for each acquisition. Hand-over: from the call of `release()` to the next holder. Then connections are killed every 500 ms for 4 s. The last column counts acquisitions while another holder had neither released the lock nor noticed its loss. The packages use their default intervals.",
  columns: [
    { figure: "commandsEach", title: "commands/acquisition", digits: 1, pick: "median" },
    { figure: "p50Ms", title: "hand-over p50 ms", digits: 1, pick: "median" },
    { figure: "p99Ms", title: "hand-over p99 ms", digits: 1, pick: "median" },
    { figure: "opsPerSecond", title: "acquisitions/s", digits: 0, pick: "median" },
    { figure: "cpuMicros", title: "CPU µs/acquisition", digits: 0, pick: "least" },
    { figure: "underFaults", title: "acquisitions with faults", digits: 0, pick: "median" },
    { figure: "doubleHolders", title: "double holders", digits: 0, pick: "median" },
  ],
  rows: [
    { id: "lock-sluice", title: "`redis.lock()`", sides: ["sluice", "before"], open: openSluice },
    { id: "lock-redlock", title: "redlock 5", sides: ["ioredis"], open: openRedlock("redlock", -1) },
    {
      id: "lock-sesamecare",
      title: "@sesamecare-oss/redlock",
      sides: ["ioredis"],
      open: openRedlock("@sesamecare-oss/redlock", 100_000),
    },
    { id: "lock-semaphore", title: "redis-semaphore", sides: ["ioredis"], open: openSemaphore },
  ],
  before: installPackages,
  versions: versionsOfPackages,
  measure: measureLocks,
};

/** What all contenders do together. */
class Contest {
  readonly handOvers = new LatencyRecorder();
  acquisitions = 0;
  doubleHolders = 0;
  private releasedAtMs = 0;
  private readonly holders = new Set<Held>();

  constructor(private readonly contenders: readonly Contender[]) {}

  async run(durationMs: number): Promise<void> {
    const endMs = performance.now() + durationMs;
    await Promise.all(this.contenders.map((contender) => this.compete(contender, endMs)));
    this.releasedAtMs = 0;
  }

  private async compete(contender: Contender, endMs: number): Promise<void> {
    while (performance.now() < endMs) {
      try {
        await this.hold(await contender.acquire());
        await sleep(REST_MS);
      } catch {
        // A lost connection: the next attempt follows.
        await sleep(1);
      }
    }
  }

  private async hold(held: Held): Promise<void> {
    if (this.releasedAtMs > 0) this.handOvers.record(performance.now() - this.releasedAtMs);
    this.releasedAtMs = 0;
    this.acquisitions++;
    if ([...this.holders].some((other) => other.isHeld())) this.doubleHolders++;
    this.holders.add(held);
    try {
      await sleep(WORK_MS);
    } finally {
      this.holders.delete(held);
      this.releasedAtMs = performance.now();
      // A package may retry the release of a lock that has expired for as long as it tries to acquire one.
      await Promise.race([held.release(), sleep(TTL_MS)]);
    }
  }
}

async function measureLocks(row: LockRow, context: SampleContext): Promise<Figures> {
  const address = context.target.nodes[0] as Address;
  const contenders = Array.from({ length: CONTENDERS }, () => row.open(context.sideName, address));
  const sent = (): number => contenders.reduce((sum, contender) => sum + contender.sent(), 0);
  await new Contest(contenders).run(WARM_MS);
  const quiet = new Contest(contenders);
  const before = sent();
  const meter = new Meter();
  meter.start();
  await quiet.run(MEASURE_MS);
  const figures = await meter.stop(quiet.acquisitions);
  const commandsEach = (sent() - before) / quiet.acquisitions;
  const { p50Micros = 0, p99Micros = 0 } = quiet.handOvers.quantiles() ?? {};
  const shaken = new Contest(contenders);
  const stop = await killConnections(address);
  await shaken.run(FAULTS_MS);
  await stop();
  for (const contender of contenders) contender.close();
  return {
    ...figures,
    commandsEach,
    p50Ms: p50Micros / 1000,
    p99Ms: p99Micros / 1000,
    underFaults: shaken.acquisitions,
    doubleHolders: quiet.doubleHolders + shaken.doubleHolders,
  };
}

/** Kills all connections but its own again and again; returns what ends it. */
async function killConnections(address: Address): Promise<() => Promise<void>> {
  const admin = await BareClient.open(address);
  let isRunning = true;
  const killing = (async () => {
    while (isRunning) {
      await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await sleep(BETWEEN_FAULTS_MS);
    }
  })();
  return async () => {
    isRunning = false;
    await killing;
    admin.close();
  };
}
