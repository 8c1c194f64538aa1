/** Process warnings about options: one for each name in a process. */

import { MOST_NAMES } from "../../util/bounds";

const told = new Set<string>();

/** @param text The rest of the sentence that begins with the option. */
export function warnOnce(
  code: "SLUICE_UNKNOWN_OPTION" | "SLUICE_INVALID_OPTION",
  name: string,
  text: string,
): void {
  if (told.has(name) || told.size >= MOST_NAMES) return;
  told.add(name);
  process.emitWarning(`The option "${name}" ${text}`, { type: "SluiceWarning", code });
}
