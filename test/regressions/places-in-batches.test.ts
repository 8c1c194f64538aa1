/** Tracers that replace `sendCommand` are told what a command is a part of, as the API tells it. */

import { expect } from "chai";
import { Redis as Original, Cluster as OriginalCluster } from "ioredis";
import { Cluster, Redis } from "../../src/index";
import { ClusterFixture } from "../support/cluster-fixture";
import { ServerFixture } from "../support/server-fixture";

interface Place {
  name: string;
  pipelineIndex: number | undefined;
  inTransaction: boolean;
}

interface Client {
  get(key: string): Promise<unknown>;
  pipeline(): Client;
  multi(options?: { pipeline: false }): Client;
  incr(key: string): Client;
  exec(): Client & Promise<unknown>;
  disconnect(): void;
}
type Send = (this: unknown, ...args: unknown[]) => unknown;

/** Notes every command that passes through the class, as tracers do, while `work` runs. */
async function placesOf(Class: object, work: () => Promise<unknown>): Promise<Place[]> {
  const prototype = (Class as { prototype: { sendCommand: Send } }).prototype;
  const original = Object.getOwnPropertyDescriptor(prototype, "sendCommand");
  const { sendCommand } = prototype;
  const places: Place[] = [];
  prototype.sendCommand = function (...args: unknown[]) {
    const { name, pipelineIndex, inTransaction } = args[0] as Place;
    places.push({ name, pipelineIndex, inTransaction });
    return sendCommand.apply(this, args);
  };
  try {
    await work();
  } finally {
    if (original === undefined) Reflect.deleteProperty(prototype, "sendCommand");
    else Object.defineProperty(prototype, "sendCommand", original);
  }
  return places;
}

async function run(client: Client): Promise<void> {
  await client.get("{k}a");
  await client.pipeline().incr("{k}a").incr("{k}b").exec();
  await client.multi().incr("{k}a").incr("{k}b").exec();
  await client.pipeline().incr("{k}a").multi().incr("{k}b").exec().incr("{k}c").exec();
}

async function runOpen(client: Client): Promise<void> {
  await client.multi({ pipeline: false });
  void client.incr("{k}a");
  await client.exec();
}

describe("the place of a command in its batch", () => {
  const fixture = new ServerFixture().install();
  const clusters = new ClusterFixture().install();

  it("is told on one server", async () => {
    const { host, port } = fixture.server;
    const original = new Original({ host, port }) as unknown as Client;
    await original.get("a");
    const work = (client: Client) => async () => {
      await run(client);
      await runOpen(client);
    };
    const expected = await placesOf(Original, work(original));
    original.disconnect();
    const redis = fixture.connectDirectly() as unknown as Client;
    await redis.get("a");
    expect(await placesOf(Redis, work(redis))).to.deep.equal(expected);
    expect(expected.filter(({ inTransaction }) => inTransaction)).to.have.length(5);
  });

  it("is told by the nodes of a cluster", async () => {
    const original = new OriginalCluster([...clusters.cluster.seeds] as never) as unknown as Client;
    await original.get("a");
    // A single command may pass twice: the original asks a node that it has just learnt to be wrong.
    const isOwn = ({ name }: Place) => ["incr", "multi", "exec"].includes(name);
    const expected = (await placesOf(Original, () => run(original))).filter(isOwn);
    original.disconnect();
    const cluster = clusters.connect() as unknown as Client;
    await cluster.get("a");
    expect((await placesOf(Redis, () => run(cluster))).filter(isOwn)).to.deep.equal(expected);
    expect((await placesOf(Cluster, () => run(cluster))).filter(isOwn)).to.deep.equal(expected);
  });
});
