/**
 * Random programs of calls with odd arguments (holes in arrays, Maps, dates, lone surrogates ...) in every form: methods,
 * their Buffer twins, `call`, lists of arguments, callbacks, pipelines and transactions chained and from lists. The
 * published client runs each program first, on the same server; results, errors, the order of callbacks and what the
 * server holds afterwards are the same. What docs/differences.md lists is left out of the programs.
 */

import { inspect } from "node:util";
import { expect } from "chai";
import fc from "fast-check";
import { Redis as Published } from "ioredis";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { closeClient, untilReady } from "../support/matrix";
import { fixedRuns } from "../support/properties";
import { sharedServer } from "../support/shared-servers";

type Form = "method" | "buffer" | "call" | "list";
type Value = () => unknown;
type Told = (error?: Error | null, reply?: unknown) => void;
type Methods = Record<string, (...args: unknown[]) => unknown>;

interface Call {
  readonly name: string;
  readonly args: readonly Value[];
  readonly form: Form;
  readonly hasCallback: boolean;
}

interface Step {
  readonly as: "calls" | "pipeline" | "multi";
  readonly calls: readonly Call[];
  /** Handed over as a list of commands. */
  readonly isList: boolean;
  readonly isAwaited: boolean;
}

/** The values are made anew for each client: one of them might keep or change what it gets. */
const oddities: readonly Value[] = [
  () => undefined,
  () => null,
  () => -0,
  () => Number.NaN,
  () => 1e-7,
  () => 2 ** 53 + 2,
  () => 12345678901234567890n,
  () => true,
  () => new Date(0),
  () => "\ud800x",
  () => "a\r\n$1\r\nb",
  () => Buffer.from([0, 255, 13, 10]),
  () => Buffer.alloc(0),
  () => new Map([["m", "1"]]),
  () => new Set(["e"]),
  () => ({ a: 1, b: [1, 2] }),
  () => ({ toString: () => "own text" }),
  () => Object("boxed"),
  () => new Error("as an argument"),
  () => /x/g,
  () => [],
  () => ["a", ["b", ["c", null]], undefined],
  // biome-ignore lint/suspicious/noSparseArray: what the original leaves out
  () => [, "a", , "b"],
];

const odd = fc.constantFrom(...oddities);
const plain: fc.Arbitrary<Value> = fc
  .oneof(fc.constantFrom("a", "b", "10", "text"), fc.nat(9))
  .map((value) => () => value);
const value = fc.oneof({ weight: 2, arbitrary: plain }, { weight: 1, arbitrary: odd });
const number: fc.Arbitrary<Value> = fc.nat(4).map((one) => () => one);
const is = (text: string): fc.Arbitrary<Value> => fc.constant<Value>(() => text);
const key: fc.Arbitrary<Value> = fc.constantFrom("s1", "s2", "h", "l", "z").map((name) => () => name);
/** A Buffer in the place of an object of fields is a difference. */
const object = fc.constantFrom<Value>(
  () => ({ f1: "a", f2: [1, 2], f3: null }),
  () =>
    new Map<unknown, unknown>([
      ["f1", 1n],
      [2, "b"],
    ]),
  () =>
    new (class {
      f1 = "own";
    })(),
  () => ["f1", "a"],
);

/** The arguments of each command. */
const COMMANDS: Readonly<Record<string, readonly fc.Arbitrary<Value>[]>> = {
  get: [key],
  set: [key, value],
  getset: [key, value],
  append: [key, value],
  incrby: [key, value],
  echo: [value],
  mget: [key, value],
  mset: [object],
  del: [key, value],
  exists: [value, value],
  hset: [is("h"), object],
  hmset: [is("h"), object],
  hget: [is("h"), value],
  hgetall: [is("h")],
  hdel: [is("h"), value],
  rpush: [is("l"), value, value],
  lrange: [is("l"), number, is("-1")],
  lpop: [is("l"), value],
  zadd: [is("z"), number, value],
  zrange: [is("z"), is("0"), is("-1"), is("WITHSCORES")],
  zscore: [is("z"), value],
  type: [key],
  eval: [is("return {KEYS[1], ARGV[1], ARGV[2], 1, false}"), is("1"), key, value, value],
  evalsha: [is("f".repeat(40)), is("0")],
};

const call: fc.Arbitrary<Call> = fc.constantFrom(...Object.keys(COMMANDS)).chain((name) =>
  fc.record({
    name: fc.constant(name),
    args: fc
      .tuple(fc.tuple(...(COMMANDS[name] ?? [])), fc.option(odd, { freq: 12 }))
      .map(([args, more]) => (more === null ? args : [...args, more])),
    form: fc.constantFrom<Form>("method", "method", "buffer", "call", "list"),
    hasCallback: fc.boolean(),
  }),
);

const step: fc.Arbitrary<Step> = fc.record({
  as: fc.constantFrom("calls", "pipeline", "multi"),
  calls: fc.array(call, { maxLength: 5 }),
  isList: fc.boolean(),
  isAwaited: fc.boolean(),
});

const options: fc.Arbitrary<RedisOptions> = fc.record({
  protocol: fc.constantFrom(2 as const, 3 as const),
  keyPrefix: fc.constantFrom("", "p:"),
  stringNumbers: fc.boolean(),
  showFriendlyErrorStack: fc.boolean(),
  lazyConnect: fc.boolean(),
  db: fc.constantFrom(0, 1),
});

