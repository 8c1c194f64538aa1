/** The option `natMap`: translates an announced address to a reachable one. */

interface Address {
  readonly host: string;
  readonly port: number;
}

/** By `host:port` as servers and Sentinels announce it. */
export type AddressMap =
  | Readonly<Record<string, Address>>
  | ((key: string) => Address | null | undefined)
  | null
  | undefined;

/** The reachable address of a server; all other fields are kept. */
export function reachable<T extends Address>(address: T, map: AddressMap): T {
  if (map === undefined || map === null) return address;
  const key = `${address.host}:${address.port}`;
  const mapped = typeof map === "function" ? map(key) : Object.hasOwn(map, key) ? map[key] : null;
  return mapped ? { ...address, host: String(mapped.host), port: Number(mapped.port) } : address;
}
