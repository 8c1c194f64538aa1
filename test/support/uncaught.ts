/** Collects what would have ended the process while some work runs. */

type Listener = (...args: unknown[]) => void;
const EVENTS = ["uncaughtException", "unhandledRejection"] as const;

/** The messages of what was thrown on later ticks, or rejected unheard, until a moment after the work. */
export async function uncaughtDuring(work: () => Promise<void>): Promise<string[]> {
  const thrown: string[] = [];
  const note = (error: unknown): void => {
    thrown.push(error instanceof Error ? error.message : String(error));
  };
  const before = EVENTS.map((event) => process.rawListeners(event) as Listener[]);
  for (const event of EVENTS) {
    process.removeAllListeners(event);
    process.on(event, note);
  }
  try {
    await work();
    await new Promise((resolve) => setTimeout(resolve, 20));
  } finally {
    for (const [index, event] of EVENTS.entries()) {
      process.removeAllListeners(event);
      for (const listener of before[index] as Listener[]) process.on(event, listener);
    }
  }
  return thrown.sort();
}
