/** Options that are changed on `redis.options` of a live client hold for the next command. */

import { expect } from "chai";
import type { RedisOptions } from "../../src/index";
import { ClusterFixture } from "../support/cluster-fixture";
import { ServerFixture } from "../support/server-fixture";

const messageOf = (outcome: Promise<unknown>): Promise<unknown> =>
  outcome.catch((error: Error) => error.message);

describe("options changed on a live client", () => {
  const fixture = new ServerFixture().install();
  const clusters = new ClusterFixture().install();

  it("commandTimeout", async () => {
    const redis = fixture.connect();
    await redis.ping();
    fixture.proxy.stall("toClient");
    redis.options.commandTimeout = 30;
    expect(await messageOf(redis.get("a"))).to.equal("Command timed out");
    const rows = await redis.pipeline().get("a").exec();
    expect(rows?.[0]?.[0]?.message).to.equal("Command timed out");
    redis.options.commandTimeout = undefined;
    const unlimited = redis.get("a");
    await new Promise((resolve) => setTimeout(resolve, 60));
    fixture.proxy.heal();
    expect(await unlimited).to.equal(null);
    expect(Object.keys(redis.options)).to.include("commandTimeout");
  });

  it("blockingTimeout", async () => {
    const redis = fixture.connectDirectly();
    await redis.ping();
    redis.options.blockingTimeout = 30;
    expect(await redis.blpop("none", 0)).to.equal(null);
    expect(await redis.with({ retry: "reads-only" }).blpop("none", 0)).to.equal(null);
  });

  it("showFriendlyErrorStack", async () => {
    const redis = fixture.connectDirectly();
    await redis.set("text", "x");
    const stackOf = (): Promise<string | undefined> =>
      redis.incr("text").then(
        () => "",
        (error: Error) => error.stack,
      );
    expect(await stackOf()).to.not.include("options-changed-later");
    redis.options.showFriendlyErrorStack = true;
    expect(await stackOf()).to.include("options-changed-later");
    redis.options.showFriendlyErrorStack = false;
    expect(await stackOf()).to.not.include("options-changed-later");
  });

  it("socketTimeout, also with commands outstanding", async () => {
    const redis = fixture.connect();
    await redis.ping();
    const errors: string[] = [];
    redis.on("error", (error: Error) => errors.push(error.message));
    fixture.proxy.stall("toClient");
    const outstanding = redis.get("a");
    await new Promise((resolve) => setTimeout(resolve, 20));
    redis.options.socketTimeout = 40;
    await new Promise<void>((resolve) => redis.once("close", () => resolve()));
    expect(errors[0]).to.equal("Socket timeout. Expecting data, but didn't receive any in 40ms.");
    redis.options.socketTimeout = undefined;
    fixture.proxy.heal();
    expect(await outstanding).to.equal(null);
  });

  for (const [title, options] of Object.entries<RedisOptions>({
    "on a plain client": {},
    "behind bounds": { bounds: { maxCommands: 1000 } },
    "behind leased connections": { blockingConnections: 1 },
    "behind both": { blockingConnections: 1, bounds: { maxCommands: 1000 } },
  })) {
    it(`enableAutoPipelining and autoPipeliningIgnoredCommands, ${title}`, async () => {
      const redis = fixture.connectDirectly(options);
      const view = redis.with({ timeout: 5000 });
      await redis.ping();
      const replies: Promise<unknown>[] = [redis.incr("n")];
      expect(redis.autoPipelineQueueSize).to.equal(0);
      redis.options.enableAutoPipelining = true;
      replies.push(redis.incr("n"), view.incr("n"));
      expect(redis.autoPipelineQueueSize).to.equal(2);
      redis.options.autoPipeliningIgnoredCommands = ["incr"];
      expect(redis.autoPipelineQueueSize).to.equal(0);
      replies.push(redis.incr("n"));
      expect(redis.autoPipelineQueueSize).to.equal(0);
      replies.push(redis.incrby("n", 1));
      expect(redis.autoPipelineQueueSize).to.equal(1);
      redis.options.enableAutoPipelining = false;
      replies.push(redis.incr("n"), redis.incrby("n", 1));
      expect(redis.autoPipelineQueueSize).to.equal(0);
      expect(await Promise.all(replies)).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
    });
  }

  it("socketTimeout on a cluster, of nodes that are there and of those that come", async () => {
    const cluster = clusters.connect({ redisOptions: { protocol: 2 }, clusterRetryStrategy: () => 10 });
    await cluster.get("a");
    const { redisOptions } = cluster.options;
    if (redisOptions === undefined) throw new Error("They were given");
    redisOptions.socketTimeout = 4321;
    expect(cluster.nodes().map(({ options }) => options.socketTimeout)).to.deep.equal(
      cluster.nodes().map(() => 4321),
    );
    expect(cluster.nodes().length).to.be.greaterThan(2);
    cluster.disconnect(true);
    await new Promise<void>((resolve) => cluster.once("ready", () => resolve()));
    await cluster.get("a");
    expect(cluster.nodes()[0]?.options.socketTimeout).to.equal(4321);
  });

  it("on a cluster", async () => {
    const cluster = clusters.connect();
    await cluster.get("a");
    cluster.options.enableAutoPipelining = true;
    const reply = cluster.get("a");
    expect(cluster.autoPipelineQueueSize).to.equal(1);
    expect(await reply).to.equal(null);
    cluster.options.enableAutoPipelining = false;
    const single = cluster.get("a");
    expect(cluster.autoPipelineQueueSize).to.equal(0);
    await single;
    Reflect.set(cluster.options, "commandTimeout", 20);
    const slow = "local n = 0 while n < 2e7 do n = n + 1 end return n";
    expect(await messageOf(cluster.eval(slow, 1, "a"))).to.equal("Command timed out");
  });

  it("are copied with their present values", () => {
    const redis = fixture.connectDirectly({ lazyConnect: true });
    redis.options.commandTimeout = 77;
    expect(redis.duplicate().options.commandTimeout).to.equal(77);
    expect({ ...fixture.connectDirectly({ lazyConnect: true }).options }).to.not.have.property(
      "commandTimeout",
    );
  });
});
