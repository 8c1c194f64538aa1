/**
 * `redis` (node-redis), as it comes and with its default command timeout switched off ("nt", no timeout).
 *
 * It coalesces the commands of a turn by itself, so it has no switch for automatic pipelining. Explicit batches go
 * through `multi().execAsPipeline()`; on a cluster, where such a batch may touch one slot only, through the commands
 * of one turn, which it collects per node.
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
  set(key: string, value: string | Buffer, options?: { expiration: { type: "EX"; value: number } }): T;
  ttl(key: string): T;
  exists(key: string): T;
  lRange(key: string, start: number, stop: number): T;
  hGetAll(key: string): T;
  mGet(keys: string[]): T;
  sAdd(key: string, members: string[]): T;
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): T;
}

interface Multi extends Commands<Multi> {
  execAsPipeline(): Promise<unknown>;
}

interface NodeRedisClient extends Commands<Promise<unknown>> {
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  multi(): Multi;
  withTypeMapping(mapping: Record<number, unknown>): NodeRedisClient;
}

interface NodeRedisModule {
  createClient(options: unknown): NodeRedisClient;
  createCluster(options: unknown): NodeRedisClient;
  readonly RESP_TYPES: { readonly BLOB_STRING: number };
}

function lineOptions(target: Target, { line }: ConnectChoices): Record<string, unknown> {
  if (line === "unix") return { path: target.unixPath };
  if (line !== "tls") return { ...target.nodes[0] };
  const { port, caFile } = requireTls(target);
  return { host: target.nodes[0]?.host, port, tls: true, ca: fs.readFileSync(caFile) };
}

interface Clients {
  readonly client: NodeRedisClient;
  /** The same connection, replies as Buffers. */
  readonly buffers: NodeRedisClient;
}

export class NodeRedisSide implements ClientSide {
  private client: NodeRedisClient | undefined;
  private buffers: NodeRedisClient | undefined;
  private isCluster = false;

  constructor(
    readonly name: string,
    private readonly hasTimeout: boolean,
  ) {}

  async connect(target: Target, choices: ConnectChoices): Promise<void> {
    const { createClient, createCluster, RESP_TYPES } = require("redis") as NodeRedisModule;
    const commandOptions = this.hasTimeout ? {} : { commandOptions: { timeout: undefined } };
    const sockets = target.nodes.map(({ host, port }) => ({ socket: { host, port } }));
    const RESP = choices.protocol ?? 2;
    const client = target.isCluster
      ? createCluster({ rootNodes: sockets, ...commandOptions })
      : createClient({ socket: lineOptions(target, choices), RESP, ...commandOptions });
    client.on("error", (error) => process.stderr.write(`${this.name}: ${error.message}\n`));
    await client.connect();
    this.client = client;
    this.buffers = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    this.isCluster = target.isCluster;
  }

  async prepare(plan: LoadPlan): Promise<Load> {
    return prepareLoop(this, plan);
  }

  bind(operation: Operation): Issue {
    const clients = { client: connected(this.client), buffers: connected(this.buffers) };
    return () => issueOn(clients, operation);
  }

  bindBatch(operations: readonly Operation[], size: number): Issue {
    if (this.isCluster) return this.bindTurn(operations, size);
    const client = connected(this.client);
    return () => fill(client.multi(), operations, size).execAsPipeline();
  }

  queueBatch(operations: readonly Operation[], size: number): QueuedBatch {
    const multi = fill(connected(this.client).multi(), operations, size);
    return { held: multi, send: () => multi.execAsPipeline() };
  }

  async close(): Promise<void> {
    this.client?.destroy();
  }

  /** For scenarios that use what only this API has. */
  connection(): unknown {
    return connected(this.client);
  }

  private bindTurn(operations: readonly Operation[], size: number): Issue {
    const issues = operations.map((operation) => this.bind(operation));
    return () => {
      const replies = new Array<Promise<unknown>>(size);
      for (let index = 0; index < size; index++) replies[index] = (issues[index % issues.length] as Issue)();
      return Promise.all(replies);
    };
  }
}

function connected(client: NodeRedisClient | undefined): NodeRedisClient {
  if (client === undefined) throw new Error("redis is not connected");
  return client;
}

/** One function for all operations: a call site of a service sees several commands too. */
function issueOn({ client, buffers }: Clients, operation: Operation): Promise<unknown> {
  switch (operation.kind) {
    case "ping":
      return client.ping();
    case "get":
      return client.get(freshKey(operation.key));
    case "getBuffer":
      return buffers.get(freshKey(operation.key));
    case "set":
      return operation.seconds === undefined
        ? client.set(freshKey(operation.key), operation.value)
        : client.set(freshKey(operation.key), operation.value, {
            expiration: { type: "EX", value: operation.seconds },
          });
    case "ttl":
      return client.ttl(freshKey(operation.key));
    case "exists":
      return client.exists(freshKey(operation.key));
    case "lrange":
      return client.lRange(freshKey(operation.key), 0, -1);
    case "hgetall":
      return client.hGetAll(freshKey(operation.key));
    case "mget":
      return client.mGet(operation.keys.map(freshKey));
    case "sadd":
      return client.sAdd(freshKey(operation.key), operation.members);
    case "evalsha":
      return client.evalSha(operation.sha, {
        keys: [freshKey(operation.key)],
        arguments: [operation.argument],
      });
  }
}

function fill(multi: Multi, operations: readonly Operation[], size: number): Multi {
  let at = 0;
  for (let index = 0; index < size; index++) {
    append(multi, operations[at] as Operation);
    at = at + 1 === operations.length ? 0 : at + 1;
  }
  return multi;
}

function append(multi: Multi, operation: Operation): void {
  switch (operation.kind) {
    case "get":
    case "getBuffer":
      multi.get(freshKey(operation.key));
      return;
    case "set":
      if (operation.seconds === undefined) multi.set(freshKey(operation.key), operation.value);
      else
        multi.set(freshKey(operation.key), operation.value, {
          expiration: { type: "EX", value: operation.seconds },
        });
      return;
    case "ping":
      multi.ping();
      return;
    case "ttl":
      multi.ttl(freshKey(operation.key));
      return;
    case "exists":
      multi.exists(freshKey(operation.key));
      return;
    case "lrange":
      multi.lRange(freshKey(operation.key), 0, -1);
      return;
    case "hgetall":
      multi.hGetAll(freshKey(operation.key));
      return;
    case "mget":
      multi.mGet(operation.keys.map(freshKey));
      return;
    case "sadd":
      multi.sAdd(freshKey(operation.key), operation.members);
      return;
    case "evalsha":
      multi.evalSha(operation.sha, { keys: [freshKey(operation.key)], arguments: [operation.argument] });
  }
}