function shown(outcome: unknown): string {
  return inspect(outcome, { depth: 8, breakLength: Number.POSITIVE_INFINITY, maxArrayLength: null });
}

/** Errors in the rows of a transaction have their command only here, which is a listed difference. */
function plainRows(rows: unknown): unknown {
  if (!Array.isArray(rows)) return plainOutcome(rows);
  return rows.map(([error, reply]: [unknown, unknown]) => {
    if (!(error instanceof Error)) return [error, plainOutcome(reply)];
    return [{ error: error.name, message: error.message }, plainOutcome(reply)];
  });
}

function plainOutcome(outcome: unknown): unknown {
  if (outcome instanceof Error) {
    const { command, previousErrors } = outcome as {
      command?: { name: string; args: unknown };
      previousErrors?: unknown;
    };
    return {
      error: outcome.name,
      message: outcome.message,
      command: command && { ...command },
      previousErrors: plainOutcome(previousErrors),
    };
  }
  return Array.isArray(outcome) ? outcome.map(plainOutcome) : outcome;
}

/** Runs a program and writes down what came of it. */
class Run {
  readonly outcomes: string[] = [];
  /** The callbacks in the order in which they were called. */
  readonly told: string[] = [];
  private readonly pending: Promise<unknown>[] = [];

  constructor(private readonly redis: Redis) {}

  async steps(steps: readonly Step[]): Promise<void> {
    for (const [index, one] of steps.entries()) {
      if (one.as === "calls")
        for (const [place, each] of one.calls.entries()) this.single(each, `${index}.${place}`);
      else this.batch(one, String(index));
      if (one.isAwaited) await Promise.all(this.pending);
    }
    await Promise.all(this.pending);
  }

  private single(one: Call, label: string): void {
    const target = this.redis as unknown as Methods;
    const work = () => issue(target, one, this.callback(one, label)) as Promise<unknown>;
    this.settle(label, plainOutcome, work);
  }

  private batch({ as, calls, isList }: Step, label: string): void {
    const plain = as === "multi" ? plainRows : plainOutcome;
    this.settle(label, plain, () => {
      const make = (this.redis as unknown as Methods)[as]?.bind(this.redis) as (
        ...args: unknown[]
      ) => Methods;
      const callbackOf = (one: Call, place: number) => this.callback(one, `${label}.${place}`);
      if (isList) {
        const list = calls.map((one, place) => [one.name, ...argumentsOf(one), ...callbackOf(one, place)]);
        return make(list)["exec"]?.() as Promise<unknown>;
      }
      const batch = make();
      for (const [place, one] of calls.entries()) issue(batch, one, callbackOf(one, place));
      this.outcomes.push(`${label} has ${String(batch["length"])}`);
      return batch["exec"]?.() as Promise<unknown>;
    });
  }

  private callback({ hasCallback }: Call, label: string): [] | [Told] {
    if (!hasCallback) return [];
    return [(error, reply) => void this.told.push(`${label}: ${shown(plainOutcome(error ?? reply))}`)];
  }

  private settle(label: string, plain: (outcome: unknown) => unknown, work: () => Promise<unknown>): void {
    const note = (how: string) => (outcome: unknown) =>
      void this.outcomes.push(`${label} ${how} ${shown(plain(outcome))}`);
    try {
      this.pending.push(work().then(note("gave"), note("failed with")));
    } catch (error) {
      note("threw")(error);
    }
  }
}

function argumentsOf({ args }: Call): unknown[] {
  return args.map((make) => make());
}

function issue(target: Methods, one: Call, callback: readonly unknown[]): unknown {
  const args = argumentsOf(one);
  switch (one.form) {
    case "method":
      return target[one.name]?.(...args, ...callback);
    case "buffer":
      return target[`${one.name}Buffer`]?.(...args, ...callback);
    case "call":
      return target["call"]?.(one.name, ...args, ...callback);
    case "list":
      return target["call"]?.(one.name, args, ...callback);
  }
}

async function contents(server: ServerProcess): Promise<unknown> {
  const keys = (await server.command("KEYS", "*")) as string[];
  return Promise.all(keys.sort().map(async (name) => [name, await server.command("DUMP", name)]));
}

describe("random calls beside the published client", function () {
  this.timeout(900_000);
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  async function run(Client: typeof Redis, settings: RedisOptions, steps: readonly Step[]): Promise<unknown> {
    await server.command("FLUSHALL");
    const redis = new Client({ host: server.host, port: server.port, ...settings });
    try {
      if (settings.lazyConnect !== true) await untilReady(redis);
      const program = new Run(redis);
      await program.steps(steps);
      return { outcomes: program.outcomes.sort(), told: program.told, contents: await contents(server) };
    } finally {
      await closeClient(redis);
    }
  }

  it("the same comes of them", async () => {
    await fc.assert(
      fc.asyncProperty(options, fc.array(step, { minLength: 1, maxLength: 6 }), async (settings, steps) => {
        const expected = await run(Published as unknown as typeof Redis, settings, steps);
        expect(await run(Redis, settings, steps)).to.deep.equal(expected);
      }),
      fixedRuns(150),
    );
  });
});
