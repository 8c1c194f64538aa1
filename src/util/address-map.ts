/** The option `natMap`: where an announced address is really reached, where a network translates addresses. */

interface Address {
  readonly host: string;
  readonly port: number;
}

/** By `host:port` as servers and sentinels announce it. */
export type AddressMap =
  | Readonly<Record<string, Address>>
  | ((key: string) => Address | null | undefined)
  | null
  | undefined;

/** The address under which a server can be reached from here, with all else that is known of it. */
export function reachable<T extends Address>(address: T, map: AddressMap): T {
  if (map === undefined || map === null) return address;
  const key = `${address.host}:${address.port}`;
  const mapped = typeof map === "function" ? map(key) : Object.hasOwn(map, key) ? map[key] : null;
  return mapped ? { ...address, host: String(mapped.host), port: Number(mapped.port) } : address;
}
