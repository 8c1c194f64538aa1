/**
 * Random programs for one client: what they consist of, and how they are made. A program is plain
 * data, so that one that fails can be printed, shrunk and run again. `program-runner` runs it,
 * `program-books` says what may come of it.
 */

import fc from "fast-check";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { CutStyle, Direction } from "./fault-proxy";

/** One command. All but `select` carry a token that nothing else has. */
export type Member = "push" | "long" | "incr" | "echo" | "buffer" | "wrong" | "select";

/** Through which limits a call goes. */
export type Way =
  | { readonly by: "client" | "callback" | "aborted" }
  | { readonly by: "timeout" | "signal"; readonly ms: number }
  | { readonly by: "retry"; readonly retry: "at-least-once" | "reads-only" | "at-most-once" };

export type Step =
  | { readonly do: "single"; readonly member: Member; readonly way: Way; readonly db: number }
  | { readonly do: "burst"; readonly members: readonly Member[]; readonly way: Way }
  | {
      readonly do: "pipeline";
      readonly members: readonly Member[];
      /** A transaction in the middle of it. */
      readonly inner: readonly Member[];
      readonly way: Way;
      readonly batchSize: number;
    }
  | { readonly do: "multi"; readonly members: readonly Member[]; readonly way: Way }
  | {
      readonly do: "byHand";
      readonly members: readonly Member[];
      readonly way: Way;
      /** The commands that go that way. */
      readonly limited: "members" | "multi" | "exec";
      readonly isAwaited: boolean;
      readonly isDiscarded: boolean;
    }
  | { readonly do: "watch"; readonly members: readonly Member[]; readonly isTouched: boolean }
  | { readonly do: "bulk"; readonly count: number; readonly batchSize: number }
  | { readonly do: "block"; readonly way: Way }
  | { readonly do: "listen" }
  | {
      readonly do: "cutAfter";
      readonly direction: Direction;
      readonly bytes: number;
      readonly style: CutStyle;
    }
  | { readonly do: "cutNow"; readonly style: CutStyle }
  | { readonly do: "isolate"; readonly direction: Direction }
  | { readonly do: "stall"; readonly direction: Direction; readonly ms: number }
  | { readonly do: "pieces"; readonly bytes: number }
  | { readonly do: "refuse"; readonly ms: number }
  | { readonly do: "renew" }
  | { readonly do: "reconnect" }
  | { readonly do: "pause"; readonly ms: number };

export type Ending = "quit" | "quit in time" | "disconnect" | "work";

export interface Program {
  readonly options: RedisOptions;
  readonly steps: readonly Step[];
  readonly ending: Ending;
}

/** Databases that programs move between. */
export const DATABASES = [0, 1, 2] as const;

const plain = fc.constantFrom<Member>("push", "incr", "echo", "buffer", "push", "incr", "long", "wrong");
const queueable = fc.constantFrom<Member>("push", "incr", "echo", "push", "incr", "long", "wrong");
const db = fc.constantFrom(...DATABASES);
const direction = fc.constantFrom<Direction>("toServer", "toClient");
const style = fc.constantFrom<CutStyle>("reset", "end");
const client: Way = { by: "client" };

