/** The option `natMap`. */

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Translates an announced address (`"host:port"`) to a reachable one: a table or a function. */
export type NatMap =
  | Record<string, { host: string; port: number }>
  | ((key: string) => { host: string; port: number } | null);

/** The reachable address of a server; all other fields are kept. */
export function reachable<T extends Address>(address: T, map: NatMap | null | undefined): T {
  if (map === undefined || map === null) return address;
  const key = `${address.host}:${address.port}`;
  const mapped = typeof map === "function" ? map(key) : Object.hasOwn(map, key) ? map[key] : null;
  return mapped ? { ...address, host: String(mapped.host), port: Number(mapped.port) } : address;
}
