/** The surroundings of examples: a server, or what their line `// needs: cluster` names. */

import { join } from "node:path";
import { Certificates } from "../../scripts/servers/certificates";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerCluster } from "../../scripts/servers/server-cluster";
import { ServerProcess } from "../../scripts/servers/server-process";
import { ServerSentinels } from "../../scripts/servers/server-sentinels";
import { Workers } from "../../scripts/servers/workers";
import { serverKinds, sharedServer } from "../support/shared-servers";

export interface Surroundings {
  /** Variables of the environment that the example reads. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs an example that no Node runs; the text of its reply. */
  run?(path: string): Promise<string>;
  stop(): Promise<unknown>;
}

type Address = { host: string; port: number };

function listOf(addresses: readonly Address[]): string {
  return addresses.map(({ host, port }) => `${host}:${port}`).join(",");
}

async function server(kind: ServerKind): Promise<Surroundings> {
  const { url } = await sharedServer(kind);
  return { env: { REDIS_URL: url }, stop: () => Promise.resolve() };
}

async function cluster(kind: ServerKind): Promise<Surroundings> {
  const servers = await ServerCluster.start({ binary: await findServer(kind) });
  return { env: { CLUSTER_NODES: listOf(servers.seeds) }, stop: () => servers.stop() };
}

async function sentinel(kind: ServerKind): Promise<Surroundings> {
  const servers = await ServerSentinels.start({ binary: await findServer(kind) });
  const env = { SENTINELS: listOf(servers.addresses), GROUP_NAME: servers.groupName };
  return { env, stop: () => servers.stop() };
}

/** A primary with one replica. */
async function replicas(kind: ServerKind): Promise<Surroundings> {
  const binary = await findServer(kind);
  const primary = await ServerProcess.start({ binary });
  const replicaof = `${primary.host} ${primary.port}`;
  const replica = await ServerProcess.start({ binary, config: { replicaof } });
  const servers = [primary, replica];
  return {
    env: { REPLICA_NODES: listOf(servers) },
    stop: () => Promise.all(servers.map((one) => one.stop())),
  };
}

async function tls(kind: ServerKind): Promise<Surroundings> {
  const certificates = new Certificates();
  const servers = await ServerProcess.start({ binary: await findServer(kind), tls: certificates });
  const file = (name: string): string => join(certificates.directory, name);
  const files = { TLS_CA: file("authority.crt"), TLS_CERT: file("client.crt"), TLS_KEY: file("client.key") };
  return { env: { REDIS_URL: servers.url, ...files }, stop: () => servers.stop() };
}

async function workers(kind: ServerKind): Promise<Surroundings> {
  const { url } = await sharedServer(kind);
  const env = { REDIS_URL: url };
  const run = async (entry: string): Promise<string> => {
    const runtime = await Workers.start({ entry, env });
    try {
      return await (await runtime.fetch()).text();
    } finally {
      await runtime.stop();
    }
  };
  return { env, run, stop: () => Promise.resolve() };
}

const MAKERS: Readonly<Record<string, (kind: ServerKind) => Promise<Surroundings>>> = {
  server,
  cluster,
  sentinel,
  replicas,
  tls,
  workers,
};

/** The kind of server that examples run on. */
export function exampleKind(): ServerKind {
  const [first = ServerKind.Redis, ...others] = serverKinds();
  return [first, ...others].includes(ServerKind.Redis) ? ServerKind.Redis : first;
}

/** Starts what is needed; null if it cannot be had: the wheels have no TLS. */
export async function startSurroundings(need: string): Promise<Surroundings | null> {
  const maker = MAKERS[need];
  if (maker === undefined) throw new Error(`Nobody knows how to provide "${need}"`);
  const kind = exampleKind();
  if (need === "tls" && kind !== ServerKind.Redis) return null;
  return maker(kind);
}
