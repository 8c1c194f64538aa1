/** All options with their kinds. The compiler compares the names with the types (test/unit/client/mistyped-options.test.ts). */

import { RETRY_POLICIES } from "../../command/command-extra";
import { OptionError } from "../../errors";
import { checkMerge } from "../merging";
import {
  ANY,
  atLeast,
  FUNCTION,
  type Kind,
  LIMIT,
  LIST,
  NUMBER,
  NUMERIC,
  oneOf,
  SWITCH,
  settings,
} from "./option-kinds";

type OptionRecord = Record<string, unknown>;

const BOUNDS = settings({ maxCommands: atLeast(1), maxBytes: atLeast(1), policy: oneOf("wait", "reject") });
const CACHE = settings(
  {
    maxBytes: atLeast(1),
    ttl: atLeast(1, "server"),
    maxStale: atLeast(1),
    match: ANY,
    mode: oneOf("optin", "all", "broadcast"),
    frozen: ANY,
  },
  [true, false],
  checkMatch,
);
const WINDOW = settings(
  {
    maxInFlight: atLeast(1, "adaptive"),
    maxCommands: atLeast(1),
    maxBytes: atLeast(1),
    coalesce: ANY,
    merge: { ...ANY, check: checkMerge },
  },
  [true, false, "adaptive"],
);

/** Options of both clients. */
const COMMON_OPTIONS = {
  autoPipeliningIgnoredCommands: ANY,
  availabilityZone: ANY,
  bounds: BOUNDS,
  cache: CACHE,
  enableAutoPipelining: WINDOW,
  enableOfflineQueue: SWITCH,
  enableReadyCheck: SWITCH,
  himportFieldsets: ANY,
  keyPrefix: ANY,
  lazyConnect: SWITCH,
  natMap: ANY,
  readYourWrites: atLeast(0),
  retryPolicy: oneOf(...RETRY_POLICIES),
  scaleReads: ANY,
  scripts: ANY,
  showFriendlyErrorStack: SWITCH,
  strictArguments: SWITCH,
} as const satisfies Record<string, Kind>;

/** Options of `Redis`, and of the nodes of a cluster. */
export const REDIS_OPTIONS = {
  ...COMMON_OPTIONS,
  Connector: FUNCTION,
  autoResendUnfulfilledCommands: SWITCH,
  autoResubscribe: SWITCH,
  blockingConnections: atLeast(0),
  blockingTimeout: NUMBER,
  blockingTimeoutGrace: NUMBER,
  clientInfoTag: ANY,
  commandQueue: ANY,
  commandTimeout: atLeast(0),
  connectTimeout: LIMIT,
  connectionName: ANY,
  credentials: FUNCTION,
  db: ANY,
  disableClientInfo: SWITCH,
  disconnectTimeout: NUMERIC,
  enableTLSForSentinelMode: SWITCH,
  failover: ANY,
  failoverDetector: ANY,
  family: NUMERIC,
  flushPolicy: oneOf("adaptive", "turn"),
  highWaterBytes: atLeast(1),
  host: ANY,
  keepAlive: NUMERIC,
  leases: settings({ max: atLeast(1), waitMs: atLeast(0), idleMs: atLeast(0) }),
  localAddress: ANY,
  maintenance: oneOf("auto", "on", false),
  maxLoadingRetryTime: NUMERIC,
  maxLossesPerCommand: atLeast(1),
  maxRetriesPerRequest: NUMBER,
  monitor: ANY,
  name: ANY,
  noDelay: SWITCH,
  offlineQueue: ANY,
  password: ANY,
  path: ANY,
  port: ANY,
  preferredSlaves: ANY,
  protocol: { ...oneOf(2, 3), parse: NUMERIC.parse },
  readOnly: SWITCH,
  reconnectOnError: FUNCTION,
  replicas: ANY,
  replyMapping: oneOf("legacy", "resp3"),
  retryStrategy: FUNCTION,
  role: ANY,
  sentinelCommandTimeout: atLeast(0),
  sentinelMaxConnections: NUMERIC,
  sentinelCredentials: FUNCTION,
  sentinelPassword: ANY,
  sentinelReconnectStrategy: FUNCTION,
  sentinelRetryStrategy: FUNCTION,
  sentinelTLS: ANY,
  sentinelUsername: ANY,
  sentinels: LIST,
  socketTimeout: atLeast(0),
  stringNumbers: SWITCH,
  tls: SWITCH,
  updateSentinels: SWITCH,
  username: ANY,
  watchdog: settings({ idleMs: atLeast(0), probeTimeoutMs: atLeast(1) }, [true, false]),
} as const satisfies Record<string, Kind>;

export const CLUSTER_OPTIONS = {
  ...COMMON_OPTIONS,
  clusterNodeRetryStrategy: FUNCTION,
  clusterRetryStrategy: FUNCTION,
  dnsLookup: FUNCTION,
  followCommandTips: SWITCH,
  maxRedirections: NUMERIC,
  redisOptions: ANY,
  resolveSrv: FUNCTION,
  retryDelayOnClusterDown: NUMERIC,
  retryDelayOnFailover: NUMERIC,
  retryDelayOnMoved: NUMERIC,
  retryDelayOnTryAgain: NUMERIC,
  shardedSubscribers: SWITCH,
  slotsRefreshInterval: NUMBER,
  slotsRefreshTimeout: atLeast(0),
  useSRVRecords: SWITCH,
} as const satisfies Record<string, Kind>;

export const NEEDS_RESP3 =
  'The option "cache" needs protocol 3, because the server reports changed keys as RESP3 push messages';

const BY_NAME: Readonly<Record<string, Kind>> = {
  __proto__: null as never,
  ...CLUSTER_OPTIONS,
  ...REDIS_OPTIONS,
};

/** Checks the options, and normalizes `keyPrefix` and `bounds`. Throws an `OptionError`. */
export function checkOptions(options: OptionRecord): void {
  if (options["keyPrefix"] === null) options["keyPrefix"] = "";
  if (typeof options["keyPrefix"] === "number") options["keyPrefix"] = String(options["keyPrefix"]);
  if (options["bounds"] === null) options["bounds"] = undefined;
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && value !== null) BY_NAME[name]?.check(name, value);
  }
}

export function parseOption(name: string, text: string): unknown {
  return (BY_NAME[name] ?? ANY).parse(name, text);
}

function checkMatch(name: string, value: unknown): void {
  const { match, mode } = value as OptionRecord;
  if (match === undefined) return;
  const isList = Array.isArray(match) && match.every((one) => typeof one === "string");
  // With "broadcast" the server needs the prefixes, so a function is not possible.
  if (isList || (typeof match === "function" && mode !== "broadcast")) return;
  const expected = mode === "broadcast" ? "prefixes of keys" : "prefixes of keys, or a function";
  throw new OptionError(`Invalid option ${name}.match: expected ${expected}`);
}
