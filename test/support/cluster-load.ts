/**
 * A load with exact books: pipelines of random keys, auto-pipelined and single callers, and
 * transactions, all of INCR, while a test does harm to the cluster. Every acknowledged INCR is entered; every
 * command that is handed to a connection for a second time is entered as well, so that the sum of
 * a key has a lower and an upper bound. A command that is handed over after its answer came is a
 * breach by itself.
 */

import { EventEmitter, once } from "node:events";
import calculateSlot from "cluster-key-slot";
import { ClusterTransaction } from "../../src/cluster/cluster-transaction";
import type { Command } from "../../src/command/command";
import { CommandFlag } from "../../src/command/command-spec";
import { Connection } from "../../src/connection/connection";
import type { Cluster } from "../../src/index";

const PIPELINE_LENGTH = 1000;
const PIPELINES = 2;
const CALLERS = 50;
const WRITERS = 5;
const TRANSACTORS = 4;
const KEYS = 2000;
/** The time for which a master that is killed may not have told its replica yet. */
const REPLICATION_LAG_MS = 1000;

/** Watches what goes to connections, for all clients of the process. */
export class DispatchBook {
  answeredAgain = 0;
  /** Times a command on the key went out once more, by key. */
  readonly resent = new Map<string, number>();
  private readonly seen = new WeakSet<Command>();
  private readonly originals = {
    dispatch: Connection.prototype.dispatch,
    dispatchBatch: Connection.prototype.dispatchBatch,
  };

  open(): void {
    const { originals } = this;
    const note = (command: Command): void => this.note(command);
    Connection.prototype.dispatch = function (command) {
      note(command);
      originals.dispatch.call(this, command);
    };
    Connection.prototype.dispatchBatch = function (commands) {
      for (const command of commands) note(command);
      originals.dispatchBatch.call(this, commands);
    };
  }

  close(): void {
    Object.assign(Connection.prototype, this.originals);
  }

  get total(): number {
    let sum = 0;
    for (const count of this.resent.values()) sum += count;
    return sum;
  }

  private note(command: Command): void {
    if (command.isSettled) this.answeredAgain++;
    if (!this.seen.has(command)) {
      this.seen.add(command);
      return;
    }
    const { batch } = command;
    if ((command.spec.flags & CommandFlag.Exec) !== 0 && batch instanceof ClusterTransaction) {
      // Members that were answered "QUEUED" are stood in for; EXEC is what counts.
      for (const member of batch.commands) this.enter(member);
    } else if (!(batch instanceof ClusterTransaction)) this.enter(command);
  }

  private enter(command: Command): void {
    if (command.name !== "incr") return;
    const key = String(command.args[0]);
    this.resent.set(key, (this.resent.get(key) ?? 0) + 1);
  }
}

/** Slots that hold keys of the load, scattered over the cluster. */
export function loadedSlots(count: number): number[] {
  return Array.from({ length: count }, (_, i) => calculateSlot(`p:${(i * 37) % KEYS}`));
}

export interface LoadReport {
  readonly acknowledged: number;
  readonly batches: number;
  readonly refusals: readonly string[];
  readonly resent: number;
  readonly answeredAgain: number;
  /** Acknowledged increments that the servers do not have. */
  readonly lost: number;
  /** Of these, more than a master may have kept to itself when it was killed. */
  readonly lostBeyondReplication: number;
  /** More increments than were acknowledged or sent again. */
  readonly surplus: number;
  /** Transactions of which only a part was run. */
  readonly torn: number;
  /** Longest time between two acknowledgements of one worker, from the harm on. */
  readonly recoveryMs: number;
}

export class ClusterLoad {
  private readonly book = new DispatchBook();
  private readonly acknowledged = new Map<string, number>();
  /** When the increments of each key were acknowledged. */
  private readonly times = new Map<string, number[]>();
  private readonly refusals: string[] = [];
  private readonly workers: Promise<void>[] = [];
  /** Answers that each worker got. */
  private readonly rounds: number[] = [];
  private readonly pulse = new EventEmitter();
  private batches = 0;
  private isStopped = false;
  private harmedAtMs = Number.POSITIVE_INFINITY;
  private recoveryMs = 0;

  /** @param auto The client with auto-pipelining. */
  constructor(
    private readonly plain: Cluster,
    private readonly auto: Cluster,
  ) {}

  start(): void {
    this.book.open();
    for (let i = 0; i < PIPELINES; i++) this.work(() => this.pipeline());
    for (let i = 0; i < CALLERS; i++) this.work(() => this.call(this.auto, "a"));
    for (let i = 0; i < WRITERS; i++) this.work(() => this.call(this.plain, "s"));
    for (let i = 0; i < TRANSACTORS; i++) this.work(() => this.transact());
  }

  /** From now on interruptions count as recovery. */
  markHarm(): void {
    this.harmedAtMs = performance.now();
  }

  get sinceHarmMs(): number {
    return performance.now() - this.harmedAtMs;
  }

