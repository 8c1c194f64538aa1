/** Chooses the connector for the options: TCP or a unix socket, Sentinel, several databases, or a connector of the user. */

import type { EventEmitter } from "node:events";
import type { FailoverConnector, FailoverReport } from "../failover/failover-connector";
import type { DatabaseClient, FailoverStats } from "../failover/monitor";
import type { AbstractConnector } from "../link/connector";
import type { WatchdogOptions } from "../link/link-options";
import { TcpConnector } from "../link/tcp-connector";
import type { SentinelClient } from "../sentinel/sentinel-client";
import type { SentinelConnector } from "../sentinel/sentinel-connector";
import { LatePart } from "../util/late-part";
import { callUser } from "../util/user-code";
import { isTlsUrl } from "./options/parse-url";
import { defaultOptions, type RedisOptions } from "./options/redis-options";
import { optionsOfAddress } from "./options/resolve-options";

export type { FailoverReport };

export const sentinels = new LatePart(
  "sentinel",
  () => require("../sentinel/sentinel-connector") as typeof import("../sentinel/sentinel-connector"),
);

export const failovers = new LatePart(
  "failover",
  () => require("../failover/failover-connector") as typeof import("../failover/failover-connector"),
);

interface ConnectedClient extends EventEmitter {
  readonly options: RedisOptions;
}

/** A single dead connection to a good database is left as soon as a lost database. */
const FAILOVER_WATCHDOG: Readonly<Required<WatchdogOptions>> = Object.freeze({
  idleMs: 1000,
  probeTimeoutMs: 500,
});

/** @param makeClient Creates the clients of the Sentinels and of probes. */
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

/** Null without the option `failover`. */
export function readFailover(options: RedisOptions, connector: AbstractConnector): FailoverStats | null {
  return options.failover ? (connector as FailoverConnector).stats() : null;
}

function makeFailover(
  client: ConnectedClient,
  makeClient: (settings: object) => EventEmitter,
): AbstractConnector {
  const { options } = client;
  if (options.watchdog === defaultOptions.watchdog) options.watchdog = FAILOVER_WATCHDOG;
  const parts = failovers.get();
  const deps = {
    readUrl: (url: string) => ({ ...(isTlsUrl(url) && { tls: true }), ...optionsOfAddress(url) }),
    defaults: options,
    makeClient: (settings: object) => {
      // Without a listener, each failed attempt of a probe would be printed.
      return makeClient(settings).on("error", () => {}) as EventEmitter & DatabaseClient;
    },
  };
  return new parts.FailoverConnector(options, deps, (report) => {
    callUser(() => client.emit("failover", report));
  });
}

/** The class itself may be missing: a connector of the user needs no Sentinel code. */
function isSentinelConnector(connector: AbstractConnector): connector is SentinelConnector {
  return "useClients" in connector;
}
