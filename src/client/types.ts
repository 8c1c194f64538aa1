/** Public types of the clients other than options. */

import type {
  ChainableCommander,
  Known,
  KnownForms,
  RedisCommander,
  RedisValue,
  ReplyForms,
  ReplyMapping,
  ReplyRows,
} from "../command/generated/signatures";
import type { SubscriptionGap } from "../connection/subscriptions";
import type { MaintenanceReport } from "../maintenance/mover";
import type { CallLimits } from "./command-limits";
import type { MergeChoice } from "./merging";

export type { RedisValue };

/** Shapes of replies: the ones of RESP2 for every protocol, or objects, numbers and booleans of RESP3. */
export type ReplyMappingMode = "legacy" | "resp3";

/** The reply mapping as command contexts name it. Options that leave it open mean legacy. */
export type MappingOf<Mode extends ReplyMappingMode> = [Mode] extends ["resp3"] ? "resp3" : "resp2";

/** Values of `redis.status`. A connection in MONITOR mode is additionally `monitoring`. */
export type RedisStatus = "wait" | "reconnecting" | "connecting" | "connect" | "ready" | "close" | "end";

/** An error that a client emits. */
export interface EmittedError extends Error {
  /** The kind of failure; errors of sockets have the code of the system, such as `ECONNREFUSED`. */
  readonly code?: string;
  /** The probable cause, and a remedy. */
  readonly hint?: string;
}

/** Listeners with typed arguments, of both clients. */
export interface ClientListeners {
  message: (channel: string, message: string) => void;
  messageBuffer: (channel: Buffer, message: Buffer) => void;
  smessage: (channel: string, message: string) => void;
  smessageBuffer: (channel: Buffer, message: Buffer) => void;
  pmessage: (pattern: string, channel: string, message: string) => void;
  pmessageBuffer: (pattern: string, channel: Buffer, message: Buffer) => void;
  error: (error: EmittedError) => void;
  invalidate: (keys: string[] | null) => void;
  gap: (gap: SubscriptionGap) => void;
  /** A cluster adds the address of the node. */
  maintenance: (report: MaintenanceReport, node?: string) => void;
}

/** The reply mapping in the options; `Current` if they have none. */
export type ReplyMappingFrom<Current extends ReplyMappingMode, Options> = Options extends {
  replyMapping: infer Mode;
}
  ? [Extract<Mode, ReplyMappingMode>] extends [never]
    ? Current
    : Extract<Mode, ReplyMappingMode>
  : Current;

/** Like `ReplyMappingFrom`, for the options of a cluster, which contain it in `redisOptions`. */
export type ReplyMappingFromCluster<Current extends ReplyMappingMode, Options> = Options extends {
  redisOptions: infer NodeOptions;
}
  ? ReplyMappingFrom<Current, NodeOptions>
  : Current;

/** A list of commands for `pipeline()` and `multi()`: `[[name, ...args, callback?], ...]`. */
export type CommandList = readonly (readonly unknown[])[];

/** How a pipeline is sent. */
export interface PipelineOptions {
  /** The commands that are merged when they are adjacent; see docs/fewer-commands.md. */
  merge?: MergeChoice | undefined;
}

/**
 * The methods that begin a batch. `exec()` knows the types of the replies to commands chained to an empty
 * batch.
 */
export interface Batches<
  Mapping extends ReplyMapping = "resp2",
  Forms extends KnownForms<ReplyForms | false> = KnownForms<false>,
> {
  pipeline(options?: PipelineOptions): ChainableCommander<Mapping, Known<[]>, Forms>;
  pipeline(
    commands?: CommandList,
    options?: PipelineOptions,
  ): ChainableCommander<Mapping, Known<ReplyRows>, Forms>;
  multi(options: { pipeline: false }): Promise<"OK">;
  multi(commands: CommandList, options: { pipeline: false }): Promise<"OK">;
  multi(): ChainableCommander<Mapping, Known<[]>, Forms>;
  multi(options: { pipeline: true }): ChainableCommander<Mapping, Known<[]>, Forms>;
  multi(commands?: CommandList): ChainableCommander<Mapping, Known<ReplyRows>, Forms>;
}

/** Every command and every method that begins a batch. */
export interface ClientCommands<Mode extends ReplyMappingMode = "legacy">
  extends RedisCommander<{ type: "default"; mapping: MappingOf<Mode> }>,
    Batches<MappingOf<Mode>> {}

/** The commands of a view `with({ replies })`, whose replies have these forms. */
export interface FormedCommands<Mapping extends ReplyMapping, Forms extends ReplyForms>
  extends RedisCommander<{
      type: "default";
      mapping: FormedMapping<Mapping, Forms>;
      forms: KnownForms<Forms>;
    }>,
    Batches<FormedMapping<Mapping, Forms>, KnownForms<Forms>> {
  /** A view of the same client with other forms. */
  with<Others extends ReplyForms>(limits: CallLimits & { replies: Others }): FormedCommands<Mapping, Others>;
  /** A view of the same client with the same forms and these limits. */
  with(limits: CallLimits): this;
}

type FormedMapping<Mapping extends ReplyMapping, Forms extends ReplyForms> = Mapping extends "resp3"
  ? "resp3"
  : Forms["map"] extends string
    ? "maps"
    : Mapping;

/** The reply of a command that is called by its name; unknown for a name without a method. */
export type ReplyOf<Commands, Name extends string> =
  Lowercase<Name> extends keyof Commands
    ? Commands[Lowercase<Name>] extends (...args: never[]) => Promise<infer Reply>
      ? Reply
      : unknown
    : unknown;
