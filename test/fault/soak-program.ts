/**
 * A process of its own that sends very many commands in every way there is, through a proxy that
 * cuts the line again and again, and keeps exact books. Run by `test/fault/soak.test.ts` with
 * `--expose-gc`; it gets its task as JSON, prints its report as JSON, and has to end by itself.
 *
 * Each way of sending increments counters of its own. What was acknowledged must be there; what
 * is there beyond it must be explained by commands whose outcome was named unknown, or which the
 * client sent again.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { RetryPolicy } from "../../src/command/command-extra";
import { fateOf } from "../../src/command/fate";
import { Redis } from "../../src/index";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { randomSource } from "../support/random";
import { replaceExport } from "../support/replace-export";

export interface SoakTask {
  readonly host: string;
  readonly port: number;
  readonly commands: number;
  readonly cutEveryMs: number;
  readonly policy: RetryPolicy;
  readonly seed: number;
}

export interface CounterReport {
  readonly name: string;
  readonly acknowledged: number;
  /** Failed with a code that says that it may have run. */
  readonly unknown: number;
  /** Failed with a code that says that it did not run. */
  readonly notRun: number;
  /** Tries that were written, lost with the line, and followed by another try. */
  readonly sentAgain: number;
  readonly server: number;
}

export interface SoakReport {
  readonly seconds: number;
  readonly issued: number;
  readonly settled: number;
  readonly settledTwice: number;
  readonly cuts: number;
  readonly connections: number;
  readonly counters: readonly CounterReport[];
  /** Contradictions to the books, in words; the first few. */
  readonly faults: readonly string[];
  readonly messages: { readonly published: number; readonly received: number };
  readonly popped: number;
  /** After a collection each, evenly over the run, the first of them after the warm-up. */
  readonly heapBytes: readonly number[];
  readonly residentBytes: readonly number[];
}

type Failure = Error & { readonly code?: string };

const MAY_HAVE_RUN = ["OUTCOME_UNKNOWN", "COMMAND_LOST"];
const DID_NOT_RUN = ["ABORTED"];
const SAMPLES = 20;
const MOST_FAULTS = 10;
const SINGLES = 100;
const PIPELINED = 400;
const AUTOMATIC = 400;
const TRANSACTIONS = 10;
const BULK = 3000;
const COUNTERS = ["single", "callback", "pipeline", "automatic", "left", "right", "bulk"] as const;

const task = JSON.parse(process.argv[2] ?? "{}") as SoakTask;
const random = randomSource(task.seed);
const faults: string[] = [];

function fault(text: string): void {
  if (faults.length < MOST_FAULTS) faults.push(text);
}

class Counter {
  acknowledged = 0;
  unknown = 0;
  notRun = 0;
  sentAgain = 0;
  private last = 0;

  constructor(readonly name: string) {}

  get key(): string {
    return `soak:${this.name}`;
  }

  /** Replies come in the order of issue, so each is larger than the one before. */
  acknowledge(value: unknown): void {
    this.acknowledged++;
    if (typeof value !== "number" || value <= this.last) fault(`${this.name}: ${value} after ${this.last}`);
    else this.last = value;
  }

  fail(error: Failure): void {
    if (MAY_HAVE_RUN.includes(error.code ?? "")) this.unknown++;
    else if (DID_NOT_RUN.includes(error.code ?? "")) this.notRun++;
    else fault(`${this.name}: ${error.code} ${error.message}`);
  }
}

const counters = Object.fromEntries(COUNTERS.map((name) => [name, new Counter(name)])) as Record<
  (typeof COUNTERS)[number],
  Counter
>;
const byKey = new Map(Object.values(counters).map((counter) => [counter.key, counter]));

/** Writes down which increments are sent once more after they had been written. */
function watchResending(): void {
  const original = fateOf;
  const watched: typeof fateOf = (command, event, policy) => {
    const fate = original(command, event, policy);
    const isSentAgain = event.kind === "connection lost" && event.isWritten && fate.ending === null;
    const counter = isSentAgain && !command.isSettled ? byKey.get(String(command.args[0])) : undefined;
    if (counter !== undefined && command.name === "incr") counter.sentAgain++;
    return fate;
  };
  replaceExport("command/fate", "fateOf", watched);
}

class Soak {
  issued = 0;
  settled = 0;
  settledTwice = 0;
  cuts = 0;
  published = 0;
  received = 0;
  popped = 0;
  private readonly plain: Redis;
  private readonly automatic: Redis;
  private readonly subscriber: Redis;
  private lastMessage = 0;
  private isOver = false;
  private round = 0;

