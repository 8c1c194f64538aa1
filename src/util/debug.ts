/**
 * Debug output under `sluice:<topic>`, enabled by the environment: `DEBUG=sluice:*`. Only then is the debug
 * package loaded and text formatted. Long strings are cut. Callers must mask credentials before they call it.
 */

import type { Debugger } from "debug";
import { MOST_SHOWN } from "./bounds";
import { hintOf } from "./error-hint";

const PREFIX = "sluice";
/** The longest string that is shown in full. */
const MAX_LENGTH = 200;

/** Writes one line if its topic is enabled. The format is that of `util.format`. */
export interface DebugLog {
  (format: string, ...args: unknown[]): void;
  /** Reads the environment: not for the data path. */
  readonly enabled: boolean;
}

export function debugLog(topic: string): DebugLog {
  let output: Debugger | null = null;
  const load = (): Debugger | null => {
    // `debug.enable()` also sets the variable, so enabling at run time works.
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

/** Null in a program that was bundled without the package; the result is cached. */
function loadDebug(): typeof import("debug") | null {
  if (library !== undefined) return library;
  try {
    library = require("debug") as typeof import("debug");
  } catch {
    library = null;
  }
  return library;
}

/** The displayed form of an argument: strings are cut, Buffers shown by their size. */
export function shorten(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (Buffer.isBuffer(value)) return `<Buffer of ${value.length} bytes>`;
  if (value instanceof Error) {
    const hint = hintOf(value);
    return hint === undefined ? cut(value.message) : `${cut(value.message)} (hint: ${hint})`;
  }
  if (!Array.isArray(value)) return value;
  const shown = value.slice(0, MOST_SHOWN).map(shorten);
  return value.length > MOST_SHOWN ? [...shown, `<${value.length - MOST_SHOWN} more>`] : shown;
}

function cut(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return `${text.slice(0, MAX_LENGTH)} ... <cut, full length ${text.length}>`;
}
