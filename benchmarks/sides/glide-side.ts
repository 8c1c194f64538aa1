/**
 * `@valkey/valkey-glide`: single commands, and its `Batch` / `ClusterBatch` (not atomic) for explicit pipelines.
 *
 * Its limits on time (250 ms) and on requests in flight (1,000) are lifted, so that it is measured and not refused.
 */

import type { Batch, ClusterBatch, GlideClient, GlideClusterClient } from "@valkey/valkey-glide";
import { prepareLoop } from "./load-loops";
import type { Operation } from "./operation";
import type { ClientSide, Issue, Load, LoadPlan, QueuedBatch, Target } from "./side";

type GlideModule = typeof import("@valkey/valkey-glide");
type AnyBatch = Batch | ClusterBatch;

const REQUEST_TIMEOUT_MS = 600_000;
const IN_FLIGHT_LIMIT = 1_000_000;

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
    const { client, glide } = this.connected();
    switch (operation.kind) {
      case "ping":
        return () => client.ping();
      case "get":
        return () => client.get(operation.key);
      case "getBuffer": {
        const options = { decoder: glide.Decoder.Bytes };
        return () => client.get(operation.key, options);
      }
      case "set":
        return () => client.set(operation.key, operation.value);
      case "ttl":
        return () => client.ttl(operation.key);
      case "exists": {
        const keys = [operation.key];
        return () => client.exists(keys);
      }
      case "lrange":
        return () => client.lrange(operation.key, 0, -1);
      case "hgetall":
        return () => client.hgetall(operation.key);
      case "mget":
        return () => client.mget(operation.keys);
      case "sadd":
        return () => client.sadd(operation.key, operation.members);
      case "evalsha": {
        const words = ["EVALSHA", operation.sha, "1", operation.key, operation.argument];
        return () => client.customCommand(words);
      }
    }
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

  private connected(): { client: GlideClient | GlideClusterClient; glide: GlideModule } {
    const client = this.single ?? this.cluster;
    if (client === undefined || this.glide === undefined) throw new Error("glide is not connected");
    return { client, glide: this.glide };
  }

  private fill(operations: readonly Operation[], size: number): AnyBatch {
    const { glide } = this.connected();
    const batch = this.cluster === undefined ? new glide.Batch(false) : new glide.ClusterBatch(false);
    let at = 0;
    for (let index = 0; index < size; index++) {
      append(batch, operations[at] as Operation);
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

function append(batch: AnyBatch, operation: Operation): void {
  switch (operation.kind) {
    case "get":
    case "getBuffer":
      batch.get(operation.key);
      return;
    case "set":
      batch.set(operation.key, operation.value);
      return;
    case "ping":
      batch.ping();
      return;
    case "ttl":
      batch.ttl(operation.key);
      return;
    case "exists":
      batch.exists([operation.key]);
      return;
    case "lrange":
      batch.lrange(operation.key, 0, -1);
      return;
    case "hgetall":
      batch.hgetall(operation.key);
      return;
    case "mget":
      batch.mget(operation.keys);
      return;
    case "sadd":
      batch.sadd(operation.key, operation.members);
      return;
    case "evalsha":
      batch.customCommand(["EVALSHA", operation.sha, "1", operation.key, operation.argument]);
  }
}
