/**
 * Debug output under `sluice:<topic>`, switched on by the environment: `DEBUG=sluice:*`. The debug
 * package is loaded only then, and nothing is formatted before somebody looks. Long strings are cut.
 * Callers hand over what may be shown; credentials are masked before they come here.
 */

import type { Debugger } from "debug";

const PREFIX = "sluice";
/** Longest string that is shown in full. */
const MAX_LENGTH = 200;
const MAX_ELEMENTS = 20;

/** Writes one line if its topic is switched on. The format is that of `util.format`. */
export interface DebugLog {
  (format: string, ...args: unknown[]): void;
  /** Asks the environment: not for the data path. */
  readonly enabled: boolean;
}

/**
 * The debug output of one topic.
 *
 * @example
 * const debug = debugLog("connection");
 * debug("connected to %s", server);
 */
export function debugLog(topic: string): DebugLog {
  let output: Debugger | null = null;
  const load = (): Debugger | null => {
    // `debug.enable()` sets the variable too, so that switching on at run time works.
    if (output === null && process.env["DEBUG"]) output = loadDebug()?.(`${PREFIX}:${topic}`) ?? null;
    return output;
  };
  const log = (format: string, ...args: unknown[]): void => {
    const loaded = load();
    if (loaded?.enabled) loaded(format, ...args.map(shorten));
  };
  return Object.defineProperty(log, "enabled", { get: () => load()?.enabled ?? false }) as DebugLog;
}

let library: typeof import("debug") | null | undefined;

/** Null in a program that was bundled without the package: it is not looked for again. */
function loadDebug(): typeof import("debug") | null {
  if (library !== undefined) return library;
  try {
    library = require("debug") as typeof import("debug");
  } catch {
    library = null;
  }
  return library;
}

/** The shown form of an argument: strings are cut, Buffers told by their size. */
export function shorten(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (Buffer.isBuffer(value)) return `<Buffer of ${value.length} bytes>`;
  if (value instanceof Error) return cut(value.message);
  if (!Array.isArray(value)) return value;
  const shown = value.slice(0, MAX_ELEMENTS).map(shorten);
  return value.length > MAX_ELEMENTS ? [...shown, `<${value.length - MAX_ELEMENTS} more>`] : shown;
}

function cut(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return `${text.slice(0, MAX_LENGTH)} ... <cut, full length ${text.length}>`;
}
