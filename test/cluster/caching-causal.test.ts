/**
 * A writer changes a key and says so on a sharded channel of the same slot; a reader hears of it on the connection
 * to the owner of the slot, which its cache lives by, reads through the cache, and must see the change or a later
 * one: while slots are moved, masters hand their office over and lines are cut. Two things no client can know:
 *
 *   a key that is missing at the owner of a slot that is being moved is set at the new owner, and the owner says
 *   nothing: such an answer ends with `maxStale`
 *   a former master passes on what its successor publishes before it has what the successor wrote: what a replica
 *   tells does not count
 *
 * The writer publishes behind the reply to its write. A transaction with SPUBLISH would not do: Valkey runs it at
 * the old owner of a slot that is being moved, although its keys have left, and then there are two of each.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { Cluster, Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { randomSource } from "../support/random";
import { serverKinds } from "../support/shared-servers";

const LONG = process.env.SLUICE_LONG === "1";
const RUN_MS = LONG ? 240_000 : 6000;
const PAUSE_MS = 150;
const MAX_STALE_MS = 300;
/** How long an answer may be under way on a busy machine. */
const SLACK_MS = 700;
/** Each has keys of its own: only the commands of one caller have an order when they go by way of redirects. */
const WRITERS = ["0", "1", "2", "3"];
const TAGS = ["a", "b", "c", "d", "e", "f"];
const HASH_OF = new Map(TAGS.map((tag) => [tag, calculateSlot(`{${tag}}`)]));
const SCRIPT = "redis.call('set', KEYS[1], ARGV[1]) return redis.call('spublish', ARGV[3], ARGV[2])";

interface News {
  readonly key: string;
  readonly round: number;
}

class Books {
  readonly violations: string[] = [];
  heard = 0;
  reads = 0;
  private readonly known = new Map<string, number>();
  /** The newest round that was begun and deletes the key. */
  private readonly deleted = new Map<string, number>();
  /** Until when a missing key of a slot may be believed although it has been set. */
  private readonly excusedUntilMs = new Map<number, number>();

  constructor(private readonly reader: Cluster) {}

  announceDeletion({ key, round }: News): void {
    this.deleted.set(key, Math.max(this.deleted.get(key) ?? 0, round));
  }

  /** The keys of a slot are moved one by one. */
  async whileMoving(slot: number, move: () => Promise<void>): Promise<void> {
    this.excusedUntilMs.set(slot, Number.POSITIVE_INFINITY);
    await move();
    this.excusedUntilMs.set(slot, performance.now() + MAX_STALE_MS + SLACK_MS);
  }

  async hear({ key, round }: News, teller: Redis): Promise<void> {
    this.heard++;
    const least = Math.max(this.known.get(key) ?? 0, round);
    const isExcused = performance.now() < (this.excusedUntilMs.get(calculateSlot(key)) ?? 0);
    const [value, role] = await Promise.all([this.read(key).catch(() => undefined), roleOf(teller)]);
    if (role !== "master") return;
    this.known.set(key, Math.max(this.known.get(key) ?? 0, round));
    if (value === undefined || (value === null && isExcused)) return;
    this.reads++;
    const seen = value === null ? (this.deleted.get(key) ?? 0) : Number(value);
    if (seen < least) this.violations.push(`${key} is ${value}, known was ${least}`);
  }

  private async read(key: string): Promise<string | null | undefined> {
    if (this.heard % 3 !== 0) return this.reader.get(key);
    const rows = await this.reader.pipeline().get(key).exists(key).exec();
    const row = rows?.[0];
    return row === undefined || row[0] !== null ? undefined : (row[1] as string | null);
  }
}

async function roleOf(node: Redis): Promise<unknown> {
  const [role] = (await node.role().catch(() => [])) as unknown[];
  return role;
}

/** Keeps the connection to the owner of each slot subscribed to the channel of the slot. */
class Ears {
  private readonly seen = new WeakSet<Redis>();
  isOver = false;

  constructor(
    private readonly reader: Cluster,
    private readonly books: Books,
  ) {}

  async listen(): Promise<void> {
    while (!this.isOver) {
      for (const tag of TAGS) await this.subscribe(tag).catch(() => {});
      await sleep(10);
    }
  }

  private async subscribe(tag: string): Promise<void> {
    const owner = this.ownerAt(`{${tag}}`);
    const view = this.reader.nodes("master").find((one) => nameOf(one) === owner);
    if (view === undefined) return;
    if (!this.seen.has(view)) {
      this.seen.add(view);
      view.on("smessage", (channel: string, text: string) => {
        if (this.ownerAt(channel) === nameOf(view)) void this.books.hear(JSON.parse(text) as News, view);
      });
    }
    await view.ssubscribe(`{${tag}}news`);
  }

