/**
 * The memory of an argument belongs to the caller again as soon as the call returns (`exec()` for a
 * pipeline): what is changed behind it is not sent, whichever way the command takes.
 */

import { expect } from "chai";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { type Cluster, Command, type Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FaultProxy } from "../support/fault-proxy";
import { ManyClients } from "../support/many-clients";
import { untilReady } from "../support/matrix";
import { randomSource } from "../support/random";

const CALLS = 40;
const SIZES = [0, 1, 7, 32, 33, 300, 5000, 16_384, 70_000];

/** One memory that is filled for each call and spoilt behind it. */
class Scratch {
  private readonly memory = new ArrayBuffer(Math.max(...SIZES) + 8);
  private filled = new Uint8Array(this.memory);

  constructor(private readonly random: () => number) {}

  /** Bytes in one of the forms that may be passed, and what must be stored. */
  next(): { value: unknown; expected: Buffer } {
    const size = SIZES[Math.floor(this.random() * SIZES.length)] as number;
    const offset = Math.floor(this.random() * 8);
    this.filled = new Uint8Array(this.memory, offset, size);
    for (let i = 0; i < size; i++) this.filled[i] = (this.random() * 256) & 255;
    return { value: this.inSomeForm(offset, size), expected: Buffer.from(this.filled) };
  }

  spoil(): void {
    this.filled.fill(0x2a);
    this.whole?.fill(0x2a);
    if (this.list !== null) this.list[0] = "spoilt";
  }

  private whole: Uint8Array | null = null;
  private list: unknown[] | null = null;

  private inSomeForm(offset: number, size: number): unknown {
    this.whole = null;
    this.list = null;
    switch (Math.floor(this.random() * 5)) {
      case 0:
        return Buffer.from(this.memory, offset, size);
      case 1:
        return this.filled;
      case 2:
        return new DataView(this.memory, offset, size);
      case 3: {
        this.whole = new Uint8Array(this.filled);
        return this.whole.buffer;
      }
      default:
        this.list = [Buffer.from(this.memory, offset, size)];
        return this.list;
    }
  }
}

type Client = Redis | Cluster;
type Issue = (client: Client, key: string, value: unknown) => Promise<unknown>;
interface Pipe {
  set(key: string, value: never): unknown;
}

const LUA = { lua: "return redis.call('SET', KEYS[1], ARGV[1])", numberOfKeys: 1 };

/** Ways to issue one command. */
const FORMS: Record<string, Issue> = {
  "a command": (client, key, value) => client.set(key, value as never),
  "call()": (client, key, value) => client.call("SET", key, value as never),
  "call() with one array": (client, key, value) => client.call(["SET", key, value] as never),
  "an object": (client, key, value) =>
    client.mset({ [key]: Array.isArray(value) ? value[0] : value } as never),
  "a Map": (client, key, value) =>
    client.mset(new Map([[key, Array.isArray(value) ? value[0] : value]]) as never),
  "a view": (client, key, value) => client.with({ timeout: 60_000 }).set(key, value as never),
  "a script": (client, key, value) =>
    (client as unknown as { put(key: string, value: unknown): Promise<unknown> }).put(key, value),
  "a pipeline": (client, key, value) => {
    const pipeline = client.pipeline();
    (pipeline as Pipe).set(key, value as never);
    return pipeline.exec();
  },
  "a pipeline with a script": (client, key, value) => {
    const pipeline = client.pipeline();
    (pipeline as unknown as { put(key: string, value: unknown): void }).put(key, value);
    return pipeline.exec();
  },
  "a transaction": (client, key, value) => {
    const transaction = client.multi();
    (transaction as Pipe).set(key, value as never);
    return transaction.exec();
  },
  "a batch in arrays": (client, key, value) => client.pipeline([["set", key, value] as never]).exec(),
};

