/** Consumers of stream groups on real servers: acknowledgement, takeover, dead letters, the end, and lost connections. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { ConsumeOptions, Redis, StreamMessage } from "../../src/index";
import { matrix } from "../support/matrix";
import { codeOf, failureOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";
import { serverKinds } from "../support/shared-servers";
import { FakeRedis } from "./fakeredis";

/** Short, so that messages of dead consumers are claimed soon. */
const CLAIM_MS = 100;
/** Longer than a busy machine may delay a renewal. */
const KEPT_MS = 600;
const ALL_SERVERS = { autoPipelining: [false], protocols: [3] } as const;
const SETTINGS = { stream: "orders", group: "billing", consumer: "one", claimIdleMs: 60_000 } as const;
const LIMIT = { timeoutMs: 10_000, what: "the messages" };

interface Pending {
  readonly id: string;
  readonly consumer: string;
  readonly idleMs: number;
  readonly deliveries: number;
}

async function add(redis: Redis, ...values: readonly (string | number)[]): Promise<string[]> {
  return Promise.all(values.map((value) => redis.xadd("orders", "*", "n", value) as Promise<string>));
}

async function take(redis: Redis, count: number, options: Partial<ConsumeOptions<false>> = {}) {
  const messages: StreamMessage[] = [];
  const loop = redis.consume({ ...SETTINGS, ...options } as ConsumeOptions<false>);
  while (messages.length < count) {
    const { value, done } = await loop.next();
    if (done) break;
    messages.push(value);
  }
  return { messages, loop, numbers: messages.map(({ fields }) => fields["n"]) };
}

async function pendingOf(redis: Redis, stream = "orders"): Promise<Pending[]> {
  const rows = (await redis.xpending(stream, "billing", "-", "+", 100)) as [string, string, number, number][];
  return rows.map(([id, consumer, idleMs, deliveries]) => ({ id, consumer, idleMs, deliveries }));
}

/** A consumer that receives messages and dies. */
async function receiveAndDie(redis: Redis): Promise<void> {
  await redis.xgroup("CREATE", "orders", "billing", "0", "MKSTREAM").catch(() => {});
  await redis.xreadgroup("GROUP", "billing", "dead", "STREAMS", "orders", ">");
}

