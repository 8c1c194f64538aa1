/** Chooses the connector for the options: TCP or a unix socket, Sentinel, or a connector of the user. */

import type { EventEmitter } from "node:events";
import type { AbstractConnector } from "../link/connector";
import { TcpConnector } from "../link/tcp-connector";
import type { SentinelClient } from "../sentinel/sentinel-client";
import type { RedisOptions } from "./options/redis-options";

type ConnectorClass = new (options: RedisOptions) => AbstractConnector;

/** @param makeClient Creates the clients of the Sentinels. */
export function makeConnector(
  client: EventEmitter & { readonly options: RedisOptions },
  makeClient: (settings: object) => EventEmitter,
): AbstractConnector {
  const { options } = client;
  const Connector = options.Connector as ConnectorClass | null | undefined;
  if (!Connector && !options.sentinels) return new TcpConnector(options);
  // Loaded on first use.
  const { SentinelConnector } =
    require("../sentinel/sentinel-connector") as typeof import("../sentinel/sentinel-connector");
  const connector = Connector ? new Connector(options) : new SentinelConnector(options);
  if (connector instanceof SentinelConnector) {
    connector.emitter = client;
    connector.useClients((settings) => makeClient(settings) as EventEmitter & SentinelClient);
  }
  return connector;
}
