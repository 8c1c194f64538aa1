/** Refuses options of the test kit that are unknown: they would have no effect. */

/**
 * @param call The call, for the message.
 * @param known The names of its options.
 * @throws a TypeError for the first unknown one.
 */
export function checkOptions(call: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${call} has no option "${unknown}": expected some of ${known.join(", ")}`);
}

/** The address that a proxy forwards to. */
export function checkTarget(call: string, target: unknown): void {
  const { port, path } = (typeof target === "object" && target !== null ? target : {}) as {
    port?: unknown;
    path?: unknown;
  };
  if (typeof port === "number" || typeof path === "string") return;
  throw new TypeError(`${call} takes the address of a server: { host, port } or { path }`);
}
