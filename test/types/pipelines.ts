/** Pipelines and transactions: rows are known one by one along a chain, and a list everywhere else. */

import type Redis from "sluice";
import type { ChainableCommander, Pipeline, RowError } from "sluice";
import { type Row, type Rows, same } from "./same";

declare const redis: Redis;
declare const resp3: Redis<"resp3">;

export async function chains() {
  const rows = await redis.pipeline().get("a").incr("n").exec();
  same<typeof rows, [Row<string | null>, Row<number>] | null>();
  const asInTheOriginal: [error: Error | null, result: unknown][] | null = rows;
  if (rows !== null) {
    const [[error, text], [, count]] = rows;
    same<typeof error, RowError | null>();
    same<string | undefined, NonNullable<typeof error>["code"]>();
    same<typeof text, string | null>();
    same<typeof count, number>();
    // @ts-expect-error there are two rows
    rows[2];
  }

  const transaction = await redis.multi().set("a", 1).hgetall("h").exec();
  same<typeof transaction, [Row<"OK">, Row<Record<string, string>>] | null>();
  const explicit = await redis.multi({ pipeline: true }).get("a").exec();
  same<typeof explicit, [Row<string | null>] | null>();
  const bytes = await redis.pipeline().getBuffer("a").call("JSON.GET", "b").exec();
  same<typeof bytes, [Row<Buffer | null>, Row<string | null>] | null>();
  const numbers = await resp3.pipeline().zscore("z", "a").get("b").exec();
  same<typeof numbers, [Row<number | null>, Row<string | null>] | null>();
  const inBatches = await redis.pipeline().get("a").exec({ batchSize: 100 });
  same<typeof inBatches, [Row<string | null>] | null>();
  redis
    .pipeline()
    .get("a", (error, value) => same<typeof value, string | null | undefined>())
    .exec((error, result) => same<typeof result, [Row<string | null>] | null | undefined>());
}

export async function statements() {
  const pipeline = redis.pipeline();
  pipeline.get("a");
  pipeline.incr("n");
  const rows = await pipeline.exec();
  same<typeof rows, Rows | null>();
  same<typeof pipeline.length, number>();
}

export async function loops(keys: string[]) {
  let inferred = redis.pipeline();
  for (const key of keys) inferred = inferred.get(key);
  same<Awaited<ReturnType<typeof inferredRows>>, Rows | null>();
  function inferredRows() {
    return inferred.exec();
  }

  let declared: ChainableCommander = redis.multi();
  for (const key of keys) declared = declared.get(key).incr("n");
  const rows = await declared.exec();
  same<typeof rows, Rows | null>();
  const chained = await declared.get("a").exec();
  same<typeof chained, Rows | null>();

  const folded = keys.reduce((pipeline, key) => pipeline.get(key), redis.pipeline());
  same<Awaited<ReturnType<typeof foldedRows>>, Rows | null>();
  function foldedRows() {
    return folded.exec();
  }
}

export async function otherForms() {
  const filled = await redis
    .pipeline([["get", "a"]])
    .incr("n")
    .exec();
  same<typeof filled, Rows | null>();
  const constants = [["get", "a"]] as const;
  await redis.multi(constants).exec();
  const opened = await redis.multi({ pipeline: false });
  same<typeof opened, "OK">();
  const closed = await redis.exec();
  same<typeof closed, Rows | null>();
  const inline = await redis.pipeline().get("a").multi().set("a", 1).get("a").exec().get("b").exec();
  same<typeof inline, Rows | null>();
  same<Awaited<ReturnType<ChainableCommander["exec"]>>, Rows | null>();
  same<ReturnType<typeof redis.pipeline>, ChainableCommander>();
  same<ReturnType<typeof redis.multi>, ChainableCommander>();
}

export function parameters() {
  const fill = (pipeline: ChainableCommander): ChainableCommander => pipeline.get("a");
  fill(redis.pipeline());
  fill(redis.multi().get("a"));
  const mapped: ChainableCommander<"resp3"> = resp3.pipeline();
  // @ts-expect-error replies of the two mappings differ
  fill(mapped);
  const run: { exec(): Promise<Rows | null> } = redis.pipeline().get("a");
  return run;
}

export async function classes(pipeline: Pipeline) {
  const rows = await pipeline
    .addBatch([["get", "a"]])
    .get("b")
    .exec();
  same<typeof rows, Rows | null>();
  const base: ChainableCommander = pipeline;
  return base;
}
