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

/** The fields of errors that tests look at. */
export interface Failure extends Error {
  readonly code?: string;
  readonly cause?: Failure;
  readonly command?: { readonly name: string; readonly args: readonly (string | Buffer)[] };
  readonly details?: { readonly phase: string; readonly mayHaveRun: boolean };
  readonly previousErrors?: readonly Failure[];
  readonly nodes?: readonly string[];
  readonly lastNodeError?: Failure;
  readonly nodeErrors?: Readonly<Record<string, Failure>>;
}

/** The error of a call that has to fail. */
export function failureOf(call: PromiseLike<unknown>): Promise<Failure> {
  return Promise.resolve(call).then(
    (value) => {
      throw new Error(`It did not fail but gave ${JSON.stringify(value)}`);
    },
    (error: Failure) => error,
  );
}

/** The error of a call, or null if it has not failed. */
export function errorOf(call: PromiseLike<unknown>): Promise<Failure | null> {
  return Promise.resolve(call).then(
    () => null,
    (error: Failure) => error,
  );
}

/** `"fulfilled"`, or the code of the error. */
export async function codeOf(call: PromiseLike<unknown>): Promise<string> {
  const error = await errorOf(call);
  return error === null ? "fulfilled" : String(error.code);
}
