/** Batches that end in an unusual way: owners settle queued commands, bulks keep only failed rows. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Command, Redis } from "../../src/index";
import { closeClient } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

describe("batches with an unusual end", () => {
  let server: ServerProcess;
  let redis: Redis;

  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  beforeEach(() => {
    redis = new Redis({ port: server.port });
  });
  afterEach(() => closeClient(redis));

  it("a pipeline in parts ends although the commands of later parts have been rejected", async () => {
    for (const rejected of [
      [1, 2],
      [2, 3],
      [0, 1, 2, 3],
    ]) {
      const pipeline = redis.pipeline();
      const commands = Array.from({ length: 4 }, () => new Command("echo", ["a"], { replyEncoding: "utf8" }));
      const queue = pipeline as unknown as { sendCommand(command: Command): unknown };
      for (const command of commands) queue.sendCommand(command);
      const rows = pipeline.exec({ batchSize: 1 });
      for (const index of rejected) commands[index]?.reject(new Error("given up"));
      const failed = ((await rows) ?? []).flatMap(([error], index) => (error === null ? [] : [index]));
      expect(failed).to.deep.equal(rejected);
    }
  });

  it("a traced bulk tells of its failed rows", async () => {
    const listener = (): void => {};
    subscribe("tracing:sluice:pipeline:asyncEnd", listener);
    try {
      await redis.set("endings:text", "a");
      const calls = [
        ["get", "a"],
        ["incr", "endings:text"],
        ["get", "b"],
      ];
      const { failed } = await redis.bulk(calls, { maxErrors: 10 }).summary();
      expect(failed).to.equal(1);
    } finally {
      unsubscribe("tracing:sluice:pipeline:asyncEnd", listener);
    }
  });

  it("a shown cache has counts and no values", async () => {
    const cached = redis.duplicate({ cache: true });
    try {
      await cached.set("endings:secret", "hidden-value");
      await cached.get("endings:secret");
      await cached.get("endings:secret");
      expect(inspect(cached.cache, { depth: 5 }))
        .to.contain("hits")
        .and.not.contain("hidden-value");
    } finally {
      await closeClient(cached);
    }
  });

  it("a script whose text is a Buffer runs", async () => {
    const lua = Buffer.from("return KEYS[1]") as unknown as string;
    redis.defineCommand("firstKey", { lua, numberOfKeys: 1 });
    expect(await (redis as Redis & { firstKey(key: string): Promise<unknown> }).firstKey("k")).to.equal("k");
  });
});
