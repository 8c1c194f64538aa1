/**
 * One operation in the sense of the semantic conventions for database clients: a span and a
 * record of `db.client.operation.duration`. It is reported when it is over, so that what is too
 * short or has no parent costs no span.
 */

import type { Attributes, Context, Histogram, HrTime, Tracer } from "@opentelemetry/api";
import type { CallSource } from "../observability/hooks";
import { clockMs, userDateMs } from "../util/scheduling";
import type { Api } from "./api";
import type { Settings } from "./options";

/** Where an operation went, as the conventions name it. */
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
  /** Commands; null if it is no batch. */
  readonly batchSize: number | null;
  /** First word of the first error reply, or code of another error; null if all went well. */
  readonly failure: string | null;
  /** A few words about the failure, without values. */
  readonly message: string;
  readonly parent: Context;
  readonly beganMs: number;
  readonly endedMs: number;
  /** It has a span, if the settings want spans. */
  readonly isTraced: boolean;
  readonly queryText?: string | undefined;
  readonly procedure?: string | undefined;
}

/** Attributes for a target are looked up anew after this time: its address may have changed. */
const TARGET_AGE_MS = 1000;

const KNOWN: unique symbol = Symbol("sluice.otel.target");

/** A client, and on it what was looked up: a WeakMap would be looked through by each garbage collection. */
type NotedSource = CallSource & { [KNOWN]?: Known };

interface Known {
  readonly target: KnownTarget;
  readonly database: number;
  readonly atMs: number;
}

/** A target with the attributes that its operations share, one object for each name. */
class KnownTarget {
  /** The attributes that tell metrics of the client's own apart. */
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

/** The server as the conventions name a pool that has no name of its own. */
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

  /** Where the operations of a client go at present. */
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

  /** The same for a target that is told with the operation. */
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

/** In the order of the alphabet: the SDK sorts the names for each record, and is quicker when they are sorted. */
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

/** Seconds and nanoseconds, which the API takes as they are; other times it would convert, twice. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.trunc((ms - seconds * 1000) * 1e6)];
}

/** The word of an error reply is the status of the response, too. */
function withFailure(shared: Attributes, failure: string): Attributes {
  return { ...shared, "error.type": failure, "db.response.status_code": failure };
}
