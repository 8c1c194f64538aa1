/**
 * Warns of option names that are most likely mistyped, and of one that has left, once for each name in a process.
 * Names that are unlike all options pass without a word: programs keep things of their own among the options, as the
 * API lets them. Nothing is changed, and nothing is refused.
 */

/** A name shorter than this is like too many others. */
const SHORTEST = 8;
/** From this length on two letters may be wrong. */
const LONG = 12;
/** Programs with names that are made up must not fill the memory. */
const MOST_NAMES = 100;

/** All options of the clients; a test compares them with docs/options.md. */
const KNOWN: ReadonlySet<string> = new Set(
  (
    "Connector autoPipeliningIgnoredCommands autoResendUnfulfilledCommands autoResubscribe " +
    "availabilityZone blockingConnections blockingTimeout blockingTimeoutGrace bounds cache " +
    "clientInfoTag clusterNodeRetryStrategy clusterRetryStrategy commandTimeout connectTimeout " +
    "connectionName credentials db disableClientInfo disconnectTimeout dnsLookup " +
    "enableAutoPipelining enableOfflineQueue enableReadyCheck enableTLSForSentinelMode failoverDetector " +
    "family flushPolicy followCommandTips highWaterBytes himportFieldsets host keepAlive keyPrefix " +
    "lazyConnect maxLoadingRetryTime maxLossesPerCommand maxRedirections maxRetriesPerRequest monitor " +
    "name natMap noDelay password path port preferredSlaves protocol readOnly reconnectOnError " +
    "redisOptions replyMapping resolveSrv retryDelayOnClusterDown retryDelayOnFailover retryDelayOnMoved " +
    "retryDelayOnTryAgain retryPolicy retryStrategy role scaleReads scripts sentinelCommandTimeout " +
    "sentinelMaxConnections sentinelPassword sentinelReconnectStrategy sentinelRetryStrategy sentinelTLS " +
    "sentinelUsername sentinels shardedSubscribers showFriendlyErrorStack slotsRefreshInterval " +
    "slotsRefreshTimeout socketTimeout strictArguments stringNumbers tls updateSentinels useSRVRecords " +
    "username watchdog"
  ).split(" "),
);

const told = new Set<string>();

export function tellOfMistypedOptions(options: object): void {
  for (const name of Object.keys(options)) {
    if (KNOWN.has(name) || told.has(name) || told.size >= MOST_NAMES) continue;
    const advice = adviceOn(name, (options as Record<string, unknown>)[name]);
    if (advice === undefined) continue;
    told.add(name);
    process.emitWarning(`The option "${name}" is unknown and has no effect; ${advice}`, {
      type: "SluiceWarning",
      code: "SLUICE_UNKNOWN_OPTION",
    });
  }
}

function adviceOn(name: string, value: unknown): string | undefined {
  if (name === "connections" && dividesConnections(value))
    return "send large values over a second client: redis.duplicate()";
  const meant = meantBy(name);
  return meant === undefined ? undefined : `"${meant}" is probably meant`;
}

/** The option that divided commands among several connections in trial versions; see decision 0015. */
function dividesConnections(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("lanes" in value || "bulk" in value);
}

/** The option that a name which is none most likely stands for. */
export function meantBy(name: string): string | undefined {
  if (KNOWN.has(name) || name.length < SHORTEST) return undefined;
  const sought = bare(name);
  const most = name.length < LONG ? 1 : 2;
  for (const candidate of KNOWN) {
    if (candidate.length >= SHORTEST && distance(sought, bare(candidate), most) <= most) return candidate;
  }
  return undefined;
}

/** Letter case and "enable" in front are what people get wrong most. */
function bare(name: string): string {
  return name.toLowerCase().replace(/^enable/, "");
}

/** The number of letters to be added, left out or changed to make one word of the other; more than `most` is not counted. */
function distance(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
