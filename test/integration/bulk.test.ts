/** Bulk loading on a real server: order, window, errors, abort, the loss of the line. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Command, Redis } from "../../src/index";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { closeClient, matrix } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

function* sets(count: number): Generator<unknown[]> {
  for (let i = 0; i < count; i++) yield ["set", `bulk:${i % 500}`, i];
}

describe("bulk", () => {
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  matrix("gives all rows in order", { servers: [ServerKind.Redis] }, async ({ redis }) => {
    async function* incrs(): AsyncGenerator<unknown[]> {
      for (let i = 0; i < 2500; i++) yield ["incr", "bulk:n"];
    }
    const values: unknown[] = [];
    for await (const [error, value] of redis.bulk(incrs(), { batchSize: 300 })) {
      expect(error).to.equal(null);
      values.push(value);
    }
    expect(values).to.deep.equal(Array.from({ length: 2500 }, (_, i) => i + 1));
  });

  matrix(
    "summary counts, and errors stay in their place",
    { servers: [ServerKind.Redis] },
    async ({ redis }) => {
      const progress: number[] = [];
      const commands = [
        ...sets(1000),
        ["lpush", "bulk:1", "x"],
        ["get", "bulk:1"],
        ["set", "bulk:x", { toString: null }],
      ];
      const summary = await redis
        .bulk(commands, { batchSize: 400, onProgress: ({ settled }) => progress.push(settled) })
        .summary();
      expect(summary).to.include({ issued: 1003, settled: 1003, succeeded: 1001, failed: 2 });
      expect(summary.errors.map(({ index }) => index)).to.deep.equal([1000, 1002]);
      expect(progress).to.deep.equal([400, 800, 1003]);
    },
  );

  it("waits for what a reply transformer promises, whether rows are read or not", async () => {
    const redis = new Redis({ host: server.host, port: server.port });
    await redis.mset("bulk:p1", "1", "bulk:p2", "broken");
    Command.setReplyTransformer("get", async (reply) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (reply === "broken") throw new Error("no");
      return `${String(reply)}!`;
    });
    const gets = [
      ["get", "bulk:p1"],
      ["get", "bulk:p2"],
    ];
    try {
      // Rows of the table, and commands: a subscription makes commands of all that is in the batch.
      for (const commands of [gets, [...gets, ["unsubscribe", "bulk:none"]]]) {
        const rows: unknown[] = [];
        for await (const [error, reply] of redis.bulk(commands)) rows.push(error?.message ?? reply);
        expect(rows.slice(0, 2)).to.deep.equal(["1!", "no"]);
        const { failed, errors } = await redis.bulk(commands).summary();
        expect([failed, errors.map(({ error }) => error.message)]).to.deep.equal([1, ["no"]]);
      }
    } finally {
      delete (Command as unknown as { _transformer: { reply: Record<string, unknown> } })._transformer.reply[
        "get"
      ];
      await closeClient(redis);
    }
  });

  it("never takes more from the source than its window", async () => {
    const redis = new Redis({ host: server.host, port: server.port });
    let taken = 0;
    let most = 0;
    let read = 0;
    function* source(): Generator<unknown[]> {
      for (let i = 0; i < 20_000; i++) {
        taken++;
        most = Math.max(most, taken - read);
        yield ["set", "bulk:w", i];
      }
    }
    try {
      for await (const row of redis.bulk(source(), { batchSize: 500, inFlight: 3 }))
        read += row.length > 0 ? 1 : 0;
      expect(read).to.equal(20_000);
      expect(most).to.be.at.most(2000);
    } finally {
      await closeClient(redis);
    }
  });

  it("a reader who leaves early closes the source; an abort rejects with its progress", async () => {
    const redis = new Redis({ host: server.host, port: server.port });
    let isClosed = false;
    function* source(): Generator<unknown[]> {
      try {
        yield* sets(1_000_000);
      } finally {
        isClosed = true;
      }
    }
    try {
      for await (const row of redis.bulk(source(), { batchSize: 100 })) {
        if (row[0] === null) break;
      }
      expect(isClosed).to.equal(true);
      const controller = new AbortController();
      const bulk = redis.bulk(sets(10_000_000), {
        signal: controller.signal,
        onProgress: ({ settled }) => {
          if (settled >= 30_000) controller.abort();
        },
      });
      const error = await bulk.summary().then(
        () => null,
        (failure: Error & { code?: string }) => failure,
      );
      expect(error?.code).to.equal("BULK_ABORTED");
      expect(await redis.ping()).to.equal("PONG");
    } finally {
      await closeClient(redis);
    }
  });

  it("goes on over a line that is cut again and again, and every command counts", async () => {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    const redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 5 });
    redis.on("error", () => {});
    // Each connection gets some thousand replies through before it is cut.
    proxy.cutAfter({ direction: Direction.ToClient, bytes: 20_000, style: "reset", times: 25 });
    function* sadds(): Generator<unknown[]> {
      for (let i = 0; i < 150_000; i++) yield ["sadd", "bulk:set", i];
    }
    try {
      const summary = await redis.bulk(sadds(), { batchSize: 2000 }).summary();
      expect(summary).to.include({ settled: 150_000, failed: 0 });
      expect(await redis.scard("bulk:set")).to.equal(150_000);
    } finally {
      await closeClient(redis);
      await proxy.stop();
    }
  });

  it("an executed pipeline can be sent in parts", async () => {
    const redis = new Redis({ host: server.host, port: server.port });
    try {
      const pipeline = redis.pipeline();
      for (let i = 0; i < 5000; i++) pipeline.incr("bulk:p");
      const rows = (await pipeline.exec({ batchSize: 700 })) as [null, number][];
      expect(rows.map(([, value]) => value)).to.deep.equal(Array.from({ length: 5000 }, (_, i) => i + 1));
      const transaction = redis.multi().incr("bulk:p").incr("bulk:p");
      expect(await transaction.exec({ batchSize: 1 })).to.deep.equal([
        [null, 5001],
        [null, 5002],
      ]);
    } finally {
      await closeClient(redis);
    }
  });
});