describe("arguments that are changed behind the call", () => {
  const shared = new ManyClients((redis) => redis.defineCommand("put", LUA)).install();
  const open = (options: RedisOptions = {}): Redis => shared.open(options);

  /** Issues calls of all forms, spoils the memory behind each, and compares what is stored. */
  async function check(client: Client, behind: () => void = () => {}): Promise<void> {
    const random = randomSource(7);
    const scratch = new Scratch(random);
    const names = Object.keys(FORMS);
    const expected: Buffer[] = [];
    const outcomes: Promise<unknown>[] = [];
    for (let i = 0; i < CALLS * names.length; i++) {
      const next = scratch.next();
      expected.push(next.expected);
      const issue = FORMS[names[i % names.length] as string] as Issue;
      outcomes.push(issue(client, `key:${i}`, next.value));
      scratch.spoil();
    }
    behind();
    await Promise.all(outcomes);
    const wrong = new Set<string>();
    for (const [i, bytes] of expected.entries()) {
      const stored = await client.getBuffer(`key:${i}`);
      if (stored === null || !stored.equals(bytes)) wrong.add(names[i % names.length] as string);
    }
    expect([...wrong]).to.deep.equal([]);
  }

  it("a ready client", async () => {
    const redis = open();
    await untilReady(redis);
    await check(redis);
  });

  it("a client that is connecting", () => check(open()));

  it("a client that gathers", async () => {
    const redis = open({ enableAutoPipelining: true });
    await untilReady(redis);
    await check(redis);
  });

  it("a client with bounds", async () => {
    const redis = open({ bounds: { maxCommands: 3 } });
    await untilReady(redis);
    await check(redis);
  });

  it("a client whose connection is lost with everything in flight", async () => {
    const proxy = await FaultProxy.start({ host: shared.server.host, port: shared.server.port });
    try {
      const redis = open({ port: proxy.port, host: "127.0.0.1" });
      await untilReady(redis);
      proxy.fallSilent("toClient");
      await check(redis, () =>
        setTimeout(() => {
          proxy.cutAll();
          proxy.heal();
        }, 50),
      );
    } finally {
      await shared.close();
      await proxy.stop();
    }
  });

  it("a replaced sendCommand", async () => {
    const redis = open();
    await untilReady(redis);
    const { sendCommand } = redis;
    redis.sendCommand = (command) => sendCommand.call(redis, command);
    await check(redis);
  });

  it("a command made by hand", async () => {
    const redis = open();
    const bytes = Buffer.from("before");
    const sent = redis.sendCommand(new Command("set", ["by-hand", bytes]));
    bytes.write("behind");
    await sent;
    expect(await redis.get("by-hand")).to.equal("before");
  });

  it("a bulk whose source fills the same memory again", async () => {
    const redis = open();
    const scratch = Buffer.alloc(4);
    function* source() {
      for (let i = 0; i < 1000; i++) {
        scratch.writeUInt32BE(i);
        yield ["set", `bulk:${i}`, scratch];
      }
    }
    await redis.bulk(source(), { batchSize: 300 }).summary();
    for (let i = 0; i < 1000; i += 37) {
      expect((await redis.getBuffer(`bulk:${i}`))?.readUInt32BE()).to.equal(i);
    }
  });

  it("a Buffer whose memory goes to a worker", async () => {
    const redis = open();
    await untilReady(redis);
    const bytes = new Uint8Array(100).fill(65);
    const sent = redis.set("transferred", Buffer.from(bytes.buffer));
    structuredClone(bytes, { transfer: [bytes.buffer] });
    await sent;
    expect(await redis.strlen("transferred")).to.equal(100);
  });

  it("the key of a scan stream", async () => {
    const redis = open();
    const members = Array.from({ length: 2000 }, (_, i) => `member:${i}`);
    await redis.sadd("a set", members);
    const key = Buffer.from("a set");
    const stream = redis.sscanStream(key);
    key.fill(0);
    const seen = new Set((await stream.toArray()).flat());
    expect(seen.size).to.equal(members.length);
  });

  it("a pipeline takes what its Buffers hold at exec()", async () => {
    const redis = open();
    const bytes = Buffer.from("queued");
    const pipeline = redis.pipeline().set("at-exec", bytes);
    bytes.write("filled");
    const sent = pipeline.exec();
    bytes.write("behind");
    await sent;
    expect(await redis.get("at-exec")).to.equal("filled");
  });

  describe("a cluster", () => {
    const fixture = new ClusterFixture().install();

    it("ready, connecting and gathering", async () => {
      for (const options of [{}, { enableAutoPipelining: true }]) {
        const cluster = fixture.connect(options);
        cluster.defineCommand("put", LUA);
        await check(cluster);
        await untilClusterReady(cluster);
        await check(cluster);
      }
    });
  });
});
