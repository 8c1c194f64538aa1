/**
 * Pipelines under failures: error replies, losses while a part is written, aborts, unrequested replies. Each row has
 * one outcome, and the commands behind the pipeline receive their own replies.
 */

import { Duplex } from "node:stream";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { AbstractConnector, type Redis } from "../../src/index";
import type { Rows } from "../../src/pipeline/transaction";
import { FakeServer, RawReply } from "../support/fake-server";
import { Direction } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";

/** More than the socket buffers of both ends hold, so that a stalled line leaves a part unwritten. */
const LARGE = 20_000;
const PADDING = "x".repeat(1024);

/** A connection that takes one write and says that it is full. */
class HeldLine extends Duplex {
  text = "";

  constructor() {
    super({ writableHighWaterMark: 1 });
  }

  override _read(): void {}

  override _write(chunk: Buffer): void {
    this.text += chunk.toString("latin1");
  }
}

describe("the commands of a pipeline", function () {
  this.timeout(60_000);
  const fixture = new ServerFixture().install();
  let redis: Redis;

  async function connect(options: RedisOptions = {}): Promise<Redis> {
    redis = fixture.connect(options);
    await untilReady(redis);
    return redis;
  }

  function large(): Promise<Rows> {
    const pipeline = redis.pipeline();
    for (let i = 0; i < LARGE; i++) pipeline.append("n", PADDING);
    return pipeline.exec() as Promise<Rows>;
  }

  function codes(rows: Rows): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [error] of rows) {
      const code = error === null ? "answered" : String((error as { code?: string }).code);
      counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    return counts;
  }

  it("keep the order of their rows, and each error names its command", async () => {
    await connect({ keyPrefix: "p:" });
    const seen: unknown[] = [];
    const rows = (await redis
      .pipeline()
      .set("s", "text", (_error, reply) => seen.push(reply))
      .incr("s", (error) => seen.push(error?.message))
      .get("s")
      .hset("h", { a: 1, b: 2 })
      .hgetall("h")
      .exec()) as Rows;
    expect(rows.map(([error, reply]) => error?.message ?? reply)).to.deep.equal([
      "OK",
      "ERR value is not an integer or out of range",
      "text",
      2,
      { a: "1", b: "2" },
    ]);
    expect(seen).to.deep.equal(["OK", "ERR value is not an integer or out of range"]);
    expect(rows[1]?.[0]).to.have.deep.property("command", { name: "incr", args: ["p:s"] });
  });

  it("may include calls with Buffers and a transaction", async () => {
    await connect();
    const rows = (await redis
      .pipeline()
      .set("k", "1")
      .getBuffer("k")
      .multi()
      .incr("k")
      .get("k")
      .exec()
      .get("k")
      .exec()) as Rows;
    expect(rows.map((row) => row[1])).to.deep.equal([
      "OK",
      Buffer.from("1"),
      "OK",
      "QUEUED",
      "QUEUED",
      [2, "2"],
      "2",
    ]);
  });

  it("keep their order with single commands before, between and behind them", async () => {
    await connect();
    const values = await Promise.all([
      redis.incr("n"),
      redis.pipeline().incr("n").incr("n").exec(),
      redis.incr("n"),
      redis.pipeline().incr("n").exec(),
      redis.incr("n"),
    ]);
    expect(values).to.deep.equal([
      1,
      [
        [null, 2],
        [null, 3],
      ],
      4,
      [[null, 5]],
      6,
    ]);
  });

  it("are not sent if they are queued after exec()", async () => {
    await connect();
    const pipeline = redis.pipeline().incr("n");
    const rows = pipeline.exec();
    pipeline.incr("n");
    expect(await rows).to.deep.equal([[null, 1]]);
    expect(await redis.get("n")).to.equal("1");
  });

  for (const retryPolicy of ["at-least-once", "at-most-once"] as const) {
    it(`have one outcome each if the line stalls in the middle and breaks: ${retryPolicy}`, async () => {
      await connect({ retryPolicy, watchdog: false });
      fixture.proxy.stall(Direction.ToServer);
      const rows = large();
      const behind = redis.incr("behind");
      await waitUntil(async () => redis.stream?.writableNeedDrain === true, {
        timeoutMs: 5000,
        what: "the socket to be full",
      });
      fixture.proxy.heal();
      fixture.proxy.cutAfter({ direction: Direction.ToServer, bytes: 1 });
      fixture.proxy.cutAll();
      const counts = codes(await rows);
      const executed = (await fixture.control.strlen("n")) / PADDING.length;
      expect(await behind).to.equal(1);
      if (retryPolicy === "at-least-once" && counts.get("answered") === LARGE) {
        expect(executed).to.be.at.least(LARGE);
      } else {
        const unknown = counts.get("OUTCOME_UNKNOWN") ?? 0;
        const aborted = counts.get("ABORTED") ?? 0;
        expect((counts.get("answered") ?? 0) + unknown + aborted).to.equal(LARGE);
        expect(executed).to.be.at.most((counts.get("answered") ?? 0) + unknown);
      }
    });
  }

  it("have one outcome each if the line is cut after each of 60 reply bytes", async () => {
    for (let bytes = 0; bytes <= 60; bytes++) {
      await connect();
      const got = await redis.pipeline().set("k", "0").get("k").exec();
      expect(got).to.have.lengthOf(2);
      const { bytes: before } = fixture.proxy.counters.toClient;
      fixture.proxy.cutAfter({ direction: Direction.ToClient, bytes: before + bytes });
      let calls = 0;
      const pipeline = redis.pipeline();
      for (let i = 0; i < 12; i++) pipeline.incr("k", () => calls++);
      const [rows, next] = await Promise.all([pipeline.exec() as Promise<Rows>, redis.echo("next")]);
      expect(rows).to.have.lengthOf(12);
      expect(calls).to.equal(12);
      expect(next).to.equal("next");
      await closeClient(redis);
      fixture.proxy.resetCounters();
    }
  });

  it("keep their replies if a bulk is aborted", async () => {
    await connect();
    const abort = new AbortController();
    fixture.proxy.delay(30, Direction.ToClient);
    const commands = Array.from({ length: LARGE }, (_, i) => ["echo", `${i}${PADDING}`]);
    const summary = redis.bulk(commands, { batchSize: LARGE, signal: abort.signal }).summary();
    setTimeout(() => abort.abort(), 20);
    const error = await summary.then(
      () => null,
      (reason: Error) => reason,
    );
    expect(error).to.have.property("code", "BULK_ABORTED");
    expect(await Promise.all([redis.echo("a"), redis.pipeline().echo("b").exec()])).to.deep.equal([
      "a",
      [[null, "b"]],
    ]);
  });

  it("all end at disconnect()", async () => {
    await connect({ watchdog: false });
    fixture.proxy.stall(Direction.ToServer);
    const rows = large();
    redis.disconnect();
    fixture.proxy.heal();
    const counts = codes(await rows);
    expect([...counts.values()].reduce((sum, count) => sum + count)).to.equal(LARGE);
    expect(counts.get("undefined")).to.equal(undefined);
  });

  it("fail in the order of issue if their client ends, and each error names its command", async () => {
    await connect({ watchdog: false });
    fixture.proxy.stall(Direction.ToClient);
    const told: unknown[] = [];
    const note = (error?: Error | null): void => {
      const { code, command } = error as unknown as {
        code: string;
        command: { name: string; args: string[] };
      };
      told.push([code, command.name, ...command.args]);
    };
    redis.set("a", "1", note).catch(() => {});
    const rows = redis.pipeline().set("b", "2", note).get("c", note).exec() as Promise<Rows>;
    redis.incr("d", note).catch(() => {});
    redis.disconnect();
    fixture.proxy.cutAll();
    const errors = (await rows).map(([error]) => error);
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).to.deep.equal([
      ["OUTCOME_UNKNOWN", "set", "a", "1"],
      ["OUTCOME_UNKNOWN", "set", "b", "2"],
      ["OUTCOME_UNKNOWN", "get", "c"],
      ["OUTCOME_UNKNOWN", "incr", "d"],
    ]);
    expect(errors[0]).to.not.equal(errors[1]);
  });

  it("fail behind an unrequested reply between two writes", async () => {
    const line = new HeldLine();
    redis = fixture.connect({
      Connector: class extends AbstractConnector {
        constructor() {
          super(2000);
        }
        override async connect(): Promise<Duplex> {
          return line;
        }
      },
      protocol: 2,
      enableReadyCheck: false,
      disableClientInfo: true,
      highWaterBytes: 100,
      retryStrategy: () => null,
    });
    const errors: string[] = [];
    redis.on("error", (error: Error & { code?: string }) => errors.push(String(error.code)));
    await untilReady(redis);
    const pipeline = redis.pipeline();
    for (let i = 0; i < 100; i++) pipeline.get("k");
    const outcome = pipeline.exec() as Promise<Rows>;
    await waitUntil(async () => line.text.length > 0, { timeoutMs: 5000, what: "the first write" });
    const written = line.text.split("get").length - 1;
    expect(written).to.be.within(1, 99);
    line.push(`${"$1\r\nv\r\n".repeat(written)}$1\r\n?\r\n`);
    const rows = await outcome;
    expect(errors).to.include("UNEXPECTED_REPLY");
    expect(rows.filter(([error, value]) => error === null && value === "v")).to.have.length(written);
    expect(rows.filter(([error]) => error !== null)).to.have.length(100 - written);
  });

  it("have the same replies in subscriber mode as single commands", async () => {
    redis = fixture.connectDirectly({ protocol: 2 });
    await untilReady(redis);
    const [, rows, bytes, single] = await Promise.all([
      redis.subscribe("channel"),
      redis.pipeline().ping().exec(),
      redis.pipeline().pingBuffer().exec(),
      redis.ping(),
    ]);
    expect(rows).to.deep.equal([[null, single]]);
    expect(bytes).to.deep.equal([[null, (single as unknown as string[]).map((text) => Buffer.from(text))]]);
  });

  it("lose their connection after an unrequested reply, and keep their own replies", async () => {
    const fake = await FakeServer.start((words) =>
      words[0] === "get"
        ? new RawReply(words[1] === "last" ? "$1\r\nz\r\n$1\r\n?\r\n" : "$1\r\nv\r\n")
        : undefined,
    );
    try {
      redis = fixture.connect({ port: fake.port });
      const errors: string[] = [];
      redis.on("error", (error: Error & { code?: string }) => errors.push(String(error.code)));
      await untilReady(redis);
      expect(await redis.pipeline().get("a").get("last").exec()).to.deep.equal([
        [null, "v"],
        [null, "z"],
      ]);
      await waitUntil(async () => errors.includes("UNEXPECTED_REPLY"), {
        timeoutMs: 5000,
        what: "the connection to be given up",
      });
      expect(await redis.pipeline().get("a").exec()).to.deep.equal([[null, "v"]]);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });
});
