/**
 * Clients with the ioredis API: sluice itself, ioredis, iovalkey.
 *
 * The class is loaded at run time, by package name or from a build folder, so that two builds of sluice can be
 * compared with each other as well.
 */

import fs from "node:fs";
import { prepareLoop } from "./load-loops";
import { freshKey, type Operation } from "./operation";
import {
  type ClientSide,
  type ConnectChoices,
  type Issue,
  type Load,
  type LoadPlan,
  type QueuedBatch,
  requireTls,
  type Target,
} from "./side";

interface Commands<T> {
  ping(): T;
  get(key: string): T;
  getBuffer(key: string): T;
  set(key: string, value: string | Buffer, ...expiry: ["EX", number] | []): T;
  ttl(key: string): T;
  exists(key: string): T;
  lrange(key: string, start: number, stop: number): T;
  hgetall(key: string): T;
  mget(keys: string[]): T;
  sadd(key: string, members: string[]): T;
  evalsha(sha: string, keyCount: number, key: string, argument: string): T;
}

interface Pipeline extends Commands<Pipeline> {
  exec(): Promise<unknown>;
}

export interface IoredisLike extends Commands<Promise<unknown>> {
  pipeline(): Pipeline;
  on(event: "error", listener: (error: Error) => void): unknown;
  once(event: "ready" | "end", listener: () => void): unknown;
  disconnect(): void;
}

export interface IoredisLikeClass {
  new (options: Record<string, unknown>): IoredisLike;
  readonly prototype: { sendCommand(...args: unknown[]): unknown };
  Cluster?: new (nodes: readonly unknown[], options: Record<string, unknown>) => IoredisLike;
}

const ANSWER_LIMIT_MS = 5000;

export class IoredisSide implements ClientSide {
  private client: IoredisLike | undefined;

  constructor(
    readonly name: string,
    private readonly load: () => IoredisLikeClass,
    private readonly flushPolicy?: "turn",
  ) {}

  async connect(target: Target, choices: ConnectChoices): Promise<void> {
    const Redis = this.load();
    const { autoPipelining, maxInFlight, protocol } = choices;
    const flushPolicy = choices.flushPolicy ?? this.flushPolicy;
    if (choices.isPatched === true) patch(Redis);
    const enableAutoPipelining =
      autoPipelining && maxInFlight !== undefined ? { maxInFlight } : autoPipelining;
    let client: IoredisLike;
    if (target.isCluster) {
      if (Redis.Cluster === undefined) throw new Error(`${this.name} has no Cluster`);
      client = new Redis.Cluster(target.nodes, { enableAutoPipelining, redisOptions: { flushPolicy } });
    } else {
      client = new Redis({
        ...lineOptions(target, choices),
        enableAutoPipelining,
        flushPolicy,
        protocol,
      });
    }
    client.on("error", (error) => process.stderr.write(`${this.name}: ${error.message}\n`));
    await new Promise<void>((resolve) => {
      client.once("ready", resolve);
    });
    if (maxInFlight === "adaptive") await checkAnswering(client);
    this.client = client;
  }

  async prepare(plan: LoadPlan): Promise<Load> {
    return prepareLoop(this, plan);
  }

  bind(operation: Operation): Issue {
    const client = this.connected();
    return () => issueOn(client, operation);
  }

  bindBatch(operations: readonly Operation[], size: number): Issue {
    const client = this.connected();
    return () => fill(client.pipeline(), operations, size).exec();
  }

  queueBatch(operations: readonly Operation[], size: number): QueuedBatch {
    const pipeline = fill(this.connected().pipeline(), operations, size);
    return { held: pipeline, send: () => pipeline.exec() };
  }

  async close(): Promise<void> {
    this.client?.disconnect();
  }

  /** For scenarios that use what only this API has. */
  connected(): IoredisLike {
    if (this.client === undefined) throw new Error(`${this.name} is not connected`);
    return this.client;
  }
}

function lineOptions(target: Target, { line }: ConnectChoices): Record<string, unknown> {
  if (line === "unix") return { path: target.unixPath };
  if (line !== "tls") return { ...target.nodes[0] };
  const { port, caFile } = requireTls(target);
  return { host: target.nodes[0]?.host, port, tls: { ca: fs.readFileSync(caFile) } };
}

/** What tracers that know no diagnostics channels do: a look at every command, and at how it ends. */
function patch(Redis: IoredisLikeClass): void {
  const { sendCommand } = Redis.prototype;
  const look = (): void => undefined;
  Redis.prototype.sendCommand = function (this: IoredisLike, ...args: unknown[]) {
    const result = sendCommand.apply(this, args) as Promise<unknown>;
    result.then(look, look);
    return result;
  };
}

/** A build without the adaptive window leaves its commands waiting; say so at once instead of at the time limit. */
async function checkAnswering(client: IoredisLike): Promise<void> {
  const limit = new Promise((_, reject) => {
    setTimeout(reject, ANSWER_LIMIT_MS, new Error("commands are not sent with an adaptive window"));
  });
  await Promise.race([client.ping(), limit]);
}

/** One function for all operations: a call site of a service sees several commands too. */
function issueOn(client: IoredisLike, operation: Operation): Promise<unknown> {
  switch (operation.kind) {
    case "ping":
      return client.ping();
    case "get":
      return client.get(freshKey(operation.key));
    case "getBuffer":
      return client.getBuffer(freshKey(operation.key));
    case "set":
      return operation.seconds === undefined
        ? client.set(freshKey(operation.key), operation.value)
        : client.set(freshKey(operation.key), operation.value, "EX", operation.seconds);
    case "ttl":
      return client.ttl(freshKey(operation.key));
    case "exists":
      return client.exists(freshKey(operation.key));
    case "lrange":
      return client.lrange(freshKey(operation.key), 0, -1);
    case "hgetall":
      return client.hgetall(freshKey(operation.key));
    case "mget":
      return client.mget(operation.keys.map(freshKey));
    case "sadd":
      return client.sadd(freshKey(operation.key), operation.members);
    case "evalsha":
      return client.evalsha(operation.sha, 1, freshKey(operation.key), operation.argument);
  }
}

function fill(pipeline: Pipeline, operations: readonly Operation[], size: number): Pipeline {
  let at = 0;
  for (let index = 0; index < size; index++) {
    append(pipeline, operations[at] as Operation);
    at = at + 1 === operations.length ? 0 : at + 1;
  }
  return pipeline;
}

function append(pipeline: Pipeline, operation: Operation): void {
  switch (operation.kind) {
    case "get":
      pipeline.get(freshKey(operation.key));
      return;
    case "set":
      if (operation.seconds === undefined) pipeline.set(freshKey(operation.key), operation.value);
      else pipeline.set(freshKey(operation.key), operation.value, "EX", operation.seconds);
      return;
    case "ping":
      pipeline.ping();
      return;
    case "getBuffer":
      pipeline.getBuffer(freshKey(operation.key));
      return;
    case "ttl":
      pipeline.ttl(freshKey(operation.key));
      return;
    case "exists":
      pipeline.exists(freshKey(operation.key));
      return;
    case "lrange":
      pipeline.lrange(freshKey(operation.key), 0, -1);
      return;
    case "hgetall":
      pipeline.hgetall(freshKey(operation.key));
      return;
    case "mget":
      pipeline.mget(operation.keys.map(freshKey));
      return;
    case "sadd":
      pipeline.sadd(freshKey(operation.key), operation.members);
      return;
    case "evalsha":
      pipeline.evalsha(operation.sha, 1, freshKey(operation.key), operation.argument);
  }
}
