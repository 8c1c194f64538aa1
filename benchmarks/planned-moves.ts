/**
 * Planned moves of a scripted managed server, with sluice and node-redis: how many calls are rejected, run twice or
 * wait. Each run has a process of its own, because a client may end it.
 *
 *   node build/benchmarks/planned-moves.js
 */

import { spawnSync } from "node:child_process";
import { connect, createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";
import { Redis } from "../src/index";
import { type Endpoint, ManagedServer } from "../test/support/managed-server";
import { terminalTable } from "./report/format";
import { LatencyRecorder } from "./support/statistics";

const SIDES = ["sluice", "sluice without notices", "node-redis"] as const;
const KINDS = ["no move", "named", "null", "dead", "IPv6", "BLPOP"] as const;
type Kind = (typeof KINDS)[number];
type Side = (typeof SIDES)[number];

const CALLERS = 50;
const MOVES = 20;
/** The server replies so late. */
const SERVER_MS = 2;
const BETWEEN_MS = 250;
/** The former server closes its connections so long after the notice. */
const GRACE_MS = 200;
const LONGEST_RUN_MS = 15_000;

interface Client {
  incr(key: string): Promise<number>;
  blpop(key: string): Promise<unknown>;
  close(): void;
}

async function open(side: Side, port: number): Promise<Client> {
  const host = "127.0.0.1";
  if (side === "node-redis") {
    const options = { url: `redis://${host}:${port}`, RESP: 3, maintNotifications: "enabled" };
    const client = createClient(options as never);
    client.on("error", () => {});
    await client.connect();
    return {
      incr: (key) => client.incr(key) as Promise<number>,
      blpop: (key) => client.blPop(key, 0),
      close: () => client.destroy(),
    };
  }
  const redis = new Redis({
    host,
    port,
    maintenance: side === "sluice" ? "on" : false,
    enableReadyCheck: false,
  });
  redis.on("error", () => {});
  return {
    incr: (key) => redis.incr(key),
    blpop: (key) => redis.blpop(key, 0),
    close: () => redis.disconnect(),
  };
}

/** A relay that waits for acknowledgements (Nagle) would delay the last replies of a connection by 40 ms. */
const AT_ONCE = { noDelay: true };

/** The configured address: leads to the server that is the present one. */
async function startFront(present: () => Endpoint): Promise<Server> {
  const front = createServer(AT_ONCE, (socket) => {
    const inner = connect({ ...AT_ONCE, port: present().port, host: "127.0.0.1" });
    socket.pipe(inner).pipe(socket);
    const end = (): void => {
      socket.destroy();
      inner.destroy();
    };
    for (const one of [socket, inner]) one.on("error", end).on("close", end);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  return front;
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port;
}

interface Books {
  answered: number;
  rejected: number;
  readonly latencies: LatencyRecorder;
}

async function run(side: Side, kind: Kind): Promise<void> {
  const server = await ManagedServer.start(1);
  let present = server.endpoints[0] as Endpoint;
  present.delayMs = SERVER_MS;
  const front = await startFront(() => present);
  const client = await open(side, portOf(front));
  const books: Books = { answered: 0, rejected: 0, latencies: new LatencyRecorder() };
  let isRunning = true;
  const caller = async (): Promise<void> => {
    while (isRunning) {
      const beganMs = performance.now();
      await client.incr("n").then(
        () => books.answered++,
        () => books.rejected++,
      );
      books.latencies.record(performance.now() - beganMs);
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  await sleep(BETWEEN_MS);
  for (let round = 0; round < (kind === "no move" ? 0 : MOVES); round++) {
    const former = present;
    present = await server.add();
    present.delayMs = SERVER_MS;
    const next = kind === "IPv6" ? await startIPv6(present) : null;
    if (kind === "BLPOP") void client.blpop("list").catch(() => {});
    await sleep(10);
    const seconds = kind === "null" ? 0 : 1;
    former.announce("MOVING", server.next(), seconds, targetOf(kind, present, next));
    setTimeout(() => former.close(), GRACE_MS);
    await sleep(BETWEEN_MS);
  }
  if (kind === "no move") await sleep(MOVES * BETWEEN_MS);
  isRunning = false;
  const isOver = await Promise.race([Promise.all(callers), sleep(5000).then(() => null)]);
  const { p50Micros, p99Micros } = books.latencies.quantiles() ?? { p50Micros: 0, p99Micros: 0 };
  const twice = (server.counters.get("n") ?? 0) - books.answered - books.rejected;
  process.stdout.write(
    JSON.stringify([
      books.answered,
      books.rejected,
      twice,
      p50Micros / 1000,
      p99Micros / 1000,
      isOver === null ? "hangs" : "ends",
    ]),
  );
  process.exit(0);
}

async function startIPv6({ port }: Endpoint): Promise<Server> {
  const relay = createServer(AT_ONCE, (socket) =>
    socket.pipe(connect({ ...AT_ONCE, port, host: "127.0.0.1" })).pipe(socket),
  );
  await new Promise<void>((resolve) => relay.listen(0, "::1", resolve));
  return relay;
}

function targetOf(kind: Kind, present: Endpoint, relay: Server | null): string | null {
  if (kind === "null") return null;
  if (kind === "dead") return "127.0.0.1:1";
  return relay === null ? present.address : `[::1]:${portOf(relay)}`;
}

function main(): void {
  const [side, kind] = process.argv.slice(2) as [Side?, Kind?];
  if (side !== undefined && kind !== undefined) {
    void run(side, kind);
    return;
  }
  const body = KINDS.flatMap((one) =>
    SIDES.map((name) => {
      const { stdout, status, signal } = spawnSync(process.execPath, [__filename, name, one], {
        encoding: "utf8",
        timeout: LONGEST_RUN_MS,
        stdio: ["ignore", "pipe", "ignore"],
      });
      if (stdout === "")
        return [one, name, "", "", "", "", "", signal === null ? `process ended (${status})` : "hangs"];
      const [answered, rejected, twice, p50, p99, end] = JSON.parse(stdout) as [
        number,
        number,
        number,
        number,
        number,
        string,
      ];
      return [
        one,
        name,
        String(answered),
        String(rejected),
        String(twice),
        p50.toFixed(1),
        p99.toFixed(1),
        end,
      ];
    }),
  );
  const head = ["move", "client", "answered", "rejected", "run twice", "p50 ms", "p99 ms", "callers"];
  process.stdout.write(`${terminalTable({ head, body })}\n`);
}

main();
