/** Reads the auto-pipelining options. */

import type { Command } from "../../command/command";
import { goesAlone } from "../../command/command-table";
import type { AutoPipelinerOptions } from "../../pipeline/auto-pipeliner";
import { mergingOf } from "../merging";
import type { AutoPipeliningWindow, SharedOptions } from "./common-options";

export type AutoPipeliningOptions = Pick<
  SharedOptions,
  "enableAutoPipelining" | "autoPipeliningIgnoredCommands"
>;

/** Two merged runs of the maximum length. 128 and 384 were not faster (docs/decisions/0016). */
const PIECE_COMMANDS = 256;

export function autoPipelinerOptions(options: AutoPipeliningOptions): AutoPipelinerOptions | null {
  const setting = options.enableAutoPipelining;
  if (!setting) return null;
  const window = windowOf(setting);
  return {
    maxInFlight: window.maxInFlight ?? 1,
    maxCommands: window.maxCommands ?? Number.POSITIVE_INFINITY,
    maxBytes: window.maxBytes ?? Number.POSITIVE_INFINITY,
    pieceSize: leavesInPieces(window) ? PIECE_COMMANDS : Number.POSITIVE_INFINITY,
    ignored: ignoredNames(options),
    merging: mergingOf(window.merge, window.coalesce === true),
  };
}

function windowOf(setting: true | "adaptive" | AutoPipeliningWindow): AutoPipeliningWindow {
  if (typeof setting === "object") return setting;
  return setting === "adaptive" ? { maxInFlight: "adaptive" } : {};
}

/** The commands that are sent in automatic pipelines. */
export function gatheredOf(commands: readonly Command[], options: AutoPipeliningOptions): Command[] {
  if (!options.enableAutoPipelining) return [];
  const ignored = ignoredNames(options);
  return commands.filter((command) => !goesAlone(command.spec, command.args, ignored));
}

/** True with `merge`, unless the user limits batches or sets `coalesce`, which needs whole batches. */
function leavesInPieces({ merge, coalesce, maxCommands, maxBytes }: AutoPipeliningWindow): boolean {
  if (maxCommands !== undefined || maxBytes !== undefined) return false;
  return coalesce !== true && Boolean(merge);
}

function ignoredNames(options: AutoPipeliningOptions): ReadonlySet<string> {
  return new Set((options.autoPipeliningIgnoredCommands ?? []).map((name) => name.toLowerCase()));
}
