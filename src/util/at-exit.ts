/**
 * Work for the exit of the process. All copies of the client in a process share one listener: if modules are
 * loaded repeatedly (hot reload, test runners), a listener of each copy would keep that copy in memory.
 */

export interface ExitWork {
  onExit(): void;
}

type Works = Set<WeakRef<ExitWork>>;

/** The number is the version of the shared object's shape. */
const KEY = Symbol.for("sluice.exit.1");

/** Calls `onExit` when the process exits, unless the object has been collected. */
export function atExit(work: ExitWork): void {
  const works = sharedWorks();
  for (const one of works) if (one.deref() === undefined) works.delete(one);
  works.add(new WeakRef(work));
}

function sharedWorks(): Works {
  const shared = globalThis as unknown as Record<symbol, Works | undefined>;
  const present = shared[KEY];
  if (present !== undefined) return present;
  const works: Works = new Set();
  // A getter, because Jest empties objects that a test file leaves as values on the global object.
  Object.defineProperty(shared, KEY, { get: () => works });
  process.once("exit", () => {
    for (const one of works) one.deref()?.onExit();
  });
  return works;
}
