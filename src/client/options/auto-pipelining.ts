/** Reads the auto-pipelining options. */

import type { Command } from "../../command/command";
import { type AutoPipelinerOptions, isExcluded } from "../../pipeline/auto-pipeliner";
import { openMerging } from "../merging";
import type { AutoPipeliningWindow } from "./common-options";

export interface AutoPipeliningOptions {
  readonly enableAutoPipelining?: boolean | AutoPipeliningWindow | undefined;
  readonly autoPipeliningIgnoredCommands?: readonly string[] | undefined;
}

/** The settings of the auto-pipeliner, or null when it is off. */
export function autoPipelinerOptions(options: AutoPipeliningOptions): AutoPipelinerOptions | null {
  const setting = options.enableAutoPipelining;
  if (!setting) return null;
  const window = typeof setting === "object" ? setting : {};
  return {
    maxInFlight: window.maxInFlight ?? 1,
    maxCommands: window.maxCommands ?? Number.POSITIVE_INFINITY,
    maxBytes: window.maxBytes ?? Number.POSITIVE_INFINITY,
    ignored: ignoredNames(options),
    merging: openMerging(window.merge, window.coalesce === true),
  };
}

/** Which of these commands go by automatic pipelines. */
export function gatheredOf(commands: readonly Command[], options: AutoPipeliningOptions): Command[] {
  if (!options.enableAutoPipelining) return [];
  const ignored = ignoredNames(options);
  return commands.filter((command) => !isExcluded(command, ignored));
}

/** Commands that are never gathered by the option's choice. */
function ignoredNames(options: AutoPipeliningOptions): ReadonlySet<string> {
  return new Set((options.autoPipeliningIgnoredCommands ?? []).map((name) => name.toLowerCase()));
}
