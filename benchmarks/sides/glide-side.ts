/**
 * `@valkey/valkey-glide`: single commands, and its `Batch` / `ClusterBatch` (not atomic) for explicit
 * pipelines.
 *
 * Its limits on time (250 ms) and on requests in flight (1,000) are raised, so that they do not reject
 * commands.
 */

import type { Batch, ClusterBatch, GlideClient, GlideClusterClient, SetOptions } from "@valkey/valkey-glide";
import { prepareLoop } from "./load-loops";
import { freshKey, type Operation } from "./operation";
import type { ClientSide, Issue, Load, LoadPlan, QueuedBatch, Target } from "./side";

type GlideModule = typeof import("@valkey/valkey-glide");
type AnyBatch = Batch | ClusterBatch;

const REQUEST_TIMEOUT_MS = 600_000;
const IN_FLIGHT_LIMIT = 1_000_000;

interface Connection {
  readonly client: GlideClient | GlideClusterClient;
  readonly glide: GlideModule;
}

export class GlideSide implements ClientSide {
  readonly name = "glide";
  private single: GlideClient | undefined;
  private cluster: GlideClusterClient | undefined;
  private glide: GlideModule | undefined;

  async connect(target: Target): Promise<void> {
    const glide = require("@valkey/valkey-glide") as GlideModule;
    const options = {
      addresses: target.nodes.map(({ host, port }) => ({ host, port })),
      requestTimeout: REQUEST_TIMEOUT_MS,
      inflightRequestsLimit: IN_FLIGHT_LIMIT,
    };
    this.glide = glide;
    if (target.isCluster) this.cluster = await glide.GlideClusterClient.createClient(options);
    else this.single = await glide.GlideClient.createClient(options);
  }

  async prepare(plan: LoadPlan): Promise<Load> {
    return prepareLoop(this, plan);
  }

  bind(operation: Operation): Issue {
    const connection = this.connected();
    return () => issueOn(connection, operation);
  }

  bindBatch(operations: readonly Operation[], size: number): Issue {
    return () => this.send(this.fill(operations, size));
  }

  queueBatch(operations: readonly Operation[], size: number): QueuedBatch {
    const batch = this.fill(operations, size);
    return { held: batch, send: () => this.send(batch) };
  }

  async close(): Promise<void> {
    this.single?.close();
    this.cluster?.close();
  }

  private connected(): Connection {
    const client = this.single ?? this.cluster;
    if (client === undefined || this.glide === undefined) throw new Error("glide is not connected");
    return { client, glide: this.glide };
  }

  private fill(operations: readonly Operation[], size: number): AnyBatch {
    const { glide } = this.connected();
    const batch = this.cluster === undefined ? new glide.Batch(false) : new glide.ClusterBatch(false);
    let at = 0;
    for (let index = 0; index < size; index++) {
      append(batch, operations[at] as Operation, glide);
      at = at + 1 === operations.length ? 0 : at + 1;
    }
    return batch;
  }

  private send(batch: AnyBatch): Promise<unknown> {
    const options = { timeout: REQUEST_TIMEOUT_MS };
    if (this.cluster !== undefined) return this.cluster.exec(batch as ClusterBatch, false, options);
    return (this.single as GlideClient).exec(batch as Batch, false, options);
  }
}

/** One function for all operations: a call site of a service sees several commands too. */
function issueOn({ client, glide }: Connection, operation: Operation): Promise<unknown> {
  switch (operation.kind) {
    case "ping":
      return client.ping();
    case "get":
      return client.get(freshKey(operation.key));
    case "getBuffer":
      return client.get(freshKey(operation.key), { decoder: glide.Decoder.Bytes });
    case "set":
      return client.set(freshKey(operation.key), operation.value, expiryOf(operation.seconds, glide));
    case "ttl":
      return client.ttl(freshKey(operation.key));
    case "exists":
      return client.exists([freshKey(operation.key)]);
    case "lrange":
      return client.lrange(freshKey(operation.key), 0, -1);
    case "hgetall":
      return client.hgetall(freshKey(operation.key));
    case "mget":
      return client.mget(operation.keys.map(freshKey));
    case "sadd":
      return client.sadd(freshKey(operation.key), operation.members);
    case "evalsha":
      return client.customCommand([
        "EVALSHA",
        operation.sha,
        "1",
        freshKey(operation.key),
        operation.argument,
      ]);
  }
}

function expiryOf(seconds: number | undefined, glide: GlideModule): SetOptions | undefined {
  return seconds === undefined ? undefined : { expiry: { type: glide.TimeUnit.Seconds, count: seconds } };
}

function append(batch: AnyBatch, operation: Operation, glide: GlideModule): void {
  switch (operation.kind) {
    case "get":
    case "getBuffer":
      batch.get(freshKey(operation.key));
      return;
    case "set":
      batch.set(freshKey(operation.key), operation.value, expiryOf(operation.seconds, glide));
      return;
    case "ping":
      batch.ping();
      return;
    case "ttl":
      batch.ttl(freshKey(operation.key));
      return;
    case "exists":
      batch.exists([freshKey(operation.key)]);
      return;
    case "lrange":
      batch.lrange(freshKey(operation.key), 0, -1);
      return;
    case "hgetall":
      batch.hgetall(freshKey(operation.key));
      return;
    case "mget":
      batch.mget(operation.keys.map(freshKey));
      return;
    case "sadd":
      batch.sadd(freshKey(operation.key), operation.members);
      return;
    case "evalsha":
      batch.customCommand(["EVALSHA", operation.sha, "1", freshKey(operation.key), operation.argument]);
  }
}
