/**
 * The interfaces between the parts of a server: commands, their callers, and the members of servers and
 * connections for handlers. Types only; the classes are in separate files.
 */

import type { FaultSwitches } from "../faults/fault-switches";
import type { Clock } from "../keyspace/clock";
import type { Database } from "../keyspace/database";
import type { Randomness } from "../keyspace/randomness";
import type { ReplyValue } from "../protocol/reply";
import type { Protocol } from "../protocol/reply-writer";
import type { Acl } from "./acl";
import type { Blocking } from "./blocking";
import type { Configuration } from "./configuration";
import type { PubSub } from "./pubsub";
import type { Tracking, TrackingMode } from "./tracking";
import type { User } from "./user";
import type { ServerVersion } from "./version";
import type { WatchList } from "./watch-list";

/** Runs a command; `args[0]` is the command word. Throws an `ErrorReply`. */
export type Handler = (caller: Caller, args: readonly string[]) => ReplyValue;
/** By name in lower case; subcommands as `config|get`. */
export type Handlers = Readonly<Record<string, Handler>>;

export interface CommandEntry {
  readonly name: string;
  /** Words with the command word; negative: at least so many. */
  readonly arity: number;
  /** Sum of `Flag` bits. */
  readonly flags: number;
  /** Of the access control list: a sum of bits by the places in `CATEGORIES`. */
  readonly categories: number;
  /** First key, last key (negative from the end) and step, counted from 1 after the command word. */
  readonly keys: readonly [number, number, number];
  readonly group: string;
  /** Loads its family when it is first asked for; null if it is not supported. */
  readonly run: Handler | null;
  /** Null where the command has none. */
  readonly subcommands: Map<string, CommandEntry> | null;
}

/** The counts of a command in INFO commandstats. */
export interface CallCount {
  calls: number;
  /** Of them those that were answered by an error. */
  failed: number;
  /** Refused before they ran; they are no calls. */
  rejected: number;
}

/** The commands of a version, by their names in lower case. */
export interface CommandTable {
  readonly size: number;
  get(name: string): CommandEntry | undefined;
  keys(): Iterable<string>;
  values(): Iterable<CommandEntry>;
}

/** A source of commands: a connection, or a script. */
export interface Caller {
  readonly engine: ServerEngine;
  /** How replies are shaped: HELLO, or `redis.setresp` in a script. */
  protocol: Protocol;
  databaseIndex: number;
  readonly database: Database;
  user: User;
  /** Inside EXEC, or a script: nothing may wait. */
  isBatch: boolean;
  /** The connection behind it; null for a script that the test itself runs. */
  readonly session: ClientSession | null;
  readonly isScript: boolean;
}

export type ReplyMode = "on" | "off" | "skip-next" | "skip";

export interface QueuedCommand {
  readonly entry: CommandEntry;
  readonly args: readonly string[];
}

/** The commands between MULTI and EXEC. */
export interface OpenTransaction {
  readonly commands: QueuedCommand[];
  /** A command was refused: EXEC will run nothing. */
  isSpoiled: boolean;
  /** One of them needs the interpreter. */
  needsScripting: boolean;
}

/** A connection. */
export interface ClientSession extends Caller {
  readonly id: number;
  readonly connectedAt: number;
  readonly lastActiveAt: number;
  readonly address: string;
  readonly localAddress: string;
  readonly lastCommand: string;
  name: string;
  library: { readonly name: string; readonly version: string };
  isAuthenticated: boolean;
  transaction: OpenTransaction | null;
  watched: WatchList | null;
  trackingMode: TrackingMode | null;
  replyMode: ReplyMode;
  isAsking: boolean;
  readsReplica: boolean;
  isMonitor: boolean;
  isNoEvict: boolean;
  isNoTouch: boolean;
  readonly isRunning: boolean;
  readonly subscriptions: {
    readonly channels: Set<string>;
    readonly patterns: Set<string>;
    readonly shardChannels: Set<string>;
  };
  /** Channels and patterns, without shard channels. */
  readonly subscriptionCount: number;
  write(bytes: string): void;
  push(values: readonly ReplyValue[]): void;
  pushLater(values: readonly ReplyValue[]): void;
  reply(value: ReplyValue): void;
  unblock(reply: ReplyValue): void;
  hold(): () => void;
  goOn(): void;
  close(): void;
  kill(): void;
  unwatch(): void;
  leaveAllChannels(): void;
}

