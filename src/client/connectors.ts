/** Chooses the connector for the options: TCP or a unix socket, Sentinel, several databases, or a connector of the user. */

import type { EventEmitter } from "node:events";
import type { AbstractConnector } from "../link/connector";
import { TcpConnector } from "../link/tcp-connector";
import type { SentinelClient } from "../sentinel/sentinel-client";
import type { SentinelConnector } from "../sentinel/sentinel-connector";
import { LatePart } from "../util/late-part";
import { makeFailover } from "./failover/failover-parts";
import type { RedisOptions } from "./options/redis-options";

export { type FailoverReport, readFailover } from "./failover/failover-parts";

export const sentinels = new LatePart(
  "sentinel",
  () => require("../sentinel/sentinel-connector") as typeof import("../sentinel/sentinel-connector"),
);

interface ConnectedClient extends EventEmitter {
  readonly options: RedisOptions;
}

export function makeConnector(
  client: ConnectedClient,
  makeClient: (settings: object) => EventEmitter,
): AbstractConnector {
  const { options } = client;
  const { Connector } = options;
  if (options.failover) return makeFailover(client, makeClient);
  if (!Connector && !options.sentinels) return new TcpConnector(options);
  const connector = Connector ? new Connector(options) : new (sentinels.get().SentinelConnector)(options);
  if (isSentinelConnector(connector)) {
    connector.emitter = client;
    connector.useClients((settings) => makeClient(settings) as EventEmitter & SentinelClient);
  }
  return connector;
}

/** The class itself may be missing: a connector of the user needs no Sentinel code. */
function isSentinelConnector(connector: AbstractConnector): connector is SentinelConnector {
  return "useClients" in connector;
}