  /** Resolves when every worker has been answered once more, for something it issued from now on. */
  async untilAllAnswered(): Promise<void> {
    const goals = this.rounds.map((count) => count + 2);
    while (goals.some((goal, i) => (this.rounds[i] as number) < goal)) await once(this.pulse, "answered");
  }

  /** Lets everything settle and compares the books with the servers. */
  async finish(): Promise<LoadReport> {
    this.isStopped = true;
    await Promise.all(this.workers);
    this.book.close();
    const values = await this.readAll();
    return this.compare(values);
  }

  private work(step: () => Promise<void>): void {
    const index = this.rounds.push(0) - 1;
    const run = async (): Promise<void> => {
      while (!this.isStopped) {
        const startedAtMs = performance.now();
        await step();
        const nowMs = performance.now();
        if (nowMs > this.harmedAtMs) {
          const lastedMs = nowMs - Math.max(startedAtMs, this.harmedAtMs);
          this.recoveryMs = Math.max(this.recoveryMs, lastedMs);
        }
        this.batches++;
        this.rounds[index] = (this.rounds[index] as number) + 1;
        this.pulse.emit("answered");
      }
    };
    this.workers.push(run());
  }

  private async pipeline(): Promise<void> {
    const keys = Array.from({ length: PIPELINE_LENGTH }, () => `p:${Math.floor(Math.random() * KEYS)}`);
    const pipeline = this.plain.pipeline();
    // Rows are answered long before the batch is over when some of them wait for a failover.
    const answeredAtMs = keys.map(() => 0);
    for (const [i, key] of keys.entries()) {
      pipeline.incr(key, () => {
        answeredAtMs[i] = performance.now();
      });
    }
    const rows = (await pipeline.exec()) ?? [];
    for (const [i, [error]] of rows.entries()) {
      if (error) this.refusals.push(`pipeline: ${describe(error)}`);
      else this.acknowledge(keys[i] as string, answeredAtMs[i]);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  private async call(client: Cluster, prefix: string): Promise<void> {
    const key = `${prefix}:${Math.floor(Math.random() * KEYS)}`;
    await client.incr(key).then(
      () => this.acknowledge(key),
      (error: Error) => this.refusals.push(`call: ${describe(error)}`),
    );
    await new Promise((resolve) => setTimeout(resolve, 2));
  }

  private async transact(): Promise<void> {
    const tag = `{t:${Math.floor(Math.random() * KEYS)}}`;
    await this.plain
      .multi()
      .incr(`${tag}1`)
      .incr(`${tag}2`)
      .exec()
      .then(
        () => {
          this.acknowledge(`${tag}1`);
          this.acknowledge(`${tag}2`);
        },
        (error: Error) => this.refusals.push(`transaction: ${describe(error)}`),
      );
    await new Promise((resolve) => setTimeout(resolve, 2));
  }

  private acknowledge(key: string, atMs = performance.now()): void {
    this.acknowledged.set(key, (this.acknowledged.get(key) ?? 0) + 1);
    const times = this.times.get(key);
    if (times === undefined) this.times.set(key, [atMs]);
    else times.push(atMs);
  }

  private async readAll(): Promise<Map<string, number>> {
    const keys = [...new Set([...this.acknowledged.keys(), ...this.book.resent.keys()])];
    const pipeline = this.plain.pipeline();
    for (const key of keys) pipeline.get(key);
    const rows = (await pipeline.exec()) ?? [];
    return new Map(keys.map((key, i) => [key, Number(rows[i]?.[1] ?? 0)]));
  }

  private compare(values: ReadonlyMap<string, number>): LoadReport {
    let acknowledged = 0;
    let lost = 0;
    let lostBeyondReplication = 0;
    let surplus = 0;
    let torn = 0;
    for (const [key, value] of values) {
      const known = this.acknowledged.get(key) ?? 0;
      acknowledged += known;
      const missing = Math.max(0, known - value);
      lost += missing;
      const excusable = (this.times.get(key) ?? []).filter(
        (atMs) => atMs > this.harmedAtMs - REPLICATION_LAG_MS && atMs < this.harmedAtMs + REPLICATION_LAG_MS,
      ).length;
      lostBeyondReplication += Math.max(0, missing - excusable);
      surplus += Math.max(0, value - known - (this.book.resent.get(key) ?? 0));
      if (key.endsWith("}1") && value !== values.get(`${key.slice(0, -1)}2`)) torn++;
    }
    return {
      acknowledged,
      batches: this.batches,
      refusals: this.refusals,
      resent: this.book.total,
      answeredAgain: this.book.answeredAgain,
      lost,
      lostBeyondReplication,
      surplus,
      torn,
      recoveryMs: Math.round(this.recoveryMs),
    };
  }
}

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? ` <- ${error.cause.name}: ${error.cause.message}` : "";
  return `${error.name}: ${error.message}${cause}`;
}
