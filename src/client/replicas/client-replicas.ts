/** Creates the dispatcher for the option `replicas`, and the client of each replica. */

import type { Command } from "../../command/command";
import type { Dispatcher } from "../../command/dispatcher";
import { OptionError } from "../../errors";
import { LINK_DEFAULTS } from "../../link/link-defaults";
import type { LinkStatus } from "../../link/link-state";
import { withServerName } from "../../link/socket-options";
import { OwnWrites } from "../../replicas/own-writes";
import type { ReplicaAddress, ReplicaListener, ServerClient } from "../../replicas/replica";
import { ReplicaReads } from "../../replicas/replica-reads";
import { reachable } from "../../util/address-map";
import { isTlsUrl } from "../options/parse-url";
import { defaultOptions, NODE_WATCHDOG, type RedisOptions } from "../options/redis-options";
import { optionsOfAddress, toWholeNumber } from "../options/resolve-options";
import type { LinkStats, RedisStats } from "../stats";

/** A client that another client owns. */
export interface OwnedClient extends ServerClient {
  stats(): LinkStats;
}

/** Receives the events of an owned client. */
interface Supervisor {
  onStatus(status: LinkStatus): void;
  onReplyError(command: Command, error: Error): boolean;
  onNamedError(type: string, error: Error): void;
}

/** The client of the primary. */
export interface ReplicaOwner extends ServerClient {
  readonly options: RedisOptions;
  /** Creates a client that connects on request. */
  openOwned(options: RedisOptions, supervisor: Supervisor): OwnedClient;
  /** Returns true when the members of a merged command were sent again or settled. */
  divides(command: Command, error: Error): boolean;
  /** The connection to a replica has failed. */
  onReplicaError(error: Error, server: string): void;
}

export type ClientReplicas = ReplicaReads<OwnedClient>;

const DEFAULT_WINDOW_MS = 1000;
const MODES: readonly unknown[] = ["replica", "nearest", "primary"];
const PLACES = "a host, host:port, a list of these and of { host, port }, or true";

export function openReplicas(primary: Dispatcher, owner: ReplicaOwner): ClientReplicas {
  const {
    replicas,
    scaleReads = "replica",
    readYourWrites = DEFAULT_WINDOW_MS,
    natMap,
    availabilityZone,
  } = owner.options;
  if (!MODES.includes(scaleReads)) {
    throw new OptionError(`Invalid option scaleReads "${scaleReads}": expected ${MODES.join(", ")}`);
  }
  return new ReplicaReads(primary, owner, {
    addresses: replicas === true ? null : addressesIn(replicas, owner.options.port ?? LINK_DEFAULTS.port),
    isOnRequest: scaleReads === "primary",
    preference: { zone: availabilityZone, isNearest: scaleReads === "nearest" },
    writes: readYourWrites > 0 ? new OwnWrites(readYourWrites) : null,
    open: (address, listener) => open(owner, address, listener),
    reach: (address) => reachable(address, natMap),
  });
}

export function readReplicas({ all }: Pick<ClientReplicas, "all">): RedisStats["replicas"] {
  const rows = [...all].map(([server, { client, takesReads }]) => {
    return [server, Object.freeze({ ...client.stats(), takesReads })] as const;
  });
  return Object.freeze(Object.fromEntries(rows));
}

/** The addresses in the option `replicas`. Throws an `OptionError`. */
function addressesIn(replicas: unknown, defaultPort: number): ReplicaAddress[] {
  const places: readonly unknown[] = Array.isArray(replicas) ? replicas : [replicas];
  return places.map((place) => {
    const { host, port, ...others }: { host?: unknown; port?: unknown } =
      typeof place === "string" ? optionsOfAddress(place) : Object(place);
    const number = toWholeNumber("port", port ?? defaultPort);
    // A login or a database in an address would be ignored.
    const isPlain = Object.values(others).every((value) => value === undefined) && !isTls(place);
    if (isPlain && typeof host === "string" && host !== "" && typeof number === "number")
      return { host, port: number };
    throw new OptionError(`Invalid option replicas: expected ${PLACES}`);
  });
}

/** Replicas use TLS if the primary does. */
function isTls(place: unknown): boolean {
  return typeof place === "string" && isTlsUrl(place);
}

function open(owner: ReplicaOwner, { host, port }: ReplicaAddress, listener: ReplicaListener): OwnedClient {
  const { onStatus } = listener;
  const onReplyError = (command: Command, error: Error): boolean =>
    owner.divides(command, error) || listener.onReplyError(command, error);
  const onNamedError = (type: string, error: Error): void => {
    if (type === "error") owner.onReplicaError(error, `${host}:${port}`);
  };
  return owner.openOwned(
    { ...optionsOfReplica(owner.options), host, port },
    { onStatus, onReplyError, onNamedError },
  );
}

/** The options of the client, without those that its other dispatchers or only its own server need. */
function optionsOfReplica(options: RedisOptions): RedisOptions {
  const { retryStrategy, sentinels, tls, watchdog } = options;
  const usesTls = !sentinels || options.enableTLSForSentinelMode === true;
  return {
    ...options,
    path: undefined,
    sentinels: undefined,
    failover: undefined,
    // A server reports its replicas by their IP addresses, for which their certificates are rarely valid.
    tls: usesTls
      ? (withServerName(tls, sentinels ? undefined : options.host) as RedisOptions["tls"])
      : undefined,
    // Another server can take over, so a silent replica is probed as early as a cluster node.
    watchdog: watchdog === defaultOptions.watchdog ? NODE_WATCHDOG : watchdog,
    // Commands do not wait for a lost replica, so its attempts may continue without a limit.
    retryStrategy: typeof retryStrategy === "function" ? retryStrategy : defaultOptions.retryStrategy,
    maxRetriesPerRequest: null,
    replicas: undefined,
    cache: undefined,
    bounds: undefined,
    blockingConnections: 0,
    enableAutoPipelining: false,
    enableOfflineQueue: true,
    himportFieldsets: undefined,
    reconnectOnError: null,
    scripts: undefined,
    lazyConnect: true,
  };
}
