/**
 * HTTP services under the load of autocannon: Fastify with four commands per request, the same service
 * without Redis, and Express with sessions. The CPU figure is the CPU time of the service's process per
 * request.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { openReader } from "../sides/cached-reader";
import type { Address, Target } from "../sides/side";
import { spawnNode } from "../support/child-process";
import { type Figures, Meter } from "../support/meter";
import type { SampleContext } from "../support/scenario";
import { requirePackage } from "./packages";
import { connectStore, type Store } from "./store";

interface FastifyService {
  get(path: string, handler: () => Promise<unknown>): unknown;
  listen(options: { port: number; host: string }): Promise<string>;
  close(): Promise<unknown>;
}

interface ExpressService {
  use(handler: unknown): unknown;
  get(
    path: string,
    handler: (request: SessionRequest, response: { json(value: unknown): void }) => void,
  ): void;
  listen(port: number, host: string, done: () => void): Server;
}

interface SessionRequest {
  session: { views?: number };
}

const HOST = "127.0.0.1";
const USERS = 1000;
const SECONDS = 600;
/** As many as Express with sessions needs until its CPU a request falls no more. */
const WARM_REQUESTS = 15_000;
/** A sample of a full run asks for so many. */
const REQUESTS = 8000;
const FULL_MS = 300;
const CACHED_CONNECTIONS = 100;

interface LoadAnswer {
  readonly answered: number;
  readonly failed: number;
  readonly elapsedMs: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/** The load generator, which waits for the number of requests to make. */
class HttpLoad {
  private readonly child;

  constructor(url: string, connections: number, cpu: number | undefined) {
    this.child = spawnNode({ script: "applications/http-load.js", args: [url, String(connections)], cpu });
  }

