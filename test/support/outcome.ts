/** How a call ended, in a form that can be compared; a call that does not end is an outcome too. */

export type Outcome = readonly ["fulfilled", unknown] | readonly ["rejected", string] | readonly ["pending"];

/** Waits for the call, but not for ever. Failures are told by their code and message. */
export async function outcomeOf(call: PromiseLike<unknown>, patienceMs = 3000): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const pending = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve(["pending"]), patienceMs);
  });
  const settled = Promise.resolve(call).then(
    (value): Outcome => ["fulfilled", value],
    (error: unknown): Outcome => ["rejected", describe(error)],
  );
  const outcome = await Promise.race([settled, pending]);
  clearTimeout(timer);
  return outcome;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return `no error: ${String(error)}`;
  const { code } = error as { code?: string };
  return code === undefined ? error.message : `${code}: ${error.message}`;
}
