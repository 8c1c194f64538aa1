/**
 * Work for the exit of the process. All copies of the client in a process share one listener: if modules are
 * loaded repeatedly (hot reload, test runners), a listener of each copy would keep that copy in memory.
 */

import { processWide } from "./process-wide";

export interface ExitWork {
  onExit(): void;
}

/** Calls `onExit` when the process exits, unless the object has been collected. */
export function atExit(work: ExitWork): void {
  const works = processWide("sluice.exit.1", listenOnce);
  for (const one of works) if (one.deref() === undefined) works.delete(one);
  works.add(new WeakRef(work));
}

function listenOnce(): Set<WeakRef<ExitWork>> {
  const works = new Set<WeakRef<ExitWork>>();
  process.once("exit", () => {
    for (const one of works) one.deref()?.onExit();
  });
  return works;
}
