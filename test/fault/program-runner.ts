/**
 * Runs a random program on a real server, through a proxy that does what the program says to the
 * line, and returns what contradicts the books. Every call it makes is entered before it is made.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RetryPolicy } from "../../src/command/command-extra";
import { Redis } from "../../src/index";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { DATABASES, type Member, type Program, type Step, type Way } from "../support/random-program";
import { Books, type Entry, type Found, type Unit } from "./program-books";

export interface Verdict {
  readonly faults: readonly string[];
  readonly calls: number;
  /** Connections beyond the first. */
  readonly losses: number;
}

type Row = readonly [error: Error | null, value?: unknown];
type AnyMethod = (...args: unknown[]) => unknown;
type Callback = (error: Error | null | undefined, value?: unknown) => void;

/** Within this time every call has to have settled after the line is well again. */
const PATIENCE_MS = 15_000;
/** How long a step waits for an answer before the program goes on. */
const STEP_PATIENCE_MS = 60;
const LONG_BYTES = 6000;
const GUARD = "guard";
const AS_NEW = JSON.stringify(["still there", "OK", [[null, "whole"]]]);
/** A cut or a reconnect that was under way when the line was mended may spoil the first tries. */
const WORK_PATIENCE_MS = 5000;
const WORK_PAUSE_MS = 10;
let programs = 0;

/** An outcome that is no error of the client: EXEC found a watched key changed. */
const NOTHING_RAN = Object.assign(new Error("EXEC gave null"), { code: "WATCH_LOST" });

/** `control` is a client of its own to the server, without a proxy in between. */
export async function runProgram(program: Program, server: ServerProcess, control: Redis): Promise<Verdict> {
  const proxy = await FaultProxy.start({ host: server.host, port: server.port }, { record: false });
  const run = new Run(program, proxy, control);
  try {
    await run.begin();
    for (const step of program.steps) await run.take(step);
    await run.finish();
  } finally {
    await run.close();
    await proxy.stop();
  }
  return run.verdict();
}

class Run {
  private readonly name = `program-${++programs}`;
  private readonly books: Books;
  private readonly redis: Redis;
  private readonly policy: RetryPolicy;
  private readonly prefix: string;
  private readonly calls = new Set<Promise<unknown>>();
  private readonly lines = new Set([""]);
  private readonly timers: NodeJS.Timeout[] = [];
  /** Producers that go on issuing commands after their step. */
  private readonly slow = new Set<Promise<unknown>>();
  private isIsolated = false;
  private lastMessage = 0;
  private published = 0;

  constructor(
    private readonly program: Program,
    private readonly proxy: FaultProxy,
    private readonly control: Redis,
  ) {
    const { options } = program;
    const { enableOfflineQueue, bounds, autoResendUnfulfilledCommands, retryPolicy, keyPrefix } = options;
    this.policy = autoResendUnfulfilledCommands === false ? "at-most-once" : (retryPolicy ?? "at-least-once");
    this.prefix = `${keyPrefix ?? ""}${this.name}:`;
    this.books = new Books(options.db ?? 0, (code) =>
      code === "BOUNDS_EXCEEDED" ? bounds?.policy === "reject" : enableOfflineQueue === false,
    );
    this.redis = new Redis({
      ...options,
      host: proxy.host,
      port: proxy.port,
      connectionName: this.name,
      retryStrategy: () => 2,
    });
    this.redis.on("error", () => {});
    this.redis.on("message", (_channel, text) => this.onMessage(Number(text)));
  }

