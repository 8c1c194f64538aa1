/**
 * A writer sets n and publishes n; a reader hears of n on the connection that its cache lives by, reads
 * through the cache, and must see n or more: while the line is cut, everything is flushed, scripts and
 * pipelines write, and keys go missing.
 */

import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { randomSource } from "../support/random";
import { serverKinds, sharedServer } from "../support/shared-servers";

const LONG = process.env.SLUICE_LONG === "1";
const ROUNDS = LONG ? 500_000 : 1500;
const IN_FLIGHT = 20;
const CUT_EVERY = LONG ? 5000 : 150;
const KEYS = 7;
const ALL = Array.from({ length: KEYS }, (_, index) => `k${index}`);
const CHANNEL = "news";
/** Servers broadcast at the end of a round of their loop, so messages may come first. */
const MODES = ["optin", "all"] as const;

type Writing = (writer: Redis, key: string, value: string, news: string) => Promise<unknown>;

const SCRIPT = "redis.call('set', KEYS[1], ARGV[1]) return redis.call('publish', ARGV[2], ARGV[3])";
const HIDDEN = "redis.call('set', ARGV[4], ARGV[1]) return redis.call('publish', ARGV[2], ARGV[3])";

/** Each changes a key and then says so. */
const WRITINGS: readonly Writing[] = [
  (writer, key, value, news) => writer.pipeline().set(key, value).publish(CHANNEL, news).exec(),
  (writer, key, value, news) => writer.multi().set(key, value).publish(CHANNEL, news).exec(),
  (writer, key, value, news) => writer.eval(SCRIPT, 1, key, value, CHANNEL, news),
  (writer, key, value, news) => writer.eval(HIDDEN, 0, value, CHANNEL, news, key),
  (writer, key, _value, news) => writer.pipeline().del(key).publish(CHANNEL, news).exec(),
  (writer, key, value, news) => writer.pipeline().flushall().set(key, value).publish(CHANNEL, news).exec(),
];

class Books {
  violations: string[] = [];
  reads = 0;
  heard = 0;
  /** The last round that changed the key, as far as the reader was told. */
  private readonly known = new Map<string, number>();
  /** The last round that was begun and deletes the key. */
  private readonly deleted = new Map<string, number>();

  constructor(private readonly reader: Redis) {
    reader.on("message", (_channel, text) => {
      const { key, round, isFlush } = JSON.parse(text) as News;
      this.heard++;
      for (const one of isFlush ? ALL : [key]) raise(this.known, one, round);
      void this.look(key);
    });
  }

  /** A writer is about to write: what it says of it may get lost. */
  announce({ key, round, isDeletion, isFlush }: News): void {
    if (isFlush) for (const one of ALL) raise(this.deleted, one, round);
    else if (isDeletion) raise(this.deleted, key, round);
  }

  /** Reads in the turn of the message, singly or in a pipeline. */
  private async look(key: string): Promise<void> {
    const least = this.known.get(key) ?? 0;
    const value = await this.read(key).catch(() => undefined);
    // Given up with its connection.
    if (value === undefined) return;
    this.reads++;
    const seen = value === null ? (this.deleted.get(key) ?? 0) : Number(value);
    if (seen < least) this.violations.push(`${key} is ${value} in round ${this.heard}, known was ${least}`);
  }

  private async read(key: string): Promise<string | null | undefined> {
    if (this.heard % 3 !== 0) return this.reader.get(key);
    const rows = await this.reader.pipeline().get(key).get("k0").exec();
    const row = rows?.[0];
    return row === undefined || row[0] !== null ? undefined : (row[1] as string | null);
  }
}

function raise(rounds: Map<string, number>, key: string, round: number): void {
  rounds.set(key, Math.max(rounds.get(key) ?? 0, round));
}

interface News {
  readonly key: string;
  readonly round: number;
  readonly isDeletion: boolean;
  readonly isFlush: boolean;
}

function chooseWriting(random: () => number): number {
  const number = random();
  if (number < 0.01) return 5;
  return Math.floor(number * 5);
}

interface Course {
  readonly writer: Redis;
  readonly books: Books;
  readonly random: () => number;
  /** Cuts the line of the reader; resolves when it has another one. */
  cut(): Promise<void>;
}

/** Writes all rounds, some at a time; now and then the line of the reader is cut meanwhile. */
async function writeAll({ writer, books, random, cut }: Course): Promise<void> {
  for (let round = 1; round <= ROUNDS; round += IN_FLIGHT) {
    const isReady = round % CUT_EVERY < IN_FLIGHT ? cut() : Promise.resolve();
    const writes = Array.from({ length: IN_FLIGHT }, (_, offset) => {
      const chosen = chooseWriting(random);
      const key = ALL[Math.floor(random() * KEYS)] as string;
      const number = round + offset;
      const news: News = { key, round: number, isDeletion: chosen === 4, isFlush: chosen === 5 };
      books.announce(news);
      return (WRITINGS[chosen] as Writing)(writer, key, String(number), JSON.stringify(news));
    });
    await Promise.all([...writes, isReady]);
  }
}

for (const kind of serverKinds()) {
  for (const [seed, mode] of MODES.entries()) {
    describe(`a cache (${mode}) beside a writer, ${kind}`, function () {
      this.timeout(LONG ? 1_800_000 : 120_000);
      const clients: Redis[] = [];
      let proxy: FaultProxy | null = null;
      let server: ServerProcess;

      before(async () => {
        server = await sharedServer(kind);
      });
      afterEach(async () => {
        await Promise.all(clients.splice(0).map(closeClient));
        await proxy?.stop();
        proxy = null;
      });

      it(`never reads what is older than what it was told, in ${ROUNDS} rounds`, async () => {
        await server.command("FLUSHALL");
        proxy = await FaultProxy.start(server, { record: false });
        const line = proxy;
        const reader = new Redis({
          host: line.host,
          port: line.port,
          cache: { mode },
          retryStrategy: () => 1,
          enableAutoPipelining: seed === 1,
        });
        const writer = new Redis({ host: server.host, port: server.port });
        clients.push(reader, writer);
        reader.on("error", () => {});
        await untilReady(reader);
        await reader.subscribe(CHANNEL);
        const books = new Books(reader);
        // Reads that nobody was told to make keep the cache full.
        const timer = setInterval(() => {
          for (const key of ALL) reader.get(key).catch(() => {});
        }, 1);
        try {
          const cut = async (): Promise<void> => {
            const isReady = new Promise<void>((resolve) => reader.once("ready", resolve));
            line.cutAll();
            await isReady;
          };
          await writeAll({ writer, books, random: randomSource(seed + 1), cut });
          await reader.ping();
        } finally {
          clearInterval(timer);
        }
        expect(books.violations).to.deep.equal([]);
        expect(books.reads).to.be.greaterThan(ROUNDS / 4);
        expect(reader.cache.stats().hits).to.be.greaterThan(ROUNDS / 200);
        for (const key of ALL) expect(await reader.get(key)).to.equal(await writer.get(key));
      });
    });
  }
}
