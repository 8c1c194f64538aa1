/**
 * One real cluster of each kind (three masters, three replicas) for all tests of a process that leave it as they got it.
 * A start takes about four seconds: a new master does not serve for the first two, and a replica connects once a second.
 *
 * A returned cluster is lent again only if every node still has its roles, slots, settings, users and functions. Otherwise it
 * is stopped, and the next test that asks gets a new one.
 */

import { findServer, type ServerKind } from "../../scripts/servers/find-server";
import { ServerCluster } from "../../scripts/servers/server-cluster";
import type { ServerProcess } from "../../scripts/servers/server-process";

/** A cluster that a test uses or may use, with its state at the start. */
interface Shared {
  readonly kind: ServerKind;
  readonly state: string;
}

const idle = new Map<ServerKind, ServerCluster>();
const shared = new Map<ServerCluster, Shared>();
const REPLICATION_TIMEOUT_MS = 30_000;

/** The nodes as one of them sees them, without what changes all the time: times of pings, epochs, connections. */
async function viewOf(node: ServerProcess): Promise<unknown> {
  const lines = String(await node.command("CLUSTER", "NODES"))
    .trim()
    .split("\n");
  const view = lines.map((line) => {
    const [id, address, flags, master, , , , , ...slots] = line.split(" ");
    return [id, address, flags, master, ...slots].join(" ");
  });
  return view.sort();
}

async function stateOf({ nodes }: ServerCluster): Promise<string> {
  const states = nodes.map(async (node) => [
    await viewOf(node),
    await node.command("CONFIG", "GET", "*"),
    await node.command("ACL", "LIST"),
    await node.command("FUNCTION", "LIST"),
  ]);
  return JSON.stringify(await Promise.all(states));
}

/** Removes all keys, at the replicas as well, and all scripts. */
async function empty(cluster: ServerCluster): Promise<void> {
  const emptyOne = async (master: ServerProcess): Promise<void> => {
    await master.command("FLUSHALL");
    await master.command("SCRIPT", "FLUSH");
    await master.command("WAIT", 1, REPLICATION_TIMEOUT_MS);
  };
  await Promise.all((await cluster.masters()).map(emptyOne));
}

/** An empty cluster of this kind, for one user at a time. */
export async function borrowCluster(kind: ServerKind): Promise<ServerCluster> {
  const waiting = idle.get(kind);
  idle.delete(kind);
  if (waiting !== undefined) return waiting;
  const cluster = await ServerCluster.start({ binary: await findServer(kind) });
  shared.set(cluster, { kind, state: await stateOf(cluster) });
  return cluster;
}

/** Ends the use of a borrowed cluster. */
export async function returnCluster(cluster: ServerCluster): Promise<void> {
  const { kind, state } = shared.get(cluster) ?? {};
  // A node that does not run has no state.
  const isAsBefore = (await stateOf(cluster).catch(() => undefined)) === state;
  if (kind !== undefined && isAsBefore && !idle.has(kind)) {
    await empty(cluster);
    idle.set(kind, cluster);
    return;
  }
  shared.delete(cluster);
  await cluster.stop();
}

export async function stopSharedClusters(): Promise<void> {
  const clusters = [...shared.keys()];
  shared.clear();
  idle.clear();
  await Promise.all(clusters.map((cluster) => cluster.stop()));
}
