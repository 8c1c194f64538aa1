/** Creates the connector for the option `failover`. Its code is loaded on first use. */

import type { EventEmitter } from "node:events";
import type { FailoverConnector, FailoverReport } from "../../failover/failover-connector";
import type { DatabaseClient, FailoverStats } from "../../failover/monitor";
import type { AbstractConnector } from "../../link/connector";
import type { WatchdogOptions } from "../../link/link-options";
import { LatePart } from "../../util/late-part";
import { callUser } from "../../util/user-code";
import { isTlsUrl } from "../options/parse-url";
import { defaultOptions, type RedisOptions } from "../options/redis-options";
import { optionsOfAddress } from "../options/resolve-options";

export type { FailoverReport };

export const failovers = new LatePart(
  "failover",
  () => require("../../failover/failover-connector") as typeof import("../../failover/failover-connector"),
);

interface ConnectedClient extends EventEmitter {
  readonly options: RedisOptions;
}

/** The client replaces a dead connection to a healthy database as quickly as it detects a lost database. */
const FAILOVER_WATCHDOG: Readonly<Required<WatchdogOptions>> = Object.freeze({
  idleMs: 1000,
  probeTimeoutMs: 500,
});

/** Null without the option `failover`. */
export function readFailover(options: RedisOptions, connector: AbstractConnector): FailoverStats | null {
  return options.failover ? (connector as FailoverConnector).stats() : null;
}

export function makeFailover(
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
