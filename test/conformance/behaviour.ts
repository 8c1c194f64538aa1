/**
 * A behaviour is one promise of the public interface as data: what to do, and what must come of
 * it. The same list runs on every combination of server, protocol, mapping and auto-pipelining,
 * and once more on the published `ioredis`, to find where the two differ.
 */

import type { ServerKind } from "../../scripts/servers/find-server";
import type { LegacyCommand } from "../../src/client/legacy-command";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Redis } from "../../src/client/redis";
import type { ReplyError } from "../../src/errors";
import type { AbstractConnector } from "../../src/link/connector";
import type { SentinelConnector } from "../../src/sentinel/sentinel-connector";
import type { SentinelIterator } from "../../src/sentinel/sentinel-list";
import type { ScanStream } from "../../src/streaming/scan-stream";
import type { FakeHandler, FakeServer } from "../support/fake-server";
import type { FaultProxy } from "../support/fault-proxy";

export interface Combination {
  readonly kind: ServerKind;
  readonly protocol: 2 | 3;
  readonly replyMapping: "legacy" | "resp3";
  readonly autoPipelining: boolean;
}

/** The class with what hangs on it; the constructor takes whatever a test wants to try. */
export interface ClientClass {
  new (...args: unknown[]): Redis;
  createClient(...args: unknown[]): Redis;
  readonly Command: typeof LegacyCommand;
  readonly ReplyError: typeof ReplyError;
  readonly Cluster: unknown;
  readonly Pipeline: unknown;
  readonly ScanStream: typeof ScanStream;
  readonly AbstractConnector: typeof AbstractConnector;
  readonly SentinelConnector: typeof SentinelConnector;
  readonly SentinelIterator: typeof SentinelIterator;
  readonly print: (error: Error | null, reply?: unknown) => void;
  readonly defaultOptions: Record<string, unknown>;
  readonly default: unknown;
  readonly Redis: unknown;
}

/** Where a behaviour plays. Everything it opens through the stage is closed after it. */
export interface Stage {
  readonly combination: Combination;
  /** Connected and ready, on an empty server; made when first asked for. */
  redis(options?: RedisOptions): Promise<Redis>;
  /** A client of the combination for the server; not waited for. */
  make(options?: RedisOptions): Redis;
  /** A client that goes nowhere by itself; it gets the options of the combination only. */
  bare(...args: unknown[]): Redis;
  readonly Client: ClientClass;
  readonly server: { readonly host: string; readonly port: number; readonly unixSocketPath: string };
  /** Sends a command to the server past the client. */
  admin(...args: (string | number)[]): Promise<unknown>;
  fake(handler?: FakeHandler): Promise<FakeServer>;
  proxy(): Promise<FaultProxy>;
}

export interface Behaviour {
  readonly title: string;
  run(stage: Stage): Promise<unknown>;
  /** The result, or what gives it for a combination. */
  readonly expected: unknown;
  readonly limits: BehaviourLimits;
}

export interface BehaviourLimits {
  /** Combinations it is meant for; all when absent. */
  readonly protocol?: 2 | 3;
  readonly replyMapping?: "legacy" | "resp3";
  readonly autoPipelining?: boolean;
  /** It brings its own servers: run once for auto-pipelining on and off. */
  readonly isAlone?: boolean;
  /** Commands that the server must know. */
  readonly requires?: readonly string[];
  /** The published client does something else: the entry of docs/differences.md that says why. */
  readonly differs?: string;
  /** The published client cannot be asked: it would hang or crash the process. */
  readonly isOursAlone?: boolean;
}

export type Add = (title: string, run: Behaviour["run"], expected: unknown, limits?: BehaviourLimits) => void;

/** A list of behaviours under one heading. */
export interface BehaviourGroup {
  readonly heading: string;
  readonly behaviours: readonly Behaviour[];
}

export function group(heading: string, define: (add: Add) => void): BehaviourGroup {
  const behaviours: Behaviour[] = [];
  define((title, run, expected, limits = {}) => behaviours.push({ title, run, expected, limits }));
  return { heading, behaviours };
}

export function expectedOf(behaviour: Behaviour, combination: Combination): unknown {
  const { expected } = behaviour;
  return typeof expected === "function" ? expected(combination) : expected;
}

/** The message of the error that a promise rejects with; fails when it does not. */
export async function messageOf(promise: Promise<unknown>): Promise<string> {
  return (await errorOf(promise)).message;
}

/** The error that a promise rejects with; fails when it does not. */
export async function errorOf(promise: Promise<unknown>): Promise<Error> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error(`Expected a rejection and got ${JSON.stringify(value)}`);
}

/** Rows of a pipeline with their errors as messages. */
export function plainRows(rows: readonly (readonly unknown[])[] | null | undefined): unknown {
  return (
    rows?.map((row) => (row[0] instanceof Error ? [row[0].message] : [row[0], plainValue(row[1])])) ?? null
  );
}

function plainValue(value: unknown): unknown {
  if (value instanceof Error) return `error: ${value.message}`;
  return Array.isArray(value) ? value.map(plainValue) : value;
}

const EVENTS = ["wait", "connecting", "connect", "ready", "error", "close", "reconnecting", "end", "select"];

/** Writes down the events of a client, errors with their messages. */
export function recordEvents(redis: Redis, names: readonly string[] = EVENTS): string[] {
  const seen: string[] = [];
  for (const name of names) {
    redis.on(name, (argument: unknown) => {
      if (argument instanceof Error) seen.push(`${name} ${argument.message}`);
      else seen.push(argument === undefined ? name : `${name} ${String(argument)}`);
    });
  }
  return seen;
}

/** Resolves with the arguments of the next event of the name. */
export function next(redis: Redis, event: string): Promise<unknown[]> {
  return new Promise((resolve) => redis.once(event, (...args: unknown[]) => resolve(args)));
}

/** For what happens on other machines' time; everything else is awaited. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