async function callsOf(redis: Redis, command: string): Promise<number> {
  const stats = await redis.info("commandstats");
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

matrix(
  "a consumer reads in a loop and acknowledges a message when it asks for the next one",
  { autoPipelining: [false], replyMappings: ["legacy", "resp3"] },
  async ({ redis, connect }) => {
    const ids = await add(redis, 1, 2, 3);
    const { messages, loop, numbers } = await take(redis, 3);
    expect(numbers).to.deep.equal(["1", "2", "3"]);
    expect(messages.map(({ id }) => id)).to.deep.equal(ids);
    expect(messages.map(({ deliveries }) => deliveries)).to.deep.equal([1, 1, 1]);
    expect(messages[0]).to.deep.include({ stream: "orders", fields: { n: "1" }, pairs: ["n", "1"] });
    await loop.return();
    expect((await pendingOf(redis)).map(({ id }) => id)).to.deep.equal(ids.slice(2));
    // With Buffers, of several streams, below a prefix.
    const client = connect({ keyPrefix: "p:" });
    await redis.xadd("p:bytes", "*", "__proto__", Buffer.from([255]));
    await redis.xadd("p:others", "*", "n", 1);
    const found: StreamMessage<Buffer>[] = [];
    const streams = { ...SETTINGS, stream: ["bytes", "others"], buffers: true } as const;
    for await (const message of client.consume(streams)) {
      await message.ack();
      if (found.push(message) === 2) break;
    }
    const bytes = found.find(({ stream }) => stream === "bytes");
    expect(bytes?.pairs).to.deep.equal([Buffer.from("__proto__"), Buffer.from([255])]);
    expect(Object.entries(bytes?.fields ?? {})).to.deep.equal([["__proto__", Buffer.from([255])]]);
    expect(found.map(({ stream }) => stream).sort()).to.deep.equal(["bytes", "others"]);
    expect(await pendingOf(redis, "p:bytes")).to.deep.equal([]);
  },
);

matrix(
  "a consumer claims what died consumers left, and counts deliveries",
  ALL_SERVERS,
  async ({ redis }) => {
    const [id] = await add(redis, 1);
    await receiveAndDie(redis);
    const { messages, loop } = await take(redis, 1, { claimIdleMs: CLAIM_MS });
    expect(messages.map((message) => [message.id, message.deliveries])).to.deep.equal([[id, 2]]);
    await messages[0]?.ack();
    await loop.return();
    expect(await pendingOf(redis)).to.deep.equal([]);
  },
);

matrix("a consumer moves messages that fail again and again", ALL_SERVERS, async ({ redis }) => {
  const [id] = await add(redis, 1, 2);
  const stop = new AbortController();
  const failed: number[] = [];
  const options = {
    ...SETTINGS,
    claimIdleMs: CLAIM_MS,
    deadLetter: { stream: "dead", maxDeliveries: 2 },
    signal: stop.signal,
    onError: (_error: Error, { deliveries }: StreamMessage) => failed.push(deliveries),
  };
  const consuming = redis.consume(options, ({ fields }) => {
    if (fields["n"] === "1") throw new Error("no");
  });
  await waitUntil(async () => (await redis.xlen("dead")) === 1, LIMIT);
  expect(failed).to.deep.equal([1, 2]);
  const [[, fields] = []] = await redis.xrange("dead", "-", "+");
  const origin = ["dead-letter:stream", "orders", "dead-letter:group", "billing", "dead-letter:id", id];
  expect(fields).to.deep.equal(["n", "1", ...origin, "dead-letter:deliveries", "2"]);
  stop.abort();
  await consuming;
  // Consumers that die report no failure: the next one moves the message.
  const [third] = await add(redis, 1);
  await receiveAndDie(redis);
  await redis.xclaim("orders", "billing", "dead", 0, String(third));
  const later = new AbortController();
  const again = redis.consume({ ...options, signal: later.signal }, () => {
    throw new Error("It was handled once more");
  });
  await waitUntil(async () => (await redis.xlen("dead")) === 2, LIMIT);
  await waitUntil(async () => (await pendingOf(redis)).length === 0, LIMIT);
  later.abort();
  await again;
  expect(failed).to.deep.equal([1, 2]);
});

matrix("a consumer hands back messages that it has not begun", ALL_SERVERS, async ({ redis }) => {
  const ids = await add(redis, 1, 2, 3);
  const { loop } = await take(redis, 1);
  await loop.return();
  const pending = await pendingOf(redis);
  expect(pending.map(({ id, deliveries }) => [id, deliveries])).to.deep.equal([
    [ids[0], 1],
    [ids[1], 0],
    [ids[2], 0],
  ]);
  // At once, although `claimIdleMs` is a minute.
  const next = await take(redis, 2, { consumer: "two" });
  expect(next.messages.map(({ id, deliveries }) => [id, deliveries])).to.deep.equal([
    [ids[1], 1],
    [ids[2], 1],
  ]);
  await next.loop.return();
});

matrix(
  "a consumer stays in its database and outside of the transactions of its client",
  ALL_SERVERS,
  async ({ redis, connect }) => {
    await add(redis, 1, 2);
    const client = connect();
    const { messages, loop } = await take(client, 1, { count: 1 });
    await client.select(5);
    await client.multi({ pipeline: false });
    await messages[0]?.ack();
    expect(await pendingOf(redis)).to.deep.equal([]);
    // A connection that is borrowed later selects the same database.
    await redis.client("KILL", "TYPE", "normal", "SKIPME", "yes");
    const { value } = await loop.next();
    expect(value?.fields["n"]).to.equal("2");
    await loop.return();
    expect(await pendingOf(redis)).to.have.length(1);
  },
);

matrix("a consumer processes messages that are trimmed meanwhile", ALL_SERVERS, async ({ redis }) => {
  await add(redis, 1, 2);
  const { messages, loop } = await take(redis, 1, { claimIdleMs: CLAIM_MS });
  await redis.xtrim("orders", "MAXLEN", 0);
  // The renewal finds both of them gone.
  await waitUntil(async () => (await pendingOf(redis)).length === 0, LIMIT);
  const renewals = await callsOf(redis, "evalsha");
  await waitUntil(async () => (await callsOf(redis, "evalsha")) >= renewals + 2, LIMIT);
  expect(messages[0]?.signal.aborted).to.equal(false);
  expect((await loop.next()).value?.fields["n"]).to.equal("2");
  await loop.return();
});

matrix("a dead-letter stream has the bytes of the message", ALL_SERVERS, async ({ redis }) => {
  const bytes = Buffer.from([255, 0, 128]);
  await redis.xadd("orders", "*", bytes, bytes);
  const stop = new AbortController();
  const options = {
    ...SETTINGS,
    deadLetter: { stream: "dead", maxDeliveries: 1 },
    signal: stop.signal,
    onError: () => stop.abort(),
  };
  await redis.consume(options, () => {
    throw new Error("no");
  });
  const [[, pairs] = []] = await redis.xrangeBuffer("dead", "-", "+");
  expect(pairs?.slice(0, 2)).to.deep.equal([bytes, bytes]);
});

/** The test server does not end a blocked read whose stream is deleted. */
const REAL_SERVERS = { ...ALL_SERVERS, servers: serverKinds().filter((kind) => kind !== ServerKind.Test) };

matrix(
  "a consumer creates its group, and again after a FLUSHALL",
  REAL_SERVERS,
  async ({ redis, connect }) => {
    await add(redis, "before");
    const only = { ...SETTINGS, create: "$" };
    const missing = redis.consume({ ...only, create: false }).next();
    expect(await codeOf(missing)).to.equal("CONSUMER_GROUP_MISSING");
    const loop = redis.consume(only);
    const first = loop.next();
    await waitUntil(async () => ((await redis.xinfo("GROUPS", "orders")) as unknown[]).length === 1, LIMIT);
    await add(redis, "after");
    expect((await first).value?.fields["n"]).to.equal("after");
    const second = loop.next();
    const control = connect();
    await waitUntil(async () => (await control.client("LIST")).includes("cmd=xreadgroup"), LIMIT);
    await control.flushall();
    await waitUntil(async () => (await control.exists("orders")) === 1, LIMIT);
    await add(control, "again");
    expect((await second).value?.fields["n"]).to.equal("again");
    await loop.return();
  },
);

describe("a consumer", () => {
  const fixture = new ServerFixture().install();

  it("sends the acknowledgements of a turn as one command", async () => {
    const redis = fixture.connect();
    const numbers = Array.from({ length: 200 }, (_, index) => index);
    await add(redis, ...numbers);
    const [acks, reads] = [await callsOf(redis, "xack"), await callsOf(redis, "xreadgroup")];
    const stop = new AbortController();
    const found: number[] = [];
    await redis.consume({ ...SETTINGS, count: 50, signal: stop.signal }, ({ fields }) => {
      if (found.push(Number(fields["n"])) === numbers.length) stop.abort();
    });
    expect(found).to.deep.equal(numbers);
    expect(await pendingOf(redis)).to.deep.equal([]);
    expect((await callsOf(redis, "xack")) - acks).to.be.at.most(8);
    expect((await callsOf(redis, "xreadgroup")) - reads).to.equal(4);
  });

  it("runs as many handlers at the same time as it may", async () => {
    const redis = fixture.connect();
    await add(redis, ...Array(30).keys());
    const stop = new AbortController();
    let [running, most, done] = [0, 0, 0];
    await redis.consume({ ...SETTINGS, concurrency: 7, signal: stop.signal }, async () => {
      most = Math.max(most, ++running);
      await sleep(2);
      running--;
      if (++done === 30) stop.abort();
    });
    expect([most, done]).to.deep.equal([7, 30]);
  });

  it("ends by its signal: a blocked read ends at once, messages in progress are finished", async () => {
    const redis = fixture.connect();
    const stop = new AbortController();
    await add(redis, 1);
    let isFinished = false;
    const options = { ...SETTINGS, blockMs: 60_000, concurrency: 2, signal: stop.signal };
    const consuming = redis.consume(options, async () => {
      await waitUntil(async () => (await fixture.control.client("LIST")).includes("cmd=xreadgroup"), LIMIT);
      stop.abort();
      await sleep(50);
      isFinished = true;
    });
    await consuming;
    expect([isFinished, await pendingOf(redis)]).to.deep.equal([true, []]);
    // Its connection is free for the next lease.
    const own = await redis.lease();
    expect(await own.xadd("orders", "*", "n", 2)).to.match(/-/);
    await own.release();
    expect(await redis.consume({ ...SETTINGS, signal: stop.signal }).next()).to.deep.include({ done: true });
    const abortedLater = new AbortController();
    const unread = redis.consume({ ...SETTINGS, signal: abortedLater.signal });
    abortedLater.abort();
    expect(await unread.next()).to.deep.include({ done: true });
    await redis.consume({ ...SETTINGS, signal: stop.signal }, () => {});
    const last = new AbortController();
    for await (const message of redis.consume({ ...SETTINGS, signal: last.signal })) {
      expect(message.fields["n"]).to.equal("2");
      setTimeout(() => last.abort(), 20);
    }
    expect(await pendingOf(redis)).to.deep.equal([]);
  });

  it("ends with the error of its handler, and acknowledges the others", async () => {
    const redis = fixture.connect();
    const [bad] = await add(redis, "bad", "good");
    const broken = new Error("broken");
    const consuming = redis.consume({ ...SETTINGS, concurrency: 2 }, async ({ fields }) => {
      await sleep(fields["n"] === "bad" ? 5 : 30);
      if (fields["n"] === "bad") throw broken;
    });
    expect(await failureOf(consuming)).to.equal(broken);
    expect((await pendingOf(redis)).map(({ id }) => id)).to.deep.equal([bad]);
    const failsToo = { ...SETTINGS, claimIdleMs: CLAIM_MS, onError: () => Promise.reject(new Error("too")) };
    const failure = await failureOf(
      redis.consume(failsToo, () => {
        throw broken;
      }),
    );
    expect(failure.message).to.equal("too");
  });

  it("leaves the message of a loop that throws", async () => {
    const redis = fixture.connect();
    const [id] = await add(redis, 1, 2);
    const body = async (): Promise<void> => {
      for await (const { fields } of redis.consume(SETTINGS)) throw new Error(`at ${fields["n"]}`);
    };
    expect((await failureOf(body())).message).to.equal("at 1");
    expect((await pendingOf(redis))[0]).to.include({ id, deliveries: 1 });
  });

  it("keeps messages that take longer than claimIdleMs", async () => {
    const redis = fixture.connect();
    await add(redis, 1);
    const stop = new AbortController();
    const deliveries: number[] = [];
    const work = async (message: StreamMessage): Promise<void> => {
      deliveries.push(message.deliveries);
      await sleep(2.5 * KEPT_MS);
      expect(message.signal.aborted).to.equal(false);
      stop.abort();
    };
    const options = { ...SETTINGS, claimIdleMs: KEPT_MS, signal: stop.signal };
    await Promise.all(["one", "two"].map((consumer) => redis.consume({ ...options, consumer }, work)));
    expect(deliveries).to.deep.equal([1]);
    expect(await pendingOf(redis)).to.deep.equal([]);
  });

  it("tells when another consumer has taken its message", async () => {
    const redis = fixture.connect();
    await add(redis, 1);
    const { messages, loop } = await take(redis, 1, { claimIdleMs: CLAIM_MS });
    const [{ id, signal }] = messages as [StreamMessage];
    const aborted = once(signal, "abort");
    await redis.xclaim("orders", "billing", "two", 0, id);
    await aborted;
    expect((signal.reason as { code: string }).code).to.equal("MESSAGE_TAKEN");
    await loop.return();
    expect((await pendingOf(redis)).map(({ consumer }) => consumer)).to.deep.equal(["two"]);
  });

  it("loses nothing when its connections are closed again and again", async () => {
    const redis = fixture.connect({ maxLossesPerCommand: 1000, maxRetriesPerRequest: null });
    const numbers = Array.from({ length: 300 }, (_, index) => String(index));
    const found = new Map<string, number[]>();
    const stop = new AbortController();
    const options = { ...SETTINGS, claimIdleMs: 300, concurrency: 5, signal: stop.signal };
    const consuming = redis.consume(options, async ({ fields, deliveries }) => {
      const n = String(fields["n"]);
      found.set(n, [...(found.get(n) ?? []), deliveries]);
      await sleep(1);
    });
    for (const [index, number] of numbers.entries()) {
      await add(fixture.control, number);
      if (index % 30 === 29) await fixture.control.client("KILL", "TYPE", "normal", "SKIPME", "yes");
      if (index % 50 === 49) fixture.proxy.cutAll();
    }
    await waitUntil(async () => found.size === numbers.length, LIMIT);
    await waitUntil(async () => (await pendingOf(fixture.control)).length === 0, LIMIT);
    stop.abort();
    await consuming;
    // Only what was in doubt has come again: the reply with it was lost.
    for (const deliveries of found.values())
      expect(deliveries.slice(1).every((one) => one > 1)).to.equal(true);
  });

  it("survives states of the server that pass, and ends with other errors", async () => {
    const redis = fixture.connect();
    const loop = redis.consume({ ...SETTINGS, stream: ["orders", "text"] });
    const first = loop.next();
    await waitUntil(async () => (await fixture.control.client("LIST")).includes("cmd=xreadgroup"), LIMIT);
    await fixture.control.client("UNBLOCK", await blockedId(fixture.control), "ERROR");
    await add(fixture.control, 1);
    expect((await first).value?.fields["n"]).to.equal("1");
    const second = failureOf(loop.next());
    await fixture.control.set("text", "no stream");
    await fixture.control.client("KILL", "TYPE", "normal", "SKIPME", "yes");
    expect((await second).message).to.match(/^WRONGTYPE /);
    expect(await loop.next()).to.deep.include({ done: true });
  });

  it("ends with its client", async () => {
    const redis = fixture.connect();
    const next = redis.consume(SETTINGS).next();
    await waitUntil(async () => (await fixture.control.client("LIST")).includes("cmd=xreadgroup"), LIMIT);
    const ended = codeOf(next);
    await redis.quit();
    expect(await ended).to.not.equal("fulfilled");
  });

  it("ends without a reply of the server: it hands nothing back", async () => {
    const redis = fixture.connect();
    const ids = await add(redis, 1, 2, 3);
    const { loop } = await take(redis, 1);
    fixture.proxy.halfOpen();
    await loop.return();
    const pending = await pendingOf(fixture.control);
    expect(pending.map(({ id, deliveries }) => [id, deliveries])).to.deep.equal(ids.map((id) => [id, 1]));
  });

  it("reads although all leases are taken", async () => {
    const redis = fixture.connect({ leases: { max: 1, waitMs: 10 } });
    const own = await redis.lease();
    await add(redis, 1);
    const { loop, numbers } = await take(redis, 1);
    expect(numbers).to.deep.equal(["1"]);
    await loop.return();
    await own.release();
  });

  it("refuses what it would ignore", async () => {
    const redis = fixture.connectDirectly({ lazyConnect: true });
    const open = (options: object) => () => redis.consume({ ...SETTINGS, ...options } as ConsumeOptions);
    expect(open({ concurrency: 2 })).to.throw("needs a handler");
    expect(open({ group: undefined })).to.throw('needs the option "group"');
    expect(open({ batch: 2 })).to.throw('Unknown option "batch" of consume()');
    expect(open({ stream: [] })).to.throw("the name of a stream, or a list of names");
    expect(open({ claimIdleMs: 0 })).to.throw("an integer from 100 to");
    expect(open({ count: 0.5 })).to.throw("an integer of at least 1");
    expect(open({ deadLetter: { stream: "x", max: 1 } })).to.throw("{ stream, maxDeliveries }");
    const handled = redis.consume({ ...SETTINGS, concurrency: 0 }, () => {});
    expect(await codeOf(handled)).to.equal("INVALID_OPTION");
  });
});

async function blockedId(redis: Redis): Promise<number> {
  const line = (await redis.client("LIST")).split("\n").find((one) => one.includes("cmd=xreadgroup"));
  return Number(/\bid=(\d+)/.exec(line ?? "")?.[1]);
}

/** No server at hand is Redis 8.4, so this one stands in for it. */
describe("a consumer on a server with XREADGROUP CLAIM", () => {
  const fixture = new ServerFixture(ServerKind.Redis).install();
  let server: FakeRedis | null;
  before(async function () {
    this.timeout(120_000);
    server = await FakeRedis.start();
  });
  after(() => server?.stop());

  for (const replyMapping of ["legacy", "resp3"] as const) {
    it(`claims with the read itself, ${replyMapping} replies`, async function () {
      if (server === null) return this.skip();
      const redis = fixture.connectDirectly({ port: server.port, enableReadyCheck: false, replyMapping });
      await redis.flushall();
      const [id] = await add(redis, 1);
      await receiveAndDie(redis);
      const [, second] = [await sleep(CLAIM_MS), ...(await add(redis, 2))];
      const { messages, loop } = await take(redis, 2, { claimIdleMs: CLAIM_MS });
      expect(messages.map((message) => [message.id, message.deliveries])).to.deep.equal([
        [id, 2],
        [second, 1],
      ]);
      await loop.return();
    });
  }
});
