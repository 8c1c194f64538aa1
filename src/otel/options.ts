/** The options of `instrument()`, their defaults and their checks. */

import type { MeterProvider, TracerProvider } from "@opentelemetry/api";

export interface InstrumentOptions {
  /**
   * `"batch"` (default): one span for each `exec()`, one for each single command, and one for the single
   * commands of one parent span that share a write. `"command"`: one for each command.
   */
  readonly spans?: "batch" | "command" | "none" | undefined;
  /** Metrics of the conventions, and additional ones for a pipelining client. Default true. */
  readonly metrics?: boolean | undefined;
  /** Operations that took less time get no span; milliseconds, default 0. Metrics count all operations. */
  readonly minDurationMs?: number | undefined;
  /**
   * `"keys"` adds `db.query.text` to the spans of single commands, with values replaced by "?". Default
   * `"none"`.
   */
  readonly queryText?: "keys" | "none" | undefined;
  /** Creates no span without a parent span. Default false. */
  readonly requireParent?: boolean | undefined;
  /** Default: the provider registered with the API. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the provider registered with the API. */
  readonly meterProvider?: MeterProvider | undefined;
}

export interface Settings {
  readonly spans: "batch" | "command" | "none";
  readonly metrics: boolean;
  readonly minDurationMs: number;
  readonly queryText: "keys" | "none";
  readonly requireParent: boolean;
  readonly tracerProvider: TracerProvider | undefined;
  readonly meterProvider: MeterProvider | undefined;
}

const WORDS: Readonly<Record<string, readonly string[]>> = {
  spans: ["batch", "command", "none"],
  queryText: ["keys", "none"],
};
const SWITCHES = ["metrics", "requireParent"];
const PROVIDERS: Readonly<Record<string, string>> = {
  tracerProvider: "getTracer",
  meterProvider: "getMeter",
};

/** Throws a TypeError for an unknown option or value. */
export function checkOptions(options: InstrumentOptions): Settings {
  if (typeof options !== "object" || options === null) throw new TypeError("instrument() expects an object");
  for (const [name, value] of Object.entries(options)) if (value !== undefined) checkOne(name, value);
  return {
    spans: options.spans ?? "batch",
    metrics: options.metrics ?? true,
    minDurationMs: options.minDurationMs ?? 0,
    queryText: options.queryText ?? "none",
    requireParent: options.requireParent ?? false,
    tracerProvider: options.tracerProvider,
    meterProvider: options.meterProvider,
  };
}

function checkOne(name: string, value: unknown): void {
  const wanted = wantedOf(name, value);
  if (wanted === null) return;
  const shown =
    typeof value === "string" ? `"${value}"` : typeof value === "number" ? String(value) : typeof value;
  throw new TypeError(`instrument(): option "${name}" must be ${wanted}, got ${shown}`);
}

/** Describes the valid values; null if the value is valid. */
function wantedOf(name: string, value: unknown): string | null {
  const words = WORDS[name];
  if (words !== undefined) {
    return words.includes(value as string) ? null : words.map((word) => `"${word}"`).join(" or ");
  }
  if (SWITCHES.includes(name)) return typeof value === "boolean" ? null : "true or false";
  const method = PROVIDERS[name];
  if (method !== undefined) {
    const isProvider = typeof (value as Record<string, unknown> | null)?.[method] === "function";
    return isProvider ? null : `an object with a method ${method}()`;
  }
  if (name !== "minDurationMs") {
    const known = [...Object.keys(WORDS), ...SWITCHES, "minDurationMs", ...Object.keys(PROVIDERS)];
    throw new TypeError(`instrument(): unknown option "${name}". Expected one of ${known.join(", ")}`);
  }
  return typeof value === "number" && value >= 0 ? null : "a number of milliseconds, 0 or more";
}