  /** The owner of a slot as far as the reader knows. */
  private ownerAt(key: string): string | undefined {
    return this.reader.slots[calculateSlot(key)]?.[0];
  }
}

function nameOf({ options }: Redis): string {
  return `${options.host}:${String(options.port)}`;
}

class Writer {
  round = 0;
  isOver = false;

  constructor(
    private readonly client: Cluster,
    private readonly books: Books,
    private readonly random: () => number,
    private readonly name: string,
  ) {}

  async write(): Promise<void> {
    while (!this.isOver) {
      const tag = TAGS[Math.floor(this.random() * TAGS.length)] as string;
      const news = { key: `{${tag}}${this.name}`, round: ++this.round };
      await this.change(tag, news).catch(() => {});
    }
  }

  private async change(tag: string, news: News): Promise<void> {
    const channel = `{${tag}}news`;
    const { key, round } = news;
    const text = JSON.stringify(news);
    const what = Math.floor(this.random() * 4);
    if (what === 0) {
      await this.client.eval(SCRIPT, 1, key, String(round), text, channel);
      return;
    }
    if (what === 1) {
      this.books.announceDeletion(news);
      await this.client.del(key);
    } else await this.client.set(key, String(round));
    await this.client.spublish(channel, text);
  }
}

for (const kind of serverKinds()) {
  describe(`cluster: a cache beside a writer, ${kind}`, function () {
    this.timeout(RUN_MS + 120_000);
    const fixture = new ClusterFixture(kind);
    fixture.install();

    it("never reads what is older than what it heard, through reshards, failovers and cuts", async () => {
      const { cluster } = fixture;
      await cluster.untilHealthy();
      const random = randomSource(kind.length);
      const reader = fixture.connect({
        cache: { maxStale: MAX_STALE_MS },
        redisOptions: { retryStrategy: () => 5 } as object,
      });
      await untilClusterReady(reader);
      const client = fixture.connect();
      await untilClusterReady(client);
      const books = new Books(reader);
      const ears = new Ears(reader, books);
      const writers = WRITERS.map((name) => new Writer(client, books, random, name));
      const timer = setInterval(() => {
        for (const tag of TAGS) for (const name of WRITERS) reader.get(`{${tag}}${name}`).catch(() => {});
      }, 1);
      const work = [ears.listen(), ...writers.map((writer) => writer.write())];
      try {
        const endMs = performance.now() + RUN_MS;
        for (let harms = 0; performance.now() < endMs; harms++) {
          await sleep(PAUSE_MS);
          await harm(harms % 5);
        }
      } finally {
        clearInterval(timer);
        ears.isOver = true;
        for (const writer of writers) writer.isOver = true;
        await Promise.all(work);
      }
      const { hits } = reader.cache.stats();
      console.log(`      ${books.heard} changes heard of, ${books.reads} reads compared, ${hits} hits`);
      expect(books.violations).to.deep.equal([]);
      expect(books.reads).to.be.greaterThan(100);
      expect(hits).to.be.greaterThan(100);
      for (const tag of TAGS) {
        for (const name of WRITERS) {
          const key = `{${tag}}${name}`;
          expect(await reader.with({ cache: false }).get(key)).to.equal(await client.get(key));
        }
      }

      async function harm(what: number): Promise<void> {
        const tag = TAGS[Math.floor(random() * TAGS.length)] as string;
        const slot = HASH_OF.get(tag) as number;
        const owner = await cluster.ownerOf(slot);
        const others = (await cluster.masters()).filter((one) => one !== owner);
        const other = others[Math.floor(random() * others.length)];
        if (other === undefined) return;
        if (what === 4) await cluster.failover(owner);
        else if (what === 3) await owner.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        else if (what === 2 && kind === ServerKind.Valkey) await migrate(owner, other, slot);
        else await books.whileMoving(slot, () => cluster.moveSlot(slot, other));
      }

      /** All at once, as Valkey does it by itself. */
      async function migrate(
        owner: Awaited<ReturnType<typeof cluster.ownerOf>>,
        other: typeof owner,
        slot: number,
      ): Promise<void> {
        const id = await cluster.idOf(other);
        await owner.command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", id);
        const deadlineMs = performance.now() + 5000;
        while ((await cluster.ownerOf(slot)) === owner && performance.now() < deadlineMs) await sleep(10);
      }
    });
  });
}
