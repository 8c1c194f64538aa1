/** How a server is reached, as the options say: by TCP or a unix socket, by Sentinel, or by a connector of the user's own. */

import type { EventEmitter } from "node:events";
import type { AbstractConnector } from "../link/connector";
import { TcpConnector } from "../link/tcp-connector";
import type { SentinelClient } from "../sentinel/sentinel-client";
import type { RedisOptions } from "./options/redis-options";

type ConnectorClass = new (options: RedisOptions) => AbstractConnector;

/** @param makeClient Makes the clients of the sentinels. */
export function makeConnector(
  client: EventEmitter & { readonly options: RedisOptions },
  makeClient: (settings: object) => EventEmitter,
): AbstractConnector {
  const { options } = client;
  const Connector = options.Connector as ConnectorClass | null | undefined;
  if (!Connector && !options.sentinels) return new TcpConnector(options);
  // Loaded by those who use it.
  const { SentinelConnector } =
    require("../sentinel/sentinel-connector") as typeof import("../sentinel/sentinel-connector");
  const connector = Connector ? new Connector(options) : new SentinelConnector(options);
  if (connector instanceof SentinelConnector) {
    connector.emitter = client;
    connector.useClients((settings) => makeClient(settings) as EventEmitter & SentinelClient);
  }
  return connector;
}