const way: fc.Arbitrary<Way> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(client) },
  { weight: 2, arbitrary: fc.constant<Way>({ by: "callback" }) },
  { weight: 1, arbitrary: fc.constant<Way>({ by: "aborted" }) },
  {
    weight: 2,
    arbitrary: fc.record({
      by: fc.constantFrom("timeout" as const, "signal" as const),
      ms: fc.integer({ min: 0, max: 25 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      by: fc.constant("retry" as const),
      retry: fc.constantFrom("at-least-once" as const, "reads-only" as const, "at-most-once" as const),
    }),
  },
);

function some(member: fc.Arbitrary<Member>, most: number): fc.Arbitrary<Member[]> {
  return fc.array(member, { minLength: 1, maxLength: most });
}

const calls: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("single" as const),
      member: fc.oneof(
        { weight: 4, arbitrary: plain },
        { weight: 1, arbitrary: fc.constant("select" as const) },
      ),
      way,
      db,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("burst" as const), members: some(plain, 12), way }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("pipeline" as const),
      members: some(
        fc.oneof({ weight: 9, arbitrary: plain }, { weight: 1, arbitrary: fc.constant("select" as const) }),
        10,
      ),
      inner: fc.oneof(
        { weight: 3, arbitrary: fc.constant<Member[]>([]) },
        { weight: 1, arbitrary: some(queueable, 4) },
      ),
      way,
      batchSize: fc.constantFrom(0, 0, 0, 1, 3),
    }),
  },
  // Without anything but commands whose arguments are plain: pipelines that travel as columns.
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("pipeline" as const),
      members: some(fc.constantFrom<Member>("push", "incr", "echo"), 20),
      inner: fc.constant<Member[]>([]),
      way: fc.constant(client),
      batchSize: fc.constant(0),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("multi" as const), members: some(queueable, 6), way }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("byHand" as const),
      members: some(queueable, 4),
      way,
      limited: fc.constantFrom("members" as const, "multi" as const, "exec" as const),
      isAwaited: fc.boolean(),
      isDiscarded: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("watch" as const),
      members: some(queueable, 3),
      isTouched: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("bulk" as const),
      count: fc.integer({ min: 1, max: 40 }),
      batchSize: fc.integer({ min: 1, max: 20 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("block" as const), way }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("listen" as const) }) },
);

const faults: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("cutAfter" as const),
      direction,
      bytes: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 4000 })),
      style,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("cutNow" as const), style }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("isolate" as const), direction }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("stall" as const),
      direction,
      ms: fc.integer({ min: 1, max: 40 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("pieces" as const), bytes: fc.integer({ min: 1, max: 60 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("refuse" as const), ms: fc.integer({ min: 1, max: 20 }) }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "renew" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "reconnect" }) },
);

const pause: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("pause" as const),
  ms: fc.constantFrom(0, 0, 1, 3, 8),
});

const options: fc.Arbitrary<RedisOptions> = fc.record({
  protocol: fc.constantFrom(2 as const, 3 as const),
  autoResendUnfulfilledCommands: fc.constantFrom(true, true, true, false),
  retryPolicy: fc.constantFrom("at-least-once" as const, "reads-only" as const, "at-most-once" as const),
  enableOfflineQueue: fc.constantFrom(true, true, true, false),
  enableAutoPipelining: fc.constantFrom<RedisOptions["enableAutoPipelining"]>(
    false,
    false,
    true,
    { maxInFlight: 2, maxCommands: 5 },
    { maxInFlight: "adaptive", maxBytes: 100 },
  ),
  bounds: fc.constantFrom<RedisOptions["bounds"]>(
    undefined,
    undefined,
    undefined,
    { maxCommands: 8 },
    { maxBytes: 3000 },
    { maxCommands: 8, policy: "reject" },
  ),
  keyPrefix: fc.constantFrom("", "", "prefix:"),
  blockingConnections: fc.constantFrom(0, 0, 1),
  watchdog: fc.constantFrom<RedisOptions["watchdog"]>(false, { idleMs: 60, probeTimeoutMs: 1000 }),
  maxRetriesPerRequest: fc.constantFrom(20, null, 0, 1),
  maxLossesPerCommand: fc.constantFrom(3, 1),
  enableReadyCheck: fc.boolean(),
  highWaterBytes: fc.constantFrom(256 * 1024, 64),
  flushPolicy: fc.constantFrom("adaptive" as const, "turn" as const),
  db,
});

export const programs: fc.Arbitrary<Program> = fc.record({
  options,
  steps: fc.array(
    fc.oneof(
      { weight: 6, arbitrary: calls },
      { weight: 2, arbitrary: faults },
      { weight: 2, arbitrary: pause },
    ),
    { minLength: 2, maxLength: 20 },
  ),
  ending: fc.constantFrom<Ending>("quit", "quit in time", "disconnect", "work", "work"),
});
