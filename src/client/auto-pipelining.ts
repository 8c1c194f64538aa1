/** Reads the auto-pipelining options. */

import type { AutoPipelinerOptions } from "../pipeline/auto-pipeliner";

export interface AutoPipeliningOptions {
  readonly enableAutoPipelining?: boolean | AutoPipeliningWindow | undefined;
  readonly autoPipeliningIgnoredCommands?: readonly string[] | undefined;
}

/** The window of the automatic batches. */
export interface AutoPipeliningWindow {
  /** Unanswered batches at which commands go on gathering. Default 1. */
  maxInFlight?: number | undefined;
  /** Most commands of one batch. Default unlimited. */
  maxCommands?: number | undefined;
}

/** The settings of the auto-pipeliner, or null when it is off. */
export function autoPipelinerOptions(options: AutoPipeliningOptions): AutoPipelinerOptions | null {
  const setting = options.enableAutoPipelining;
  if (!setting) return null;
  const window = typeof setting === "object" ? setting : {};
  const ignored = (options.autoPipeliningIgnoredCommands ?? []).map((name) => name.toLowerCase());
  return {
    maxInFlight: window.maxInFlight ?? 1,
    maxCommands: window.maxCommands ?? Number.POSITIVE_INFINITY,
    ignored: new Set(ignored),
  };
}
