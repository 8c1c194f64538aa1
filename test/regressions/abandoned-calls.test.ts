/** The commands of an aborted bulk: their late replies are dropped, and no memory is kept for them. */

import { expect } from "chai";
import { heldBytes } from "../../benchmarks/support/held-bytes";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY, RawReply } from "../support/fake-server";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const CALLS = 100;
const ROUNDS = 20;
const BYTES = 10_000;

/** The bytes of Buffers that can still be reached. */
async function heldBuffers(): Promise<number> {
  await heldBytes();
  return process.memoryUsage().arrayBuffers;
}

describe("a bulk that was aborted", () => {
  let server: ServerProcess;
  let redis: Redis;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  async function connect(options: RedisOptions): Promise<void> {
    redis = new Redis({ watchdog: false, retryStrategy: () => 1, ...options });
    redis.on("error", () => {});
    await untilReady(redis);
  }

  function abortable(commands: unknown[][]) {
    const abort = new AbortController();
    const bulk = redis.bulk(commands, { signal: abort.signal });
    const code = bulk.summary().catch((error: Error & { code?: string }) => error.code);
    return { abort, bulk, code };
  }

  afterEach(() => closeClient(redis));

  it("error replies that still come neither reconnect nor count", async () => {
    const fake = await FakeServer.start(([name]) => (name === "incr" ? NO_REPLY : undefined));
    try {
      let asked = 0;
      const reconnectOnError = (): 2 => {
        asked++;
        return 2;
      };
      await connect({ host: fake.host, port: fake.port, reconnectOnError });
      const { abort, bulk, code } = abortable(Array.from({ length: CALLS }, () => ["incr", "n"]));
      await waitUntil(async () => fake.received.filter(([name]) => name === "incr").length === CALLS, {
        timeoutMs: 5000,
        what: "the bulk to be written",
      });
      abort.abort();
      expect(await code).to.equal("BULK_ABORTED");
      const { failed } = bulk.progress;
      fake.broadcast(new RawReply("-READONLY no writes here\r\n".repeat(CALLS)));
      expect(await redis.ping()).to.equal("PONG");
      expect([asked, fake.connectionCount, bulk.progress.failed]).to.deep.equal([0, 1, failed]);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("nothing of it is kept behind a peer that takes nothing", async () => {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    try {
      await connect({ host: proxy.host, port: proxy.port });
      proxy.stall("toServer");
      const filler = redis.echo("x".repeat(1 << 24)).catch((error: Error) => error);
      await waitUntil(async () => redis.stream?.writableNeedDrain === true, {
        timeoutMs: 5000,
        what: "the socket to be full",
      });
      const before = await heldBuffers();
      for (let round = 0; round < ROUNDS; round++) {
        const value = (): Buffer => Buffer.alloc(BYTES);
        const { abort, code } = abortable(Array.from({ length: CALLS }, () => ["set", "k", value()]));
        await new Promise((resolve) => setImmediate(resolve));
        abort.abort();
        expect(await code).to.equal("BULK_ABORTED");
      }
      // The collector takes more than one turn to give Buffers back.
      await waitUntil(async () => (await heldBuffers()) - before < (ROUNDS * CALLS * BYTES) / 4, {
        timeoutMs: 5000,
        what: "what was given up to be forgotten",
      });
      await closeClient(redis);
      expect(await filler).to.be.an("error");
    } finally {
      await closeClient(redis);
      await proxy.stop();
    }
  });
});
