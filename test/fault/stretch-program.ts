/**
 * A process of its own that sends very many commands in one way and says for how long the event
 * loop was held at a stretch meanwhile. Run by `test/fault/event-loop.test.ts`; prints JSON.
 *
 * A stretch counts as the smaller of its wall time and the CPU time of the process: time in which
 * the machine ran somebody else is nobody's fault here.
 */

import { Redis } from "../../src/index";

export interface StretchTask {
  readonly host: string;
  readonly port: number;
  readonly way: keyof typeof WAYS;
  readonly commands: number;
}

export interface StretchReport {
  /** Milliseconds of the caller's own loop, in which nothing else can run. */
  readonly issuingMs: number;
  /** The longest stretch from then on, until all was answered. */
  readonly longestMs: number;
  /** Milliseconds of a fixed piece of work: how fast the machine is at the moment. */
  readonly yardstickMs: number;
  readonly answered: number;
}

/** Issues all commands; gives what starts the sending, if issuing did not, and waits for its end. */
type Way = (redis: Redis, count: number) => () => Promise<number>;

const KEY = "stretch";
const WARM_UP_ROUNDS = 10;
const WARM_UP_COMMANDS = 1000;
const YARDSTICK_TRIES = 5;
const YARDSTICK_OBJECTS = 100_000;

const WAYS = {
  pipeline: (redis: Redis, count: number) => {
    const pipeline = redis.pipeline();
    for (let i = 0; i < count; i++) pipeline.incr(KEY);
    return async () => (await pipeline.exec())?.length ?? 0;
  },
  multi: (redis: Redis, count: number) => {
    const transaction = redis.multi();
    for (let i = 0; i < count; i++) transaction.incr(KEY);
    return async () => (await transaction.exec())?.length ?? 0;
  },
  single: countReplies,
  automatic: countReplies,
  bulk: (redis: Redis, count: number) => {
    function* source(): Generator<[string, string]> {
      for (let i = 0; i < count; i++) yield ["incr", KEY];
    }
    return async () => (await redis.bulk(source()).summary()).succeeded;
  },
} satisfies Record<string, Way>;

/** By callback: a million promises of the caller would be the caller's own load on the collector. */
function countReplies(redis: Redis, count: number): () => Promise<number> {
  let answered = 0;
  const done = new Promise<number>((resolve) => {
    const onReply = (error: Error | null | undefined): void => {
      if (!error) answered++;
      if (answered === count) resolve(answered);
    };
    for (let i = 0; i < count; i++) redis.incr(KEY, onReply);
  });
  return () => done;
}

/** Objects are made and read, as a client does. The shortest of some tries, before and after the commands. */
function yardstick(): number {
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < YARDSTICK_TRIES; i++) {
    const startedAt = performance.now();
    const made = Array.from({ length: YARDSTICK_OBJECTS }, (_, at) => ({ key: `key:${at}`, at }));
    made.reduce((sum, { key, at }) => sum + key.length + at, 0);
    shortestMs = Math.min(shortestMs, performance.now() - startedAt);
  }
  return shortestMs;
}

class Stretches {
  longestMs = 0;
  private wallMs = performance.now();
  private cpu = process.cpuUsage();
  private isOver = false;

  start(): void {
    const look = (): void => {
      this.look();
      if (!this.isOver) setImmediate(look);
    };
    setImmediate(look);
  }

  stop(): void {
    this.isOver = true;
  }

  /** A stretch ends here and the next one begins. */
  look(): void {
    const { user, system } = process.cpuUsage(this.cpu);
    const stretchMs = Math.min(performance.now() - this.wallMs, (user + system) / 1000);
    this.longestMs = Math.max(this.longestMs, stretchMs);
    this.wallMs = performance.now();
    this.cpu = process.cpuUsage();
  }
}

async function main(): Promise<void> {
  const { host, port, way, commands } = JSON.parse(process.argv[2] ?? "{}") as StretchTask;
  const redis = new Redis({ host, port, enableAutoPipelining: way === "automatic" });
  // Code that runs for the first time is compiled, which is not what is measured.
  for (let i = 0; i < WARM_UP_ROUNDS; i++) await WAYS[way](redis, WARM_UP_COMMANDS)();
  const before = yardstick();
  const startedAt = performance.now();
  const send = WAYS[way](redis, commands);
  const issuingMs = performance.now() - startedAt;
  const stretches = new Stretches();
  const answers = send();
  // The call itself holds the loop as well.
  stretches.look();
  stretches.start();
  const answered = await answers;
  stretches.stop();
  await redis.quit();
  const yardstickMs = Math.max(before, yardstick());
  const report: StretchReport = { issuingMs, longestMs: stretches.longestMs, yardstickMs, answered };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
