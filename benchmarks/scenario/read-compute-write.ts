/**
 * Read, compute, write: each step awaited, the steps pipelined over many keys, and a script that does it on the server.
 *
 * The computation is `new = old * 2 + 1` modulo a prime; the script computes the same, so the results can be compared.
 */

import { createHash } from "node:crypto";
import { createSide } from "../sides/all-sides";
import type { Key, Operation } from "../sides/operation";
import { type Address, type ClientSide, isClientSide } from "../sides/side";
import { BareClient } from "../support/bare-client";
import { type HelperServer, startDelayProxy } from "../support/child-process";
import { Clock } from "../support/clock";
import { keyOf, nameOf, numbers } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";

type Method = "steps" | "pipelines" | "script" | "scripts-pipelined";

interface ComputeRow extends Row {
  readonly method: Method;
  readonly delayMs: number;
}

const PRIME = 1_000_003;
const KEYS = 100;
const SCRIPT = `local value = tonumber(redis.call('get', KEYS[1]) or '0')
value = (value * 2 + tonumber(ARGV[1])) % ${PRIME}
redis.call('set', KEYS[1], value)
return value`;
const SHA = createHash("sha1").update(SCRIPT).digest("hex");

const METHODS: readonly { method: Method; title: string }[] = [
  { method: "steps", title: "GET, compute, SET, each awaited" },
  { method: "pipelines", title: "100 GETs in a pipeline, compute, 100 SETs in a pipeline" },
  { method: "script", title: "one EVALSHA each, awaited" },
  { method: "scripts-pipelined", title: "100 EVALSHAs in a pipeline" },
];

export const readComputeWrite: Scenario<ComputeRow> = {
  id: "read-compute-write",
  rounds: 1,
  title: "Pipelining or scripting",
  about:
    "Read a number, compute a new one, and write it, for 100 keys. A pipeline cannot use its own replies, so it needs two round trips for any number of keys, and it is not atomic. A script needs one round trip and is atomic.",
  columns: [
    { figure: "updatesPerSecond", title: "updates/s", digits: 0, pick: "median" },
    { figure: "cpuMicros", title: "CPU µs/update", digits: 2, pick: "least" },
  ],
  rows: [0, 1].flatMap((delayMs) =>
    METHODS.map(({ method, title }) => ({
      id: `compute-${method}-${delayMs}`,
      title: delayMs === 0 ? title : `+${delayMs} ms round trip: ${title}`,
      method,
      delayMs,
      sides: ["sluice", "ioredis"] as const,
    })),
  ),
  measure: measureCompute,
};

async function measureCompute(row: ComputeRow, context: SampleContext): Promise<Figures> {
  const address = context.target.nodes[0] as Address;
  await prepare(address);
  const proxy =
    row.delayMs === 0 ? undefined : await startDelayProxy(address, row.delayMs, context.serverCpu);
  const side = await connect(context, proxy);
  const update = updaterOf(side, row.method);
  await checkUpdate(update, address);
  const pass = async (durationMs: number): Promise<number> => {
    const clock = new Clock(durationMs, 2, 1);
    let updates = 0;
    do updates += await update();
    while (!clock.expired());
    return updates;
  };
  await pass(context.budget.warmMs);
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await pass(context.budget.measureMs));
  await side.close();
  proxy?.stop();
  return { ...figures, updatesPerSecond: figures.opsPerSecond as number };
}

async function connect(context: SampleContext, proxy: HelperServer | undefined): Promise<ClientSide> {
  const side = createSide(context.sideName);
  if (!isClientSide(side)) throw new Error(`${side.name} cannot compute`);
  const nodes = proxy === undefined ? context.target.nodes : [proxy.address];
  await side.connect({ nodes, isCluster: false }, { autoPipelining: false });
  return side;
}

async function prepare(address: Address): Promise<void> {
  const client = await BareClient.open(address);
  await client.call("SCRIPT", "LOAD", SCRIPT);
  for (const index of numbers(KEYS)) await client.call("SET", nameOf("c", index), "1");
  client.close();
}

/** One call updates all keys once and says how many it updated. */
function updaterOf(side: ClientSide, method: Method): () => Promise<number> {
  const keys = numbers(KEYS).map((index) => keyOf("c", index));
  const reads: Operation[] = keys.map((key) => ({ kind: "get", key }));
  const scripts: Operation[] = keys.map((key) => ({ kind: "evalsha", sha: SHA, key, argument: "1" }));
  const issues = (method === "steps" ? reads : scripts).map((operation) => side.bind(operation));
  const batch = side.bindBatch(method === "pipelines" ? reads : scripts, KEYS);
  const write = (key: Key, old: unknown): Operation => ({ kind: "set", key, value: compute(old) });
  return async () => {
    switch (method) {
      case "steps":
        for (const [index, key] of keys.entries()) await side.bind(write(key, await issues[index]?.()))();
        return KEYS;
      case "pipelines": {
        const results = (await batch()) as [unknown, unknown][];
        await side.bindBatch(
          keys.map((key, index) => write(key, results[index]?.[1])),
          KEYS,
        )();
        return KEYS;
      }
      case "script":
        for (const issue of issues) await issue();
        return KEYS;
      case "scripts-pipelined":
        await batch();
        return KEYS;
    }
  };
}

function compute(old: unknown): string {
  return String((Number(old) * 2 + 1) % PRIME);
}

/** After one update of all keys from 1, each key holds 3, whichever way was taken. */
async function checkUpdate(update: () => Promise<number>, address: Address): Promise<void> {
  await update();
  const client = await BareClient.open(address);
  const values = await client.callAll(numbers(KEYS).map((index) => ["GET", nameOf("c", index)]));
  client.close();
  if (values.some((value) => value !== "3")) throw new Error("the update gave a wrong result");
}
