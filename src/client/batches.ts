/** Creates the pipelines, transactions and bulks of a client. */

import type { EventEmitter } from "node:events";
import type { Bulk, BulkOptions } from "../pipeline/bulk";
import type { BulkCommand } from "../pipeline/bulk-batch";
import { Pipeline } from "../pipeline/pipeline";
import { PIPELINE_CLASS, type PipelineHost, PipelineRun } from "../pipeline/pipeline-run";
import { endingOf } from "../util/ending";
import { LatePart } from "../util/late-part";
import { checkMerge, mergingOf } from "./merging";
import type { CommandList, PipelineOptions } from "./types";

export type { Bulk, BulkCommand, BulkOptions, PipelineOptions };

export const bulks = new LatePart(
  "bulk",
  () => require("../pipeline/bulk") as typeof import("../pipeline/bulk"),
);

interface BatchClient extends PipelineHost {
  [PIPELINE_CLASS](): typeof Pipeline;
}

/** @param commands May also be the options. */
export function makePipeline(
  client: BatchClient,
  commands: CommandList | PipelineOptions | undefined,
  options: PipelineOptions | undefined,
): Pipeline {
  const [list, settings] = isList(commands) ? [commands, options] : [undefined, options ?? commands];
  checkMerge("merge", settings?.merge);
  const run = new PipelineRun(client, false, true, mergingOf(settings?.merge, false));
  return fill(new (client[PIPELINE_CLASS]())(client, false, run), list);
}

export function makeTransaction(client: BatchClient, commands?: CommandList): Pipeline {
  return fill(new (client[PIPELINE_CLASS]())(client, true), commands);
}

/** @param owner The same object for the client and its views. */
export function openBulk(
  client: BatchClient & EventEmitter,
  owner: object,
  source: Iterable<BulkCommand> | AsyncIterable<BulkCommand>,
  options?: BulkOptions,
): Bulk {
  const { Bulk, BulkBatch } = bulks.get();
  const OwnPipeline = client[PIPELINE_CLASS]();
  const openBatch = (keepsRows: boolean) => new BulkBatch(client, OwnPipeline, keepsRows);
  return new Bulk(source, openBatch, options, () => endingOf(client, owner));
}

function fill(pipeline: Pipeline, commands: CommandList | undefined): Pipeline {
  return commands === undefined
    ? pipeline
    : (Pipeline.prototype.addBatch.call(pipeline, commands) as Pipeline);
}

function isList(commands: unknown): commands is CommandList {
  // Other iterables were accepted as commands before this argument could be options.
  return typeof commands === "object" && commands !== null && Symbol.iterator in commands;
}
