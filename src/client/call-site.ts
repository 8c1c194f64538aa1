/** Notes where a command was called, for `showFriendlyErrorStack`. */

import type { Command } from "../command/command";

/** Keeps the present stack, without the frames of this folder, as the stack of the command's error. */
export function captureCallSite(command: Command): void {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, captureCallSite);
  const lines = holder.stack?.split("\n") ?? [];
  command.ensureExtra().callSite = lines
    .slice(1)
    .filter((line) => !line.includes(__dirname))
    .join("\n");
}
