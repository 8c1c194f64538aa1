/** An extra connection to a scripted server, without a client. */

import { PooledConnection } from "../../src/client/leases/pooled-connection";
import { ConnectionCounts } from "../../src/connection/connection-counts";
import type { LinkDeps, LinkOptions } from "../../src/link/link-options";
import { TcpConnector } from "../../src/link/tcp-connector";
import type { FakeServer } from "./fake-server";

export function openPooled(
  { host, port }: Pick<FakeServer, "host" | "port">,
  options: LinkOptions,
  deps: Pick<LinkDeps, "listener" | "messages"> & Partial<LinkDeps>,
): PooledConnection {
  const own: LinkOptions = {
    protocol: 2,
    disableClientInfo: true,
    watchdog: false,
    retryStrategy: () => null,
    ...options,
  };
  const { disconnectTimeout = 20 } = options;
  const all: LinkDeps = {
    credentials: () => ({}),
    tracer: null,
    counts: new ConnectionCounts(),
    redirects: () => false,
    takeover: null,
    ...deps,
  };
  return new PooledConnection(own, new TcpConnector({ host, port, disconnectTimeout }), all);
}
