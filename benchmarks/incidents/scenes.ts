/** Three incidents of real services, reproduced with a client under a constant load. */

import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerCluster } from "../../scripts/servers/server-cluster";
import { ServerProcess } from "../../scripts/servers/server-process";
import { Cluster, Redis } from "../../src/index";
import { record, type Sample } from "./recording";

const CALLERS = 50;
const PAUSE_MS = 2;
const KEYS = 20_000;
const CALM_MS = 3_000;
const TROUBLE_MS = 3_000;
const HOT_CALLS = 1_000_000;
/** About 30 ms of a core. */
const BUSY_SCRIPT = "local sum = 0 for i = 1, 3000000 do sum = sum + i end return sum";

export interface Incident {
  readonly id: string;
  readonly title: string;
  /** Seconds from and to which it lasted. */
  readonly from: number;
  readonly to: number;
  readonly samples: readonly Sample[];
}

type Client = Redis | Cluster;

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Callers that ask for one key after the other, until the returned function is called. */
function beginLoad(client: Client): () => Promise<void> {
  let isOver = false;
  const call = async (caller: number): Promise<void> => {
    for (let n = caller; !isOver; n += CALLERS) {
      await client.get(`key:${n % KEYS}`).catch(() => {});
      await sleep(PAUSE_MS);
    }
  };
  const callers = Array.from({ length: CALLERS }, (_, caller) => call(caller));
  return async () => {
    isOver = true;
    await Promise.all(callers);
  };
}

async function fill(client: Client): Promise<void> {
  const pairs = Array.from({ length: KEYS }, (_, n) => ["set", `key:${n}`, "v".repeat(100)] as const);
  await client.pipeline(pairs.map((pair) => [...pair])).exec();
}

/** Calm, trouble, calm again. */
async function play(client: Client, names: Pick<Incident, "id" | "title">, trouble: () => Promise<void>) {
  await fill(client);
  const end = beginLoad(client);
  const beganMs = performance.now();
  let from = 0;
  let to = 0;
  const samples = await record(client, async () => {
    await sleep(CALM_MS);
    from = (performance.now() - beganMs) / 1000;
    await trouble();
    to = (performance.now() - beganMs) / 1000;
    await sleep(CALM_MS);
  });
  await end();
  return { ...names, from, to, samples };
}

async function withServer<T>(work: (redis: Redis, server: ServerProcess) => Promise<T>): Promise<T> {
  const server = await ServerProcess.start({ binary: await findServer(ServerKind.Redis) });
  const redis = new Redis({ host: server.host, port: server.port });
  try {
    return await work(redis, server);
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

/** Another client runs scripts that keep the server busy. */
function slowServer(): Promise<Incident> {
  return withServer((redis, server) =>
    play(redis, { id: "slow-server", title: "The server is slow" }, async () => {
      for (const untilMs = performance.now() + TROUBLE_MS; performance.now() < untilMs; ) {
        await server.command("EVAL", BUSY_SCRIPT, 0);
      }
    }),
  );
}

/** One caller of the same client asks for a million keys at once. */
function hotCaller(): Promise<Incident> {
  return withServer((redis) =>
    play(redis, { id: "hot-caller", title: "One caller issues a million commands" }, async () => {
      await Promise.all(Array.from({ length: HOT_CALLS }, (_, n) => redis.get(`key:${n % KEYS}`)));
    }),
  );
}

/** Slots move from one master to another, with their keys. */
async function reshard(): Promise<Incident> {
  const servers = await ServerCluster.start({ binary: await findServer(ServerKind.Redis), masters: 3 });
  const cluster = new Cluster(servers.seeds);
  try {
    return await play(cluster, { id: "reshard", title: "Slots of a cluster move" }, async () => {
      const [source, target] = (await servers.masters()) as [ServerProcess, ServerProcess];
      const untilMs = performance.now() + TROUBLE_MS;
      for (let slot = 0; performance.now() < untilMs; slot++) {
        if ((await servers.ownerOf(slot)) === source) await servers.moveSlot(slot, target);
      }
    });
  } finally {
    cluster.disconnect();
    await servers.stop();
  }
}

export const SCENES: readonly (() => Promise<Incident>)[] = [slowServer, hotCaller, reshard];
