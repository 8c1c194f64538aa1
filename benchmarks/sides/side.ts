/**
 * The interface of a side: a client library, or a bare socket as the reference.
 *
 * A side issues operations in its own best way. The loops in `load-loops.ts`, which are the same for every
 * client, decide how often, from how many callers and for how long.
 */

import type { Clock } from "../support/clock";
import type { Operation } from "./operation";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where to connect. More than one node means a cluster. */
export interface Target {
  readonly nodes: readonly Address[];
  readonly isCluster: boolean;
  /** The same plain server by its other lines, where it has them. */
  readonly unixPath?: string | undefined;
  readonly tls?: { readonly port: number; readonly caFile: string } | undefined;
}

export type Line = "tcp" | "tls" | "unix";

export interface ConnectChoices {
  /** Automatic pipelining where the client has such a switch; the others coalesce by themselves. */
  readonly autoPipelining: boolean;
  /** Automatic batches that may be unanswered, where the client lets one choose. */
  readonly maxInFlight?: number | "adaptive";
  /** When commands are written, where the client lets one choose. */
  readonly flushPolicy?: "adaptive" | "turn" | undefined;
  readonly line?: Line;
  /** `sendCommand` of the class is wrapped, as tracers do it, where the client has that method. */
  readonly isPatched?: boolean;
  /** RESP version, where the client lets one choose. */
  readonly protocol?: 2 | 3;
}

/** Issues one prepared command, or one prepared batch, and settles with its reply or replies. */
export type Issue = () => Promise<unknown>;

export type LoopKind = "callers" | "handlers" | "arrivals" | "turns" | "batches";

export interface LoadPlan {
  readonly kind: LoopKind;
  /** Operations taken in a circle. */
  readonly operations: readonly Operation[];
  /** Loops side by side, or commands in one turn or batch, or for arrivals commands per second. */
  readonly width: number;
  /** Each caller runs in an asynchronous context of its own. */
  readonly hasStorage?: boolean;
}

/**
 * A prepared load: runs until the clock has expired and says how many commands were answered.
 * `record` is called with the milliseconds that one command (or one turn, or one batch) took.
 */
export type Load = (clock: Clock, record?: (ms: number) => void) => Promise<number>;

export interface Side {
  readonly name: string;
  connect(target: Target, choices: ConnectChoices): Promise<void>;
  /** Does all that is not to be measured: binding operations, encoding where a side sends ready-made bytes. */
  prepare(plan: LoadPlan): Promise<Load>;
  close(): Promise<void>;
}

/** A side that offers single commands and batches, hence every scenario. */
export interface ClientSide extends Side {
  bind(operation: Operation): Issue;
  /** A batch of `size` commands; `operations` are taken in a circle. */
  bindBatch(operations: readonly Operation[], size: number): Issue;
  /** Builds a batch and does not send it: for measuring what a queued command holds. Absent: not possible. */
  queueBatch?(operations: readonly Operation[], size: number): QueuedBatch;
}

export interface QueuedBatch {
  readonly held: unknown;
  send(): Promise<unknown>;
}

export function isClientSide(side: Side): side is ClientSide {
  return "bind" in side;
}

export function requireTls(target: Target): NonNullable<Target["tls"]> {
  if (target.tls === undefined) throw new Error("the server was built without TLS, or openssl is missing");
  return target.tls;
}
