/**
 * Keys whose places depend on other words of the request, by the client's own command table: one source for both ends.
 * Loaded when the first such command comes; few tests send one.
 */

import { specOf } from "../../../src/command/command-table";
import { keyPositions } from "../../../src/command/key-positions";

/** The keys of a command; `args` begin with its word. */
export function movableKeys(command: string, args: readonly string[]): readonly string[] {
  const rest = args.slice(1);
  return keyPositions(specOf(command), rest).map((position) => rest[position] as string);
}