  async run(amount: number): Promise<LoadAnswer> {
    this.child.stdin?.write(`${amount}\n`);
    const [line] = (await once(this.child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    const answer = JSON.parse(line.toString()) as LoadAnswer;
    if (answer.failed > 0) throw new Error(`${answer.failed} requests of ${amount} failed`);
    return answer;
  }

  end(): void {
    this.child.stdin?.end();
  }
}

async function measureUrl(url: string, connections: number, context: SampleContext): Promise<Figures> {
  const load = new HttpLoad(url, connections, context.serverCpu);
  await load.run(WARM_REQUESTS);
  const meter = new Meter();
  meter.start();
  const { answered, elapsedMs, p50Micros, p99Micros } = await load.run(
    Math.round((REQUESTS * context.budget.measureMs) / FULL_MS),
  );
  const figures = await meter.stop(answered);
  load.end();
  return { ...figures, opsPerSecond: (answered / elapsedMs) * 1000, p50Micros, p99Micros };
}

/** The route with Redis, and the floor: the same answer from the process itself. */
export async function measureHttp(connections: number, context: SampleContext): Promise<Figures> {
  const { side, store } = await connectStore(context.sideName, context.target);
  const fastify = requirePackage<() => FastifyService>("fastify");
  const service = fastify();
  let user = 0;
  service.get("/redis", () => {
    user = (user + 1) % USERS;
    return answerFrom(store, user);
  });
  service.get("/floor", async () => {
    user = (user + 1) % USERS;
    return { user: `user ${user}`, cart: `cart ${user}`, views: `${user}` };
  });
  await Promise.all(
    Array.from({ length: USERS }, async (_, id) => {
      for (const kind of ["user", "cart", "views"])
        await store.setex(`app:${kind}:${id}`, SECONDS, `${kind} ${id}`);
    }),
  );
  const url = await service.listen({ port: 0, host: HOST });
  const floor = await measureUrl(`${url}/floor`, connections, context);
  const figures = await measureUrl(`${url}/redis`, connections, context);
  await side.close();
  return withFloor(figures, floor);
}

function withFloor(figures: Figures, floor: Figures): Figures {
  const cpuMicros = figures.cpuMicros ?? Number.NaN;
  const floorMicros = floor.cpuMicros ?? Number.NaN;
  const cpuTimesFloor = cpuMicros / floorMicros;
  return { ...figures, floorMicros, aboveFloorMicros: cpuMicros - floorMicros, cpuTimesFloor };
}

/** Three GETs at once, then one SETEX: four commands in two round trips. */
async function answerFrom(store: Store, id: number): Promise<unknown> {
  const [user, cart, views] = await Promise.all([
    store.get(`app:user:${id}`),
    store.get(`app:cart:${id}`),
    store.get(`app:views:${id}`),
  ]);
  await store.setex(`app:views:${id}`, SECONDS, `views ${id}`);
  return { user, cart, views };
}

/** A service on Node's own `http`: four GETs a request at once; and the floor, the same answer without Redis. */
export async function measurePlainHttp(
  connections: number,
  context: SampleContext,
  target: Target,
): Promise<Figures> {
  const { side, store } = await connectStore(context.sideName, target);
  const kinds = ["user", "cart", "views", "rights"];
  for (let id = 0; id < USERS; id++)
    for (const kind of kinds) await store.setex(`app:${kind}:${id}`, SECONDS, `${kind} ${id}`);
  let user = 0;
  const answers: Record<string, (id: number) => Promise<unknown[]>> = {
    "/redis": (id) => Promise.all(kinds.map((kind) => store.get(`app:${kind}:${id}`))),
    "/floor": async (id) => kinds.map((kind) => `${kind} ${id}`),
  };
  const server = createServer(async ({ url = "" }, response) => {
    user = (user + 1) % USERS;
    const body = JSON.stringify(await answers[url]?.(user));
    response.setHeader("content-type", "application/json");
    response.end(body);
  });
  await once(server.listen(0, HOST), "listening");
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  const floor = await measureUrl(`${url}/floor`, connections, context);
  const figures = await measureUrl(`${url}/redis`, connections, context);
  await side.close();
  return { ...withFloor(figures, floor), floorOpsPerSecond: floor.opsPerSecond ?? Number.NaN };
}

/** Of so many requests, in which the fourth read may be of a key that nobody has asked for before, ... */
const MISSING_OF = 10;
/** ... so many are. */
const MISSING = 4;

/** Four GETs a request, of ten of which nine are in the cache of the client, if it has one; and the floor. */
export async function measureCachedHttp(context: SampleContext): Promise<Figures> {
  const reader = await openReader(context.sideName, context.target.nodes[0] as Address, true);
  const { store, side } = await connectStore("ioredis", context.target);
  for (let id = 0; id < USERS; id++)
    for (const kind of ["user", "cart", "views"])
      await store.setex(`app:${kind}:${id}`, SECONDS, `${kind} ${id}`);
  await side.close();
  const service = requirePackage<() => FastifyService>("fastify")();
  let request = 0;
  service.get("/redis", async () => {
    const id = ++request % USERS;
    const isMissing = request % MISSING_OF < MISSING;
    const [user, cart, views, last] = await Promise.all([
      reader.get(`app:user:${id}`),
      reader.get(`app:cart:${id}`),
      reader.get(`app:views:${id}`),
      reader.get(isMissing ? `app:new:${request}` : `app:user:${(id + 1) % USERS}`),
    ]);
    return { user, cart, views, last };
  });
  service.get("/floor", async () => {
    const id = ++request % USERS;
    const last = request % MISSING_OF < MISSING ? null : `user ${(id + 1) % USERS}`;
    return { user: `user ${id}`, cart: `cart ${id}`, views: `views ${id}`, last };
  });
  const url = await service.listen({ port: 0, host: HOST });
  const floor = await measureUrl(`${url}/floor`, CACHED_CONNECTIONS, context);
  const figures = await measureUrl(`${url}/redis`, CACHED_CONNECTIONS, context);
  reader.close();
  return withFloor(figures, floor);
}

/** A counter in the session: one GET and one SET with an expiry a request. */
export async function measureSessions(connections: number, context: SampleContext): Promise<Figures> {
  const { side, client } = await connectStore(context.sideName, context.target);
  const express = requirePackage<() => ExpressService>("express");
  const session = requirePackage<(options: unknown) => unknown>("express-session");
  const { default: RedisStore } = requirePackage<{ default: new (options: unknown) => unknown }>(
    "connect-redis",
  );
  const service = express();
  const store = new RedisStore({ client });
  let visitor = 0;
  const genid = (): string => `visitor-${visitor++ % USERS}`;
  service.use(session({ store, genid, secret: "bench", resave: false, saveUninitialized: true }));
  service.get("/", (request, response) => {
    request.session.views = (request.session.views ?? 0) + 1;
    response.json({ views: request.session.views });
  });
  const server = await new Promise<Server>((resolve) => {
    const listening = service.listen(0, HOST, () => resolve(listening));
  });
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}/`;
  const figures = await measureUrl(url, connections, context);
  await side.close();
  return figures;
}