  async begin(): Promise<void> {
    // Without an offline queue nothing could be issued before.
    if (this.program.options.enableOfflineQueue === false) await untilReady(this.redis);
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case "single":
        this.single(step.member, step.way, step.db);
        return;
      case "burst":
        for (const member of step.members) this.single(member, step.way, 0);
        return;
      case "pipeline":
        this.pipeline(step);
        return;
      case "multi":
        this.transaction(step.members, step.way);
        return;
      case "byHand":
        return this.byHand(step);
      case "watch":
        return this.watch(step.members, step.isTouched);
      case "bulk":
        this.bulk(step.count, step.batchSize);
        return;
      case "block":
        this.block(step.way);
        return;
      case "listen":
        return this.listen();
      case "pause":
        await (step.ms === 0 ? new Promise((resolve) => setImmediate(resolve)) : sleep(step.ms));
        return;
      default:
        return this.harm(step);
    }
  }

  /** The line is well again; how the program ends is a part of it. */
  async finish(): Promise<void> {
    for (const timer of this.timers) clearTimeout(timer);
    const { ending } = this.program;
    if (ending === "work") this.mend();
    if (ending === "disconnect") this.redis.disconnect();
    if (ending === "quit") this.leave(this.redis.quit());
    if (ending === "quit in time") {
      const report = await within(this.redis.quit({ timeout: 50 }));
      if (report === null) this.books.fault("quit({ timeout: 50 }) has not come back");
    }
    this.mend();
    await this.settleAll();
    if (ending === "work") await this.work();
    else await this.beGone();
  }

  async close(): Promise<void> {
    for (const timer of this.timers) clearTimeout(timer);
    this.proxy.heal();
    if (this.isIsolated) this.proxy.cutAll();
    await closeClient(this.redis);
    await this.settleAll();
  }

  async verdict(): Promise<Verdict> {
    // Commands that were cut off may still be in the buffers of the server.
    const deadline = Date.now() + PATIENCE_MS;
    while (String(await this.control.client("LIST")).includes(` name=${this.name} `)) {
      if (Date.now() > deadline) throw new Error(`the server keeps connections of ${this.name}`);
    }
    const losses = Math.max(0, this.proxy.counters.connections - 1);
    const found = new Map<string, Found[]>();
    for (const line of this.lines) found.set(line, await this.look(line));
    this.books.audit(found, losses);
    return { faults: this.books.faults, calls: this.books.entries.length, losses };
  }

  // --- calls -------------------------------------------------------------------------------

  private single(member: Member, way: Way, db: number): void {
    const { target, policy } = this.through(way);
    const onSelect = member === "select" ? this.books.move(db) : null;
    const entry = this.books.enter(member, policy);
    const { method, args } = this.wordsOf(entry, db);
    const settle = (error: unknown, value: unknown): void => {
      onSelect?.(error);
      this.books.settle(entry, error, value);
    };
    if (way.by !== "callback") {
      this.note(invoke(target, method, args), settle);
      return;
    }
    const byCallback = new Promise<void>((resolve) => {
      const callback: Callback = (error, value) => {
        settle(error ?? null, value);
        resolve();
      };
      invoke(target, method, [...args, callback]);
    });
    this.note(byCallback, () => {});
  }

  private pipeline(step: Extract<Step, { do: "pipeline" }>): void {
    const { target, policy } = this.through(step.way);
    const pipeline = target.pipeline();
    const isWhole = step.batchSize === 0 || step.inner.length > 0;
    const members = step.members.filter((member) => isWhole || member !== "select");
    const middle = Math.ceil(members.length / 2);
    // The later parts of one that is sent in parts are issued later.
    const line = isWhole ? "" : this.openLine();
    const rows: ((row: Row) => void)[] = [];
    const entries: Entry[] = [];
    const add = (member: Member, unit: Unit | null): Entry => {
      const onSelect = member === "select" ? this.books.move(1) : null;
      const entry = this.books.enter(member, policy, unit, line);
      entries.push(entry);
      const { method, args } = this.wordsOf(entry, 1);
      invoke(pipeline, method, step.way.by === "callback" ? [...args, this.onceFor(entry)] : args);
      rows.push(([error, value]) => {
        onSelect?.(error);
        if (unit === null) this.books.settle(entry, error, value);
      });
      return entry;
    };
    for (const member of members.slice(0, middle)) add(member, null);
    if (step.inner.length > 0) {
      const unit = this.books.openUnit();
      pipeline.multi();
      rows.push(() => {});
      for (const member of step.inner) add(member, unit);
      pipeline.exec();
      rows.push((row) => this.settleUnit(unit, row[0], row[1]));
    }
    for (const member of members.slice(middle)) add(member, null);
    const outcome = isWhole ? pipeline.exec() : pipeline.exec({ batchSize: step.batchSize });
    const noted = this.note(outcome, (error, value) => {
      if (error !== null) this.books.settleAll(entries, error);
      else if (rows.length !== (value as Row[]).length) this.books.fault("a pipeline has lost rows");
      else for (const [i, row] of (value as Row[]).entries()) rows[i]?.(row);
    });
    if (!isWhole) this.goesOn(noted);
  }

  private transaction(members: readonly Member[], way: Way, isForbidden = false): Promise<unknown> {
    const { target, policy } = this.through(way);
    const unit = this.books.openUnit();
    unit.isForbidden = isForbidden;
    const transaction = target.multi();
    for (const member of members) {
      const entry = this.books.enter(member, policy, unit);
      const { method, args } = this.wordsOf(entry, 0);
      invoke(transaction, method, way.by === "callback" ? [...args, this.onceFor(entry)] : args);
    }
    return this.note(transaction.exec(), (error, value) => {
      const rows = value as Row[] | null | undefined;
      if (error !== null || rows === null || rows === undefined) this.settleUnit(unit, error, null);
      else this.settleRows(unit, rows);
    });
  }

  /** A caller who is told that MULTI failed does not go on. */
  private async byHand(step: Extract<Step, { do: "byHand" }>): Promise<void> {
    // Commands that others issue between MULTI and EXEC would be a part of it.
    await Promise.race([Promise.all(this.slow), sleep(STEP_PATIENCE_MS)]);
    if (this.slow.size > 0) return;
    const way: Way = step.way.by === "aborted" ? { by: "client" } : step.way;
    const opener = step.limited === "multi" ? this.through(way).target : this.redis;
    const unit = this.books.openUnit();
    const opened = await this.step(opener.multi({ pipeline: false }), step.isAwaited);
    if (opened instanceof Error) {
      // It was written all the same.
      if (mayHaveRun(opened)) this.note(this.redis.discard(), () => {});
      return;
    }
    // A command that is aborted before it is called is no part of the transaction.
    const { target, policy: own } = this.through(way);
    const policy = own === this.policy ? own : "at-most-once";
    const pick = (part: typeof step.limited): Redis => (part === step.limited ? target : this.redis);
    for (const member of step.members) {
      const entry = this.books.enter(member, policy, unit);
      const { method, args } = this.wordsOf(entry, 0);
      this.note(invoke(pick("members"), method, args), (error, value) => {
        const isListening = error !== null && this.books.mayListen;
        if (error === null && value !== "QUEUED") this.books.fault(`in MULTI: ${String(value)}`);
        else if (error !== null && !isListening) this.checkGivenUp(error);
      });
    }
    if (step.isDiscarded) {
      this.note(this.redis.discard(), () => this.books.settleAll(unit.entries, NOTHING_RAN));
      return;
    }
    this.note(pick("exec").exec(), (error, value) => this.settleUnit(unit, error, value));
  }

  private async watch(members: readonly Member[], isTouched: boolean): Promise<void> {
    const watched = await this.step(this.redis.watch(`${this.name}:${GUARD}`), true);
    if (isTouched)
      await this.everywhere((db) => [
        ["select", db],
        ["incr", `${this.prefix}${GUARD}`],
      ]);
    await Promise.race([
      this.transaction(members, { by: "client" }, isTouched && watched === "OK"),
      sleep(STEP_PATIENCE_MS),
    ]);
  }

  private bulk(count: number, batchSize: number): void {
    const line = this.openLine();
    const entries: Entry[] = [];
    const commands: unknown[][] = [];
    for (let i = 0; i < count; i++) {
      const entry = this.books.enter(i % 3 === 0 ? "incr" : "push", this.policy, null, line);
      entries.push(entry);
      const { method, args } = this.wordsOf(entry, 0);
      commands.push([method, ...args]);
    }
    let at = 0;
    const drain = async (): Promise<void> => {
      for await (const [error, value] of this.redis.bulk(commands as never, { batchSize })) {
        this.books.settle(entries[at++] as Entry, error, value);
      }
    };
    const noted = this.note(drain(), (error) => {
      // What the bulk had taken has its rows when the client is closed.
      const isLeft = (error as { code?: unknown } | null)?.code === "BULK_ABORTED";
      if (error !== null) this.books.settleAll(entries.slice(at), isLeft ? NOTHING_RAN : error);
    });
    this.goesOn(noted);
  }

  /** Keys for commands whose time of issue is not known. */
  private openLine(): string {
    const line = `:line${this.lines.size}`;
    this.lines.add(line);
    return line;
  }

  private goesOn(noted: Promise<unknown>): void {
    this.slow.add(noted);
    void noted.then(() => this.slow.delete(noted));
  }

  private block(way: Way): void {
    const { target, policy } = this.through(way.by === "callback" ? { by: "client" } : way);
    const entry = this.books.enter("other", policy);
    this.note(target.blpop(`${this.name}:nothing`, 0.02), (error, value) => {
      if (error === null && value !== null) this.books.fault(`BLPOP of nothing got ${String(value)}`);
      this.books.settle(entry, error, value);
    });
  }

  /** Messages that are heard were published, once, and in order. */
  private async listen(): Promise<void> {
    const channel = `${this.prefix}news`;
    if (this.program.options.protocol === 2) this.books.mayListen = true;
    const entries = [this.books.enter("other", this.policy), this.books.enter("other", this.policy)];
    const settle = (entry: Entry | undefined) => (error: unknown, value: unknown) =>
      this.books.settle(entry as Entry, error, value);
    const subscribed = this.note(this.redis.subscribe(`${this.name}:news`), settle(entries[0]));
    await Promise.race([subscribed, sleep(STEP_PATIENCE_MS)]);
    await this.control.publish(channel, String(++this.published));
    const ended = this.note(this.redis.unsubscribe(), settle(entries[1]));
    await Promise.race([ended, sleep(STEP_PATIENCE_MS)]);
  }

  // --- harm --------------------------------------------------------------------------------

  private async harm(step: Step): Promise<void> {
    const { proxy, redis } = this;
    switch (step.do) {
      case "cutAfter":
        proxy.cutAfter(step);
        return;
      case "cutNow":
        proxy.cutAll(step.style);
        return;
      case "isolate":
        this.isIsolated = true;
        proxy.isolate(step.direction);
        return;
      case "stall":
        proxy.stall(step.direction);
        this.timers.push(setTimeout(() => proxy.heal(), step.ms));
        return;
      case "pieces":
        proxy.rechunk(step.bytes);
        return;
      case "refuse":
        proxy.refuse();
        proxy.cutAll();
        this.timers.push(setTimeout(() => proxy.heal(), step.ms));
        return;
      case "reconnect":
        redis.disconnect(true);
        return;
      case "renew":
        return this.renew();
    }
  }

  private async renew(): Promise<void> {
    const { redis } = this;
    const wasEnded = redis.status === "end";
    const ended = new Promise((resolve) => redis.once("end", resolve));
    redis.disconnect();
    // A line that has fallen silent ends with `disconnectTimeout`.
    if (this.isIsolated) this.proxy.cutAll();
    if (!wasEnded && (await within(ended.then(() => true))) === null) {
      this.books.fault("disconnect() did not end the client");
    }
    const connected = redis.connect().catch(() => {});
    if (this.program.options.enableOfflineQueue === false) await within(connected.then(() => true));
  }

  private mend(): void {
    this.proxy.heal();
    if (this.isIsolated) this.proxy.cutAll();
    this.isIsolated = false;
  }

  // --- the end -----------------------------------------------------------------------------

  private async settleAll(): Promise<void> {
    const { calls } = this;
    if ((await within(Promise.all(calls).then(() => true))) !== null) return;
    this.books.fault(`${calls.size} calls have not settled`);
    calls.clear();
  }

  /** As good as new: nothing that failed before stands in the way. */
  private async work(): Promise<void> {
    const deadline = Date.now() + WORK_PATIENCE_MS;
    for (;;) {
      const told = await this.tryToWork();
      if (told === AS_NEW) return;
      if (Date.now() > deadline) {
        this.books.fault(`afterwards the client answers ${told}`);
        return;
      }
      await sleep(WORK_PAUSE_MS);
    }
  }

  private async tryToWork(): Promise<string> {
    const { redis } = this;
    if ((await within(untilReady(redis).then(() => true))) === null) return `nothing: it is ${redis.status}`;
    const steps: (() => Promise<unknown>)[] = [
      () => redis.echo("still there"),
      () => redis.unwatch(),
      () => redis.multi().echo("whole").exec(),
    ];
    await within(redis.unsubscribe().catch(() => {}));
    const told: unknown[] = [];
    for (const step of steps) told.push(await within(step().catch((error: Error) => String(error))));
    return JSON.stringify(told);
  }

  private async beGone(): Promise<void> {
    const { redis, books } = this;
    const isOver = async (): Promise<boolean> => {
      while (redis.status !== "end") await new Promise((resolve) => redis.once("end", resolve));
      return true;
    };
    if ((await within(isOver())) === null) books.fault(`the client is ${redis.status}, not ended`);
    const told = await within(redis.echo("late").catch((error: { code?: string }) => error.code));
    if (told !== "CONNECTION_CLOSED") books.fault(`after the end a call got ${String(told)}`);
  }

  private leave(outcome: Promise<unknown>): void {
    this.note(outcome, (error, value) => {
      if (error === null && value === "OK") return;
      // Something waits for the next line, and no queue takes what comes behind it.
      const isRefused = (error as { code?: string } | null)?.code === "OFFLINE_QUEUE_DISABLED";
      if (!isRefused || this.program.options.enableOfflineQueue !== false) {
        this.books.fault(`quit() gave ${String(error ?? value)}`);
      }
      this.redis.disconnect();
    });
  }

  // --- small things ------------------------------------------------------------------------

  private through(way: Way): { target: Redis; policy: RetryPolicy } {
    const { redis, policy } = this;
    switch (way.by) {
      case "timeout":
        return { target: redis.with({ timeout: way.ms }), policy };
      case "retry":
        return { target: redis.with({ retry: way.retry }), policy: way.retry };
      case "aborted":
        return { target: redis.with({ signal: AbortSignal.abort() }), policy };
      case "signal": {
        const controller = new AbortController();
        this.timers.push(setTimeout(() => controller.abort(), way.ms));
        return { target: redis.with({ signal: controller.signal }), policy };
      }
      default:
        return { target: redis, policy };
    }
  }

  private wordsOf({ number, member, line }: Entry, db: number): { method: string; args: unknown[] } {
    const name = this.name;
    switch (member) {
      case "push":
        return { method: "rpush", args: [`${name}:list${line}`, String(number)] };
      case "long":
        return { method: "rpush", args: [`${name}:list${line}`, `${number}:${"x".repeat(LONG_BYTES)}`] };
      case "incr":
        return { method: "incr", args: [`${name}:count${line}`] };
      case "buffer":
        return { method: "echoBuffer", args: [Buffer.from(`token ${number}`)] };
      case "wrong":
        return { method: "eval", args: [`return redis.error_reply('MINE ${number}')`, 0] };
      case "select":
        return { method: "select", args: [db] };
      default:
        return { method: "echo", args: [`token ${number}`] };
    }
  }

  /** Remembers a call until it settles. */
  private note(call: unknown, settle: (error: unknown, value: unknown) => void): Promise<unknown> {
    const noted: Promise<unknown> = Promise.resolve(call)
      .then(
        (value) => settle(null, value),
        (error: unknown) => settle(error, undefined),
      )
      .finally(() => this.calls.delete(noted));
    this.calls.add(noted);
    return noted;
  }

  /** A call that a step needs; waits for it for a moment only. Gives the value, the error or nothing. */
  private async step(call: Promise<unknown>, isAwaited: boolean): Promise<unknown> {
    let outcome: unknown;
    const noted = this.note(call, (error, value) => {
      outcome = error ?? value;
      if (error !== null && !this.books.mayListen) this.checkGivenUp(error);
    });
    if (isAwaited) await Promise.race([noted, sleep(STEP_PATIENCE_MS)]);
    // A refusal at once is known at once.
    else await new Promise<void>((resolve) => process.nextTick(resolve));
    return outcome;
  }

  /** For commands without a trace of their own: only that the error is one of those there are. */
  private checkGivenUp(error: unknown): void {
    this.books.settle(this.books.enter("other", this.policy), error, undefined);
  }

  private onceFor(entry: Entry): Callback {
    let times = 0;
    return () => {
      if (++times > 1) this.books.fault(`the callback of ${entry.number} was called ${times} times`);
    };
  }

  private settleUnit(unit: Unit, error: unknown, value: unknown): void {
    if (error !== null) this.books.settleAll(unit.entries, error);
    else if (!Array.isArray(value)) this.books.settleAll(unit.entries, NOTHING_RAN);
    else this.settleRows(unit, value.map(rowOf));
  }

  private settleRows({ entries }: Unit, rows: readonly Row[]): void {
    if (rows.length !== entries.length) this.books.fault(`${entries.length} queued, ${rows.length} answered`);
    for (const [i, entry] of entries.entries()) {
      const [error, value] = rows[i] ?? [new Error("no row")];
      this.books.settle(entry, error, value);
    }
  }

  private onMessage(token: number): void {
    if (token < this.lastMessage || token > this.published)
      this.books.fault(`message ${token} behind ${this.lastMessage}`);
    this.lastMessage = token;
  }

  /** Commands in each database, in one go; the control client is in database 0 before and after. */
  private async everywhere(commands: (db: number) => unknown[][]): Promise<Row[][]> {
    const groups = DATABASES.map(commands);
    const rows = (await this.control.pipeline([...groups.flat(), ["select", 0]]).exec()) as Row[];
    return groups.map((group, i) => {
      const start = groups.slice(0, i).flat().length;
      return rows.slice(start, start + group.length);
    });
  }

  private async look(line: string): Promise<Found[]> {
    const results = await this.everywhere((db) => [
      ["select", db],
      ["lrange", `${this.prefix}list${line}`, 0, -1],
      ["get", `${this.prefix}count${line}`],
    ]);
    return results.map(([, list, count]) => ({
      list: list?.[1] as string[],
      count: Number(count?.[1] ?? 0),
    }));
  }
}

function invoke(target: object, method: string, args: readonly unknown[]): unknown {
  return ((target as Record<string, unknown>)[method] as AnyMethod).apply(target, [...args]);
}

function mayHaveRun(error: Error & { details?: { mayHaveRun: boolean } }): boolean {
  return error.details?.mayHaveRun === true;
}

/** `exec()` of the client gives rows, EXEC inside of a pipeline bare replies. */
function rowOf(element: unknown): Row {
  if (Array.isArray(element)) return element as unknown as Row;
  return element instanceof Error ? [element] : [null, element];
}

/** Null when it takes too long. */
async function within<T>(call: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), PATIENCE_MS);
  });
  return Promise.race([call, late]).finally(() => clearTimeout(timer));
}
