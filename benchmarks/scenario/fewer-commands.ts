/**
 * A thousand reads of one turn or of one pipeline, sent as they are and merged into commands with several
 * keys: the CPU time of client and server. Both are the same build with different options, so the rows are
 * compared with one another.
 */

import path from "node:path";
import { freshKey } from "../sides/operation";
import { BareClient, serverCpuSeconds } from "../support/bare-client";
import { Clock } from "../support/clock";
import { keyOf, numbers } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import { projectRoot } from "../support/project";
import { CPU, OPS, type Row, type SampleContext, type Scenario } from "../support/scenario";

type Reply = Promise<unknown>;

interface Reads<T> {
  get(key: string): T;
  hget(key: string, field: string): T;
}

interface Client extends Reads<Reply> {
  pipeline(options: object): Reads<unknown> & { exec(): Reply };
  hset(key: string, fields: object): Reply;
  once(event: "ready", listener: () => void): unknown;
  disconnect(): void;
}

type ClientClass = new (options: object) => Client;

interface FewerRow extends Row {
  readonly batch: "turn" | "pipeline";
  readonly read: "get" | "hget" | "same";
  readonly options: Options;
}

interface Options {
  readonly merge?: readonly string[];
  readonly coalesce?: boolean;
}

const WIDTH = 1000;
/**
 * After the usual warm-up the engine is still compiling, and its threads count as the client's CPU: 0.60 µs a command in
 * the second second of a process, 0.52 in the third, 0.47 from then on.
 */
const LEAST_WARM_MS = 3000;
const HASH = "fewer:hash";

const MERGED = { merge: ["get", "hget"] };
const SIDES = ["sluice"] as const;

function rowsOf(batch: FewerRow["batch"], read: FewerRow["read"], title: string): FewerRow[] {
  const options = read === "same" ? { coalesce: true } : MERGED;
  const row = { batch, read, sides: SIDES };
  const id = `fewer-${batch}-${read}`;
  return [
    { ...row, id: `${id}-off`, title, options: {} },
    { ...row, id: `${id}-on`, title: `${title}, ${Object.keys(options)[0]}`, options },
  ];
}

export const fewerCommands: Scenario<FewerRow> = {
  id: "fewer-commands",
  rounds: 3,
  title: "Merged and coalesced",
  about:
    "1,000 reads of 16 bytes, in one turn with automatic pipelining and in one explicit pipeline: unchanged, merged (`GET` to `MGET`, `HGET` of one hash to `HMGET`) and coalesced (all of the same key).",
  columns: [OPS, CPU, { figure: "serverCpuMicros", title: "server CPU µs/cmd", digits: 3, pick: "least" }],
  rows: [
    ...rowsOf("turn", "get", "1,000 GET in one turn"),
    ...rowsOf("turn", "hget", "1,000 HGET of one hash in one turn"),
    ...rowsOf("turn", "same", "1,000 GET of one key in one turn"),
    ...rowsOf("pipeline", "get", "1,000 GET in a pipeline"),
    ...rowsOf("pipeline", "hget", "1,000 HGET of one hash in a pipeline"),
  ],
  measure: measureFewer,
};

async function measureFewer(row: FewerRow, context: SampleContext): Promise<Figures> {
  const [node] = context.target.nodes;
  if (node === undefined) throw new Error("no server");
  const Redis = require(path.join(projectRoot, "built")) as ClientClass;
  const client = new Redis({ ...node, enableAutoPipelining: { ...row.options } });
  await new Promise<void>((resolve) => {
    client.once("ready", resolve);
  });
  await client.hset(
    HASH,
    Object.fromEntries(numbers(WIDTH).map((index) => [freshKey(keyOf("s", index)), "x".repeat(16)])),
  );
  const pass = async (durationMs: number): Promise<number> => {
    const clock = new Clock(durationMs, 3, 1);
    let done = 0;
    do {
      await batchOf(client, row);
      done += WIDTH;
    } while (!clock.expired());
    return done;
  };
  await pass(Math.max(context.budget.warmMs, LEAST_WARM_MS));
  const server = await BareClient.open(node);
  const before = await serverCpuSeconds(server);
  const meter = new Meter();
  meter.start();
  const commands = await pass(context.budget.measureMs);
  const figures = await meter.stop(commands);
  const serverCpuMicros = ((await serverCpuSeconds(server)) - before) / commands;
  server.close();
  client.disconnect();
  return { ...figures, serverCpuMicros: serverCpuMicros * 1e6 };
}

/** Keys are made anew for each call, as they are where they come from data. */
async function batchOf(client: Client, { batch, read, options }: FewerRow): Promise<void> {
  if (batch === "turn") {
    const replies: Reply[] = [];
    for (let index = 0; index < WIDTH; index++) replies.push(issue(client, read, index));
    await Promise.all(replies);
  } else {
    const pipeline = client.pipeline({ merge: options.merge ?? false });
    for (let index = 0; index < WIDTH; index++) issue(pipeline, read, index);
    await pipeline.exec();
  }
}

function issue<T>(target: Reads<T>, read: FewerRow["read"], index: number): T {
  if (read === "hget") return target.hget(HASH, freshKey(keyOf("s", index)));
  return target.get(freshKey(keyOf("s", read === "same" ? 0 : index)));
}
