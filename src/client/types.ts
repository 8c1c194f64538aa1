/**
 * Public types of the clients that are no options: what a client has besides its own members
 * (commands, pipelines, transactions), its status words, and how the reply mapping of the options
 * becomes part of its type. Types only; nothing here exists at run time.
 */

import type { ChainableCommander, Known, RedisCommander } from "../command/generated/signatures";
import type { MergeChoice } from "./merging";

/** Shapes of replies: those of RESP2 whatever the protocol, or objects, numbers and booleans of RESP3. */
export type ReplyMappingMode = "legacy" | "resp3";

/** The word that contexts of commands use for a reply mapping. Options that leave it open mean legacy. */
export type MappingOf<Mode extends ReplyMappingMode> = [Mode] extends ["resp3"] ? "resp3" : "resp2";

/** Values of `redis.status`. A connection in MONITOR mode is `monitoring` besides. */
export type RedisStatus = "wait" | "reconnecting" | "connecting" | "connect" | "ready" | "close" | "end";

/** Listeners whose arguments are known, of both clients. */
export interface ClientListeners {
  message: (channel: string, message: string) => void;
  messageBuffer: (channel: Buffer, message: Buffer) => void;
  smessage: (channel: string, message: string) => void;
  smessageBuffer: (channel: Buffer, message: Buffer) => void;
  pmessage: (pattern: string, channel: string, message: string) => void;
  pmessageBuffer: (pattern: string, channel: Buffer, message: Buffer) => void;
  error: (error: Error) => void;
  invalidate: (keys: string[] | null) => void;
}

/** The reply mapping that options ask for; `Current` if they say nothing. */
export type ReplyMappingFrom<Current extends ReplyMappingMode, Options> = Options extends {
  replyMapping: infer Mode;
}
  ? [Extract<Mode, ReplyMappingMode>] extends [never]
    ? Current
    : Extract<Mode, ReplyMappingMode>
  : Current;

/** As `ReplyMappingFrom`, for the options of a cluster, where `redisOptions` says it. */
export type ReplyMappingFromCluster<Current extends ReplyMappingMode, Options> = Options extends {
  redisOptions: infer NodeOptions;
}
  ? ReplyMappingFrom<Current, NodeOptions>
  : Current;

/** A list of commands as `pipeline()` and `multi()` take it: `[[name, ...args, callback?], ...]`. */
export type CommandList = readonly (readonly unknown[])[];

/** How a pipeline is sent. */
export interface PipelineOptions {
  /** Which commands become one where they follow one another; see docs/fewer-commands.md. */
  merge?: MergeChoice | undefined;
}

/** How batches begin. The replies of commands chained to an empty one are known to its `exec()`. */
export interface Batches<Mapping extends "resp2" | "resp3" = "resp2"> {
  pipeline(options?: PipelineOptions): ChainableCommander<Mapping, Known<[]>>;
  pipeline(commands?: CommandList, options?: PipelineOptions): ChainableCommander<Mapping>;
  multi(options: { pipeline: false }): Promise<"OK">;
  multi(commands: CommandList, options: { pipeline: false }): Promise<"OK">;
  multi(): ChainableCommander<Mapping, Known<[]>>;
  multi(options: { pipeline: true }): ChainableCommander<Mapping, Known<[]>>;
  multi(commands?: CommandList): ChainableCommander<Mapping>;
}

/** Every command and every way to begin a batch, as a client has them. */
export interface ClientCommands<Mode extends ReplyMappingMode = "legacy">
  extends RedisCommander<{ type: "default"; mapping: MappingOf<Mode> }>,
    Batches<MappingOf<Mode>> {}
