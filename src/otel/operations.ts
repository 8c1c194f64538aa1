/**
 * One operation by the semantic conventions for database clients: a span and a record of
 * `db.client.operation.duration`. It is reported when it has ended, so that an operation that is too short or
 * has no parent costs no span.
 */

import type { Attributes, Context, Histogram, HrTime, Tracer } from "@opentelemetry/api";
import type { CallSource } from "../observability/hooks";
import { clockMs, userDateMs } from "../util/scheduling";
import type { Api } from "./api";
import type { Settings } from "./options";

/** The target of an operation, as the conventions name it. */
export interface Target {
  readonly serverAddress: string;
  readonly serverPort: number | undefined;
  readonly peerAddress?: string | undefined;
  readonly peerPort?: number | undefined;
  readonly database: number;
}

export interface Operation {
  /** `GET`, `PIPELINE GET`, `MULTI` ... */
  readonly name: string;
  /** The number of commands; null for a single command. */
  readonly batchSize: number | null;
  /** The first word of the first error reply, or the code of another error; null without errors. */
  readonly failure: string | null;
  /** A short description of the failure, without values. */
  readonly message: string;
  readonly parent: Context;
  readonly beganMs: number;
  readonly endedMs: number;
  /** It gets a span if the settings enable spans. */
  readonly isTraced: boolean;
  readonly queryText?: string | undefined;
  readonly procedure?: string | undefined;
}

/** Attributes of a target are read again after this time, because its address may have changed. */
const TARGET_AGE_MS = 1000;

const KNOWN: unique symbol = Symbol("sluice.otel.target");

/** A client that also holds its cached target. A WeakMap would be traversed by each garbage collection. */
type NotedSource = CallSource & { [KNOWN]?: Known };

interface Known {
  readonly target: KnownTarget;
  readonly database: number;
  readonly atMs: number;
}

/** A target with the attributes that its operations share, one object for each name. */
class KnownTarget {
  /** The attributes that distinguish metrics of the client itself. */
  readonly pool: Attributes;
  private readonly byName = new Map<string, Attributes>();

  constructor(private readonly target: Target) {
    this.pool = { "db.client.connection.pool.name": poolOf(target) };
  }

  attributesOf(name: string): Attributes {
    let attributes = this.byName.get(name);
    if (attributes === undefined) {
      attributes = makeAttributes(name, this.target);
      this.byName.set(name, attributes);
    }
    return attributes;
  }
}

/** The server under the name that the conventions give to a pool without a name. */
export function poolOf({ serverAddress, serverPort }: Pick<Target, "serverAddress" | "serverPort">): string {
  return serverPort === undefined ? serverAddress : `${serverAddress}:${serverPort}`;
}

export class Operations {
  private readonly byPlace = new Map<string, KnownTarget>();

  constructor(
    private readonly api: Api,
    private readonly settings: Settings,
    private readonly tracer: Tracer,
    private readonly duration: Histogram | null,
  ) {}

  /** The current target of a client's operations. */
  targetOf(source: NotedSource, nowMs: number): KnownTarget {
    const { database } = source;
    const known = source[KNOWN];
    if (known !== undefined && nowMs - known.atMs <= TARGET_AGE_MS && known.database === database) {
      return known.target;
    }
    const target = this.targetAt({ ...source.server(), database });
    source[KNOWN] = { target, database, atMs: nowMs };
    return target;
  }

  /** The same for a target that is passed with the operation. */
  targetAt(target: Target): KnownTarget {
    const { serverAddress, serverPort, peerAddress, peerPort, database } = target;
    const key = `${serverAddress} ${serverPort} ${peerAddress} ${peerPort} ${database}`;
    let known = this.byPlace.get(key);
    if (known === undefined) {
      known = new KnownTarget({ serverAddress, serverPort, peerAddress, peerPort, database });
      this.byPlace.set(key, known);
    }
    return known;
  }

  report(operation: Operation, shared: Attributes): void {
    const { failure, endedMs, beganMs } = operation;
    if (this.duration !== null) {
      const attributes = failure === null ? shared : withFailure(shared, failure);
      this.duration.record((endedMs - beganMs) / 1000, attributes, operation.parent);
    }
    if (operation.isTraced) this.addSpan(operation, shared);
  }

  /** Whether an operation that begins here may have a span. */
  mayTrace(parent: Context): boolean {
    const { spans, requireParent } = this.settings;
    if (spans === "none") return false;
    return !requireParent || this.api.trace.getSpan(parent) !== undefined;
  }

  addSpan(operation: Operation, shared: Attributes): void {
    const { name, batchSize, failure, beganMs, endedMs, parent, queryText, procedure } = operation;
    if (endedMs - beganMs < this.settings.minDurationMs) return;
    const isPlain =
      batchSize === null && failure === null && queryText === undefined && procedure === undefined;
    let attributes: Attributes = shared;
    if (!isPlain) {
      const own = failure === null ? { ...shared } : withFailure(shared, failure);
      if (batchSize !== null) own["db.operation.batch.size"] = batchSize;
      if (queryText !== undefined) own["db.query.text"] = queryText;
      if (procedure !== undefined) own["db.stored_procedure.name"] = procedure;
      attributes = own;
    }
    const { SpanKind, SpanStatusCode } = this.api;
    const epochMs = userDateMs() - clockMs();
    const startTime = hrTime(epochMs + beganMs);
    const span = this.tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, parent);
    if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: operation.message });
    span.end(hrTime(epochMs + endedMs));
  }
}

/** In alphabetical order: the SDK sorts the names for each record, and sorted input is faster. */
function makeAttributes(name: string, target: Target): Attributes {
  const attributes: Attributes = {
    "db.namespace": String(target.database),
    "db.operation.name": name,
    "db.system.name": "redis",
  };
  if (target.peerAddress !== undefined) attributes["network.peer.address"] = target.peerAddress;
  if (target.peerPort !== undefined) attributes["network.peer.port"] = target.peerPort;
  attributes["server.address"] = target.serverAddress;
  if (target.serverPort !== undefined) attributes["server.port"] = target.serverPort;
  return attributes;
}

/** Seconds and nanoseconds, which the API uses without conversion; it would convert other times twice. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.trunc((ms - seconds * 1000) * 1e6)];
}

/** The first word of an error reply is also the status of the response. */
function withFailure(shared: Attributes, failure: string): Attributes {
  return { ...shared, "error.type": failure, "db.response.status_code": failure };
}