  constructor(private readonly proxy: FaultProxy) {
    const options = {
      host: proxy.host,
      port: proxy.port,
      retryPolicy: task.policy,
      retryStrategy: () => 2,
      maxRetriesPerRequest: null,
      // A line that falls silent is noticed early, so that the run is not spent waiting for it.
      watchdog: { idleMs: 250, probeTimeoutMs: 1000 },
    };
    this.plain = new Redis({ ...options, blockingConnections: 2 });
    this.automatic = new Redis({ ...options, enableAutoPipelining: true });
    this.subscriber = new Redis(options);
    for (const client of this.clients) client.on("error", () => {});
    this.subscriber.on("message", (_channel, text) => this.onMessage(Number(text)));
  }

  private get clients(): Redis[] {
    return [this.plain, this.automatic, this.subscriber];
  }

  async start(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.ping()));
    await this.subscriber.subscribe("soak:news");
  }

  /** One round of everything; resolves when all of it has settled. */
  async work(): Promise<void> {
    this.round++;
    const calls = [
      this.singles(),
      this.callbacks(),
      this.pipeline(),
      this.automatically(),
      this.transactions(),
      this.echo(),
    ];
    if (this.round % 4 === 0) calls.push(this.bulk());
    if (this.round % 10 === 0) calls.push(this.publish());
    if (this.round % 20 === 0) calls.push(this.block());
    await Promise.all(calls);
  }

  async cutNowAndThen(): Promise<void> {
    while (!this.isOver) {
      await sleep(task.cutEveryMs * (0.5 + random()));
      if (this.isOver) return;
      this.cuts++;
      const kind = Math.floor(random() * 10);
      if (kind < 3) this.proxy.cutAll("reset");
      else if (kind < 6) this.proxy.cutAll("end");
      else if (kind < 9) {
        const direction = kind === 8 ? Direction.ToServer : Direction.ToClient;
        this.proxy.cutAfter({ direction, bytes: Math.floor(random() * 20_000), style: "reset" });
      } else this.proxy.isolate(random() < 0.5 ? undefined : Direction.ToClient);
    }
  }

  /** The subscription has lived through it all. */
  async stop(): Promise<void> {
    this.isOver = true;
    this.proxy.heal();
    const before = this.received;
    const deadline = Date.now() + 10_000;
    while (this.received === before && Date.now() < deadline) {
      await this.publish();
      await sleep(10);
    }
    if (this.received === before) fault("no message after the last cut");
    for (const client of this.clients) await client.quit().catch(() => client.disconnect());
  }

  // --- ways of sending ---------------------------------------------------------------------

  private async singles(): Promise<void> {
    const { single } = counters;
    await Promise.all(Array.from({ length: SINGLES }, () => this.note(single, this.plain.incr(single.key))));
  }

  private callbacks(): Promise<unknown> {
    const { callback } = counters;
    const one = (): Promise<void> =>
      new Promise((resolve) => {
        let times = 0;
        this.issued++;
        this.plain.incr(callback.key, (error, value) => {
          if (++times > 1) this.settledTwice++;
          this.settled++;
          if (error) callback.fail(error);
          else callback.acknowledge(value);
          resolve();
        });
      });
    return Promise.all(Array.from({ length: SINGLES }, one));
  }

  private async pipeline(): Promise<void> {
    const { pipeline: counter } = counters;
    const pipeline = this.plain.pipeline();
    for (let i = 0; i < PIPELINED; i++) pipeline.incr(counter.key);
    this.issued += PIPELINED;
    const rows = (await pipeline.exec()) ?? [];
    this.settled += rows.length;
    for (const [error, value] of rows) {
      if (error === null) counter.acknowledge(value);
      else counter.fail(error);
    }
  }

  private async automatically(): Promise<void> {
    const { automatic } = counters;
    await Promise.all(
      Array.from({ length: AUTOMATIC }, () => this.note(automatic, this.automatic.incr(automatic.key))),
    );
  }

  private async transactions(): Promise<void> {
    const { left, right } = counters;
    const one = async (): Promise<void> => {
      this.issued += 2;
      try {
        const rows = await this.plain.multi().incr(left.key).incr(right.key).exec();
        left.acknowledge(rows?.[0]?.[1]);
        right.acknowledge(rows?.[1]?.[1]);
      } catch (error) {
        left.fail(error as Failure);
        right.fail(error as Failure);
      }
      this.settled += 2;
    };
    await Promise.all(Array.from({ length: TRANSACTIONS }, one));
  }

  private async bulk(): Promise<void> {
    const { bulk: counter } = counters;
    const commands = Array.from({ length: BULK }, () => ["incr", counter.key]);
    this.issued += BULK;
    for await (const [error, value] of this.plain.bulk(commands, { batchSize: 500 })) {
      this.settled++;
      if (error === null) counter.acknowledge(value);
      else counter.fail(error);
    }
  }

  /** A reply that can belong to one command only. */
  private async echo(): Promise<void> {
    const tokens = Array.from({ length: 10 }, (_, i) => `${this.round}:${i}`);
    await Promise.all(
      tokens.map(async (token, i) => {
        this.issued++;
        const client = i % 2 === 0 ? this.plain : this.automatic;
        const answer = await client.echo(token).catch((error: Failure) => error);
        this.settled++;
        if (answer instanceof Error) {
          if (!MAY_HAVE_RUN.includes(answer.code ?? "")) fault(`echo: ${answer.code} ${answer.message}`);
        } else if (answer !== token) fault(`echo of ${token}: ${answer}`);
      }),
    );
  }

  private async publish(): Promise<void> {
    const token = ++this.published;
    this.issued += 2;
    // On a line that only listens nothing is due, so nobody would notice that it is dead.
    const heard = this.subscriber.ping().catch((error: Failure) => {
      if (!MAY_HAVE_RUN.includes(error.code ?? "")) fault(`ping: ${error.message}`);
    });
    await this.plain.publish("soak:news", token).catch((error: Failure) => {
      if (!MAY_HAVE_RUN.includes(error.code ?? "")) fault(`publish: ${error.message}`);
    });
    await heard;
    this.settled += 2;
  }

  private onMessage(token: number): void {
    this.received++;
    const mayRepeat = task.policy === "at-least-once";
    const isInOrder = mayRepeat ? token >= this.lastMessage : token > this.lastMessage;
    if (!isInOrder || token > this.published) fault(`message ${token} after ${this.lastMessage}`);
    this.lastMessage = token;
  }

  /** An element that was pushed comes out once, or its outcome is unknown on one of its ways. */
  private async block(): Promise<void> {
    const key = `soak:list:${this.round}`;
    this.issued += 2;
    const popped = this.plain.blpop(key, 0.5).catch((error: Failure) => error);
    const pushed = await this.plain.rpush(key, "element").catch((error: Failure) => error);
    const row = await popped;
    this.settled += 2;
    if (row instanceof Error && !MAY_HAVE_RUN.includes(row.code ?? "")) fault(`blpop: ${row.message}`);
    if (pushed instanceof Error && !MAY_HAVE_RUN.includes(pushed.code ?? ""))
      fault(`rpush: ${pushed.message}`);
    if (!Array.isArray(row)) return;
    if (row[0] !== key || row[1] !== "element") fault(`blpop of ${key}: ${row}`);
    this.popped++;
  }

  private note(counter: Counter, call: Promise<number>): Promise<void> {
    this.issued++;
    return call.then(
      (value) => {
        this.settled++;
        counter.acknowledge(value);
      },
      (error: Failure) => {
        this.settled++;
        counter.fail(error);
      },
    );
  }
}

