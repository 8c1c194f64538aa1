/** Parses the servers that Sentinel reports, and chooses among replicas. Validates all input. */

import { isHost, parsePort } from "../util/address-checks";
import { MOST_SERVERS } from "../util/bounds";
import type { NodeAddress, PreferredReplica, PreferredReplicas, ReplicaEntry } from "./sentinel-options";

const UNUSABLE = /disconnected|s_down|o_down/;

/** An address from Sentinel, or null if it is invalid. */
export function readAddress(host: unknown, port: unknown): NodeAddress | null {
  const number = parsePort(port);
  return isHost(host) && number !== null ? { host, port: number } : null;
}

/** The entries of SENTINEL REPLICAS or SENTINELS: each a flat list of fields and values. */
export function readEntries(reply: unknown): ReplicaEntry[] {
  if (!Array.isArray(reply)) return [];
  const entries: ReplicaEntry[] = [];
  for (const fields of reply.slice(0, MOST_SERVERS)) {
    if (!Array.isArray(fields)) continue;
    const entry: Record<string, string> = Object.create(null);
    for (let index = 0; index + 1 < fields.length; index += 2) {
      entry[String(fields[index])] = String(fields[index + 1]);
    }
    if (readAddress(entry["ip"], entry["port"]) !== null) entries.push({ ...entry } as ReplicaEntry);
  }
  return entries;
}

export function isUsable(entry: ReplicaEntry): boolean {
  return entry.flags === undefined || !UNUSABLE.test(entry.flags);
}

/** The preferred replica; a random one without a preference; null without a replica. */
export function chooseReplica(
  replicas: ReplicaEntry[],
  preferred: PreferredReplicas | null | undefined,
): ReplicaEntry | null {
  if (replicas.length === 0) return null;
  const choice = typeof preferred === "function" ? preferred(replicas) : firstOf(replicas, preferred);
  return choice || (replicas[Math.floor(Math.random() * replicas.length)] as ReplicaEntry);
}

function firstOf(
  replicas: readonly ReplicaEntry[],
  preferred: PreferredReplica | readonly PreferredReplica[] | null | undefined,
): ReplicaEntry | undefined {
  const wishes = [preferred || []].flat() as PreferredReplica[];
  wishes.sort((a, b) => (a.prio ?? 1) - (b.prio ?? 1));
  return wishes
    .map(({ ip, port }) => replicas.find((replica) => replica.ip === ip && replica.port === String(port)))
    .find((replica) => replica !== undefined);
}
