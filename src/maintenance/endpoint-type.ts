/** The kind of address that the server should name in MOVING. */

import { BlockList, isIPv6 } from "node:net";

/** RFC 1918, RFC 4193, and this machine. */
const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["127.0.0.0", 8],
] as const) {
  PRIVATE.addSubnet(network, prefix, "ipv4");
}
PRIVATE.addSubnet("fc00::", 7, "ipv6");
PRIVATE.addAddress("::1", "ipv6");

/** TLS certificates contain names. A client that uses a private address stays in its network. */
export function endpointType(remoteAddress: string | undefined, usesTls: boolean): string {
  const family = isIPv6(remoteAddress ?? "") ? "ipv6" : "ipv4";
  const isInside = remoteAddress !== undefined && PRIVATE.check(remoteAddress, family);
  return `${isInside ? "internal" : "external"}-${usesTls ? "fqdn" : "ip"}`;
}