async function collected(): Promise<NodeJS.MemoryUsage> {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc?.();
  }
  return process.memoryUsage();
}

async function main(): Promise<void> {
  watchResending();
  const proxy = await FaultProxy.start({ host: task.host, port: task.port }, { record: false });
  const soak = new Soak(proxy);
  await soak.start();
  const startedAt = performance.now();
  const cutting = soak.cutNowAndThen();
  const heapBytes: number[] = [];
  const residentBytes: number[] = [];
  while (soak.issued < task.commands) {
    await soak.work();
    // The first of them comes when two out of twenty parts are done: until then things warm up.
    if (soak.issued < ((heapBytes.length + 2) / (SAMPLES + 1)) * task.commands) continue;
    const { heapUsed, rss } = await collected();
    heapBytes.push(heapUsed);
    residentBytes.push(rss);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await soak.stop();
  await cutting;
  const { connections } = proxy.counters;
  await proxy.stop();
  const control = new Redis({ host: task.host, port: task.port });
  const values = await control.mget(Object.values(counters).map(({ key }) => key));
  await control.quit();
  const report: SoakReport = {
    seconds,
    connections,
    faults,
    heapBytes,
    residentBytes,
    counters: Object.values(counters).map(({ name, acknowledged, unknown, notRun, sentAgain }, i) => ({
      name,
      acknowledged,
      unknown,
      notRun,
      sentAgain,
      server: Number(values[i]),
    })),
    messages: { published: soak.published, received: soak.received },
    issued: soak.issued,
    settled: soak.settled,
    settledTwice: soak.settledTwice,
    cuts: soak.cuts,
    popped: soak.popped,
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
