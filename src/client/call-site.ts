/** Notes where a command was called, for `showFriendlyErrorStack`. */

import { dirname } from "node:path";
import type { Command } from "../command/command";
import type { CallSite } from "../command/command-extra";
import { ReplyError } from "../errors";

let inside: string | null = null;

/**
 * Where the code of the client is, as stacks show it: the parent of this directory, or the
 * directory of the bundle. Asked of a stack, because source maps change what stacks show.
 */
function placeOfClient(): string {
  const own = new Error().stack?.split("\n")[1] ?? "";
  const file = /(?:\(|at )([^()]*):\d+:\d+\)?$/.exec(own)?.[1] ?? __filename;
  const directory = dirname(file);
  return directory.endsWith("client") ? dirname(directory) : directory;
}

/** Holds the stack as the engine captured it: formatting costs more than capturing, and most commands succeed. */
class CapturedSite implements CallSite {
  declare stack?: string;

  showIn(error: Error): void {
    const frames = (this.stack ?? "").split("\n").slice(1);
    inside ??= placeOfClient();
    const place = inside;
    const callers = frames.filter((line) => !line.includes(place));
    // Bundled into one file with the application, the client cannot be told from it.
    const shown = (callers.length > 0 ? callers : frames).join("\n");
    // The stack of an error reply has no frames, it says which command it is.
    const head = error instanceof ReplyError ? error.stack : `${error.name}: ${error.message}`;
    // Without effect on a frozen error.
    Reflect.set(error, "stack", `${head}\n${shown}`);
  }
}

/** Keeps the present stack for the error of the command. */
export function captureCallSite(command: Command): void {
  const site = new CapturedSite();
  Error.captureStackTrace(site, captureCallSite);
  command.ensureExtra().callSite = site;
}
