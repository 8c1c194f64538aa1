/**
 * Random programs for a client that merges and one that does not: both are told the same and leave the same behind.
 * Keys are few and of all types, so that errors, missing keys and repeated keys are frequent.
 */

import fc from "fast-check";
import type { Cluster, Redis } from "../../src/index";

export type Client = Redis | Cluster;
type Call = readonly (string | Buffer)[];

export type Step =
  | { readonly kind: "turn" | "pipeline" | "transaction"; readonly calls: readonly Call[] }
  | { readonly kind: "mixed"; readonly calls: readonly Call[]; readonly inside: readonly Call[] };

export type Program = readonly Step[];

/** The value of `pipeline({ merge })` and `enableAutoPipelining.merge`: all there is. */
export const ALL_MERGEABLE = [
  "get",
  "hget",
  "hmset",
  "lpush",
  "rpush",
  "set",
  "sismember",
  "zscore",
] as const;

const field = fc.constantFrom<string | Buffer>("a", "b", "ü", Buffer.from("a"), Buffer.from([0xff, 0]));
const value = fc.constantFrom<string | Buffer>("1", "x", "é", "", Buffer.from([0x80, 1]), "y".repeat(40));
const score = fc.constantFrom("1", "-2.5", "inf", "nan", "1e3");

function callsOn(key: fc.Arbitrary<string | Buffer>): fc.Arbitrary<Call> {
  const on = (name: string, ...rest: fc.Arbitrary<string | Buffer>[]): fc.Arbitrary<Call> =>
    fc.tuple(fc.constant(name), key, ...rest) as unknown as fc.Arbitrary<Call>;
  const reads = [
    on("get"),
    on("getBuffer"),
    on("hget", field),
    on("hgetBuffer", field),
    on("sismember", field),
    on("zscore", field),
    on("zscoreBuffer", field),
    on("lrange", fc.constant("0"), fc.constant("-1")),
    on("hgetall"),
    on("type"),
  ];
  const writes = [
    on("set", value),
    on("set", value, fc.constant("EX"), fc.constant("100")),
    on("hset", field, value),
    on("hmset", field, value),
    on("hmset", field, value, field, value),
    on("sadd", field),
    on("zadd", score, field),
    on("rpush", value),
    on("rpush", value, value),
    on("lpush", value),
    on("rpushBuffer", value),
    on("del"),
    on("pexpire", fc.constantFrom("-1", "100000")),
    on("incr"),
    on("get", value),
    on("hget"),
  ];
  return fc.oneof(
    { weight: 6, arbitrary: fc.oneof(...reads) },
    { weight: 4, arbitrary: fc.oneof(...writes) },
    { weight: 1, arbitrary: fc.constant(["call", "nosuch", "x"]) },
  );
}

/** Calls in stretches of the same kind on the same key, as there is something to merge then. */
function stretchesOn(keys: readonly (string | Buffer)[]): fc.Arbitrary<Call[]> {
  const key = fc.constantFrom(...keys);
  const stretch = fc
    .tuple(callsOn(key), fc.array(fc.tuple(field, value), { maxLength: 6 }), fc.boolean(), key)
    .map(([call, others, changesKey, otherKey]) => {
      const more = others.map(([name, text]) => {
        const next = [...call];
        if (changesKey) next[1] = otherKey;
        if (next.length > 2) next[2] = call[0] === "set" ? text : name;
        return next;
      });
      return [call, ...more];
    });
  return fc.array(stretch, { minLength: 1, maxLength: 6 }).map((stretches) => stretches.flat());
}

/** @param keys Those of one transaction lie together. */
export function programsOn(
  keys: readonly (string | Buffer)[],
  others: readonly (string | Buffer)[] = [],
): fc.Arbitrary<Program> {
  const calls = stretchesOn([...keys, ...others]);
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("turn" as const), calls }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("pipeline" as const), calls }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("transaction" as const), calls: stretchesOn(keys) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("mixed" as const), calls, inside: stretchesOn(keys) }),
    },
  );
  return fc.array(step, { minLength: 1, maxLength: 5 });
}

/** The outcomes that callers are told, in order; an error as its text with the command that it names. */
export async function outcomesOf(client: Client, program: Program, merge: boolean): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  const pending: Promise<void>[] = [];
  const note = (outcome: Promise<unknown>): void => {
    const place = outcomes.push(null) - 1;
    const settled = outcome.then(
      (result) => {
        outcomes[place] = shown(result);
      },
      (error: unknown) => {
        outcomes[place] = shown(error);
      },
    );
    pending.push(settled);
  };
  for (const step of program) {
    // Steps overlap now and then: what one has issued may be under way as the next one begins.
    if (step.calls.length % 2 === 0) await Promise.all(pending);
    if (step.kind === "turn") for (const call of step.calls) note(callOn(client, call));
    else if (step.kind === "transaction") note(client.multi([...step.calls]).exec());
    else {
      const inside = step.kind === "mixed" ? [["multi"], ...step.inside, ["exec"], ...step.calls] : [];
      const calls = [...step.calls, ...inside];
      note(client.pipeline(calls, merge ? { merge: ALL_MERGEABLE } : {}).exec());
    }
  }
  await Promise.all(pending);
  return outcomes;
}

function callOn(client: Client, [name, ...args]: Call): Promise<unknown> {
  const method = (client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[
    String(name)
  ];
  return (method as (...args: unknown[]) => Promise<unknown>).apply(client, args);
}

function shown(result: unknown): unknown {
  if (Array.isArray(result)) {
    const isRow = result.length === 1 && isWrongGet(result[0]);
    return isRow ? [null, null] : result.map(shown);
  }
  if (!(result instanceof Error)) return result;
  if (isWrongGet(result)) return null;
  const { command } = result as { command?: { name: string; args: unknown[] } };
  return `${result.name} ${result.message} (${command?.name} ${command?.args.map(String).join(" ")})`;
}

/** GET of a key that holds no string: merged, it is told that there is none. Who names `get` takes that. */
function isWrongGet(result: unknown): boolean {
  if (!(result instanceof Error) || !result.message.startsWith("WRONGTYPE")) return false;
  return (result as { command?: { name: string } }).command?.name === "get";
}

/** All keys with what is in them. */
export async function contentOf(client: Redis): Promise<unknown[]> {
  const keys = (await client.keysBuffer("*")).sort(Buffer.compare);
  const rows = keys.map(async (key) => {
    const type = await client.type(key);
    const [value, ttl] = await Promise.all([readValue(client, key, type), client.ttl(key)]);
    return [key.toString("latin1"), type, value, ttl > 0];
  });
  return Promise.all(rows);
}

async function readValue(client: Redis, key: Buffer, type: string): Promise<unknown> {
  const texts = (list: Buffer[]): string[] => list.map((one) => one.toString("latin1"));
  switch (type) {
    case "string":
      return client.getBuffer(key);
    case "list":
      return texts(await client.lrangeBuffer(key, 0, -1));
    case "set":
      return texts(await client.smembersBuffer(key)).sort();
    case "zset":
      return texts((await client.callBuffer("zrange", key, "0", "-1", "withscores")) as Buffer[]);
    default:
      return [texts(await client.hkeysBuffer(key)), texts(await client.hvalsBuffer(key))];
  }
}
