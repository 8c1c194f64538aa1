/**
 * Warns about option names that have no effect: misspelled ones, names of other clients, and options of a node that
 * are given to a cluster. Other unknown names are ignored, because programs keep their own values among the options.
 */

import { CLUSTER_OPTIONS, REDIS_OPTIONS } from "./option-table";
import { warnOnce } from "./option-warnings";

type Known = keyof typeof REDIS_OPTIONS | keyof typeof CLUSTER_OPTIONS;

const KNOWN: ReadonlySet<string> = new Set([...Object.keys(REDIS_OPTIONS), ...Object.keys(CLUSTER_OPTIONS)]);

/** The option of this client for a name of node-redis, its predecessors, or Valkey GLIDE. */
const ELSEWHERE: Readonly<Record<string, Known>> = {
  __proto__: null as never,
  RESP: "protocol",
  auth_pass: "password",
  clientAz: "availabilityZone",
  clientName: "connectionName",
  clientSideCache: "cache",
  commandOptions: "commandTimeout",
  commandsQueueMaxLength: "bounds",
  connectionBackoff: "retryStrategy",
  credentialsProvider: "credentials",
  database: "db",
  databaseId: "db",
  defaults: "redisOptions",
  disableOfflineQueue: "enableOfflineQueue",
  inflightRequestsLimit: "bounds",
  isolationPoolOptions: "leases",
  keepAliveInitialDelay: "keepAlive",
  maintNotifications: "maintenance",
  maxCommandRedirections: "maxRedirections",
  maxRetries: "maxRetriesPerRequest",
  max_attempts: "retryStrategy",
  nodeAddressMap: "natMap",
  pass: "password",
  pingInterval: "watchdog",
  prefix: "keyPrefix",
  readFrom: "scaleReads",
  reconnectStrategy: "retryStrategy",
  requestTimeout: "commandTimeout",
  sentinelRootNodes: "sentinels",
  ssl: "tls",
  timeout: "commandTimeout",
  tlsOptions: "tls",
  useReplicas: "scaleReads",
  useTLS: "tls",
  user: "username",
};

const CODE = "SLUICE_UNKNOWN_OPTION";
const MEANS_HOST = '"host" is probably meant';
const ADDRESS = /^(?:redis|rediss|valkey|valkeys|unix):/i;

/** Shorter options resemble too many other names, unless only letter case differs. */
const SHORTEST = 8;
/** One letter in this many may differ. */
const LETTERS_FOR_A_MISTAKE = 6;

/** A cluster client also reads these beside `redisOptions`. */
export const LIMITS_OF_CLUSTERS = new Set(["commandTimeout", "blockingTimeout", "blockingTimeoutGrace"]);

/** Options of a client of one server, or of the nodes of a cluster. */
export function warnAboutRedisOptions(options: object): void {
  warnAboutNames(options, (name) => KNOWN.has(name));
  const { sentinels } = options as { sentinels?: unknown };
  if (Array.isArray(sentinels)) for (const sentinel of sentinels) warnAboutAddress(Object(sentinel));
}

/** A startup node, or the address of a Sentinel. Without a host, a name that resembles it is a mistake. */
export function warnAboutAddress(address: Readonly<Record<string, unknown>>): void {
  if (address["host"] || address["path"]) return;
  for (const name of Object.keys(address)) {
    if (!KNOWN.has(name) && distance(name.toLowerCase(), "host", 1) <= 1) warnAboutName(name, MEANS_HOST);
  }
}

export function warnAboutClusterOptions(options: object): void {
  warnAboutNames(options, (name) => Object.hasOwn(CLUSTER_OPTIONS, name) || LIMITS_OF_CLUSTERS.has(name));
}

function warnAboutNames(options: object, isKnown: (name: string) => boolean): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || isKnown(name)) continue;
    if (KNOWN.has(name)) {
      warnOnce(CODE, name, "has no effect as an option of Cluster; set it in redisOptions");
      continue;
    }
    const advice = adviceOn(name, value, options);
    if (advice !== undefined) warnAboutName(name, advice);
  }
}

function warnAboutName(name: string, advice: string): void {
  warnOnce(CODE, name, `is unknown and has no effect; ${advice}`);
}

function adviceOn(name: string, value: unknown, options: object): string | undefined {
  if (name === "url" || name === "connectionString") return adviceOnUrl(value, options);
  if (name === "hostname") return hasAddress(options) ? undefined : MEANS_HOST;
  if (name === "socket") return adviceOnSocket(value);
  if (name === "rootNodes" && Array.isArray(value))
    return "the nodes are the first argument of new Cluster()";
  const meant = ELSEWHERE[name] ?? meantBy(name);
  return meant === undefined ? undefined : `"${meant}" is probably meant`;
}

/** Programs that also pass the parts of a URL may keep the URL itself for their own use. */
function adviceOnUrl(url: unknown, options: object): string | undefined {
  if (typeof url !== "string" || !ADDRESS.test(url) || hasAddress(options)) return undefined;
  return "pass the URL itself: new Redis(url, options), new Cluster([url], options)";
}

function hasAddress(options: object): boolean {
  const { host, path, sentinels } = options as Record<string, unknown>;
  return Boolean(host || path || sentinels);
}

/** node-redis takes the address and the TLS settings as an object. */
function adviceOnSocket(socket: unknown): string | undefined {
  if (typeof socket !== "object" || socket === null) return undefined;
  const isOption = (name: string): boolean => KNOWN.has(name) || name === "reconnectStrategy";
  if (!Object.keys(socket).some(isOption)) return undefined;
  return "set host, port, path, tls, connectTimeout and retryStrategy beside the other options";
}

export function meantBy(name: string): string | undefined {
  if (KNOWN.has(name)) return undefined;
  const sought = bare(name);
  for (const candidate of KNOWN) {
    const most = candidate.length < SHORTEST ? 0 : Math.floor(candidate.length / LETTERS_FOR_A_MISTAKE);
    if (distance(sought, bare(candidate), most) <= most) return candidate;
  }
  return undefined;
}

/** The most frequent mistakes are letter case and a leading "enable". */
function bare(name: string): string {
  return name.toLowerCase().replace(/^enable/, "");
}

/** The edit distance of two words, or more than `most`. */
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