/** A server without sockets. */
export interface ServerEngine {
  readonly version: ServerVersion;
  readonly clock: Clock;
  readonly random: Randomness;
  readonly configuration: Configuration;
  readonly acl: Acl;
  readonly pubsub: PubSub;
  readonly blocking: Blocking;
  readonly tracking: Tracking;
  readonly scripting: ScriptHost;
  readonly faults: FaultSwitches;
  readonly alarm: Alarm;
  readonly commands: CommandTable;
  readonly sessions: Map<number, ClientSession>;
  readonly monitors: Set<ClientSession>;
  readonly startedAt: number;
  readonly runId: string;
  readonly port: number;
  readonly allDatabases: readonly Database[];
  /** Its place in a cluster, null outside of one. */
  readonly cluster: ClusterPlace | null;
  /** Commands wait until then (CLIENT PAUSE); all, or those that write. */
  pause: { readonly until: number; readonly onlyWrites: boolean } | null;
  commandCount: number;
  readonly callCounts: ReadonlyMap<CommandEntry, CallCount>;
  countOf(entry: CommandEntry): CallCount;
  resetCounts(): void;
  connectionCount: number;
  /** Sessions that watch something. */
  watchCount: number;
  database(index: number): Database;
  takeSessionId(): number;
  tick(): void;
  lookup(args: readonly string[]): CommandEntry;
  call(caller: Caller, entry: CommandEntry, args: readonly string[]): ReplyValue;
}

/** The timer for due work on the server's clock. */
export interface Alarm {
  set(): void;
}

/** The state that a node of a cluster adds to a server. */
export interface ClusterPlace {
  readonly isReplica: boolean;
  readonly replicaCount: number;
  /** Throws MOVED, ASK, TRYAGAIN, CROSSSLOT or CLUSTERDOWN if the command is not for this node. */
  route(session: ClientSession, entry: CommandEntry, args: readonly string[]): void;
  /** The answer of ROLE. */
  role(): ReplyValue;
}

export interface ScriptRun {
  readonly sha: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** EVAL_RO and its kind. */
  readonly isReadonly: boolean;
}

export interface FunctionRun {
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** FCALL_RO. */
  readonly isReadonly: boolean;
}

/** A function of a library. */
export interface LibraryFunction {
  readonly name: string;
  readonly description: string | null;
  readonly flags: readonly string[];
}

export interface Library {
  readonly name: string;
  readonly code: string;
  readonly functions: readonly LibraryFunction[];
}

/** FUNCTION: libraries by name. */
export interface LibraryStore {
  readonly all: readonly Library[];
  /** Whether there is such a function. */
  has(name: string): boolean;
  /** The name of the library. Throws the error reply. */
  load(code: string, replaces: boolean): string;
  delete(name: string): boolean;
  flush(): void;
}

/** Scripts and functions. */
export interface ScriptHost {
  /** The error for an unknown script. */
  noScript(): Error;
  /** The interpreter is there. */
  readonly isLoaded: boolean;
  load(): Promise<void>;
  /** Compiles a script; its SHA-1. */
  define(code: string): string;
  has(sha: string): boolean;
  flush(): void;
  run(caller: Caller, script: ScriptRun): ReplyValue;
  readonly libraries: LibraryStore;
  callFunction(caller: Caller, run: FunctionRun): ReplyValue;
  close(): void;
}
