/** Requests notices of maintenance, with the kind of address that the server should name in MOVING. */

import { BlockList, isIPv6 } from "node:net";
import type { Connection } from "../connection/connection";
import { request } from "../connection/handshake";
import { ReplyError } from "../errors";
import type { Link } from "../link/link";
import { MaintenanceRefusedError } from "./maintenance-error";

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

/** @param isRequired Whether a refusal of the server is reported to the application. */
export function askForNotices(connection: Connection, link: Link, isRequired: boolean): void {
  const { remoteAddress } = (connection.socket ?? {}) as { remoteAddress?: string };
  const type = endpointType(remoteAddress, Boolean(link.options.tls));
  const words = ["MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", type];
  void request(connection, "client", words).then(({ error }) => {
    if (!(error instanceof ReplyError) || !isRequired) return;
    link.report("error", new MaintenanceRefusedError(link.server, error));
  });
}

/** TLS certificates contain names. A client that uses a private address stays in its network. */
function endpointType(remoteAddress: string | undefined, usesTls: boolean): string {
  const family = isIPv6(remoteAddress ?? "") ? "ipv6" : "ipv4";
  const isInside = remoteAddress !== undefined && PRIVATE.check(remoteAddress, family);
  return `${isInside ? "internal" : "external"}-${usesTls ? "fqdn" : "ip"}`;
}
