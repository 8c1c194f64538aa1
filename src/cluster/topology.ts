/**
 * Parses a node's description of the whole cluster: CLUSTER SLOTS and CLUSTER SHARDS. The reply comes from the
 * wire: invalid entries are skipped, and all counts are bounded. Data that a node lacks about itself is
 * completed from the address that was asked.
 */

import { isIP } from "node:net";
import { SLOT_COUNT } from "../command/slot";
import type { Reply } from "../protocol/resp-types";
import { isHost, parsePort, parseWhole } from "../util/address-checks";
import { MOST_SERVERS } from "../util/bounds";
import { TopologyError } from "./cluster-errors";
import { hostOr, type NodeAddress } from "./node-address";

export interface TopologyRange {
  readonly from: number;
  readonly to: number;
  readonly master: NodeAddress;
  readonly replicas: readonly NodeAddress[];
}

type Fields = ReadonlyMap<string, Reply>;

/** The most addresses of one reply that are read: one range for each slot, with 15 replicas each. */
const MAX_ADDRESSES = 16 * SLOT_COUNT;

/** Parses CLUSTER SLOTS: `[[from, to, [host, port, id, [name, value, …]], replica, …], …]`. */
export function parseSlots(reply: Reply, sender: NodeAddress): TopologyRange[] {
  const ranges: TopologyRange[] = [];
  let count = 0;
  for (const entry of listOf(reply, "SLOTS")) {
    if (!Array.isArray(entry)) continue;
    const slots = readRange(entry[0], entry[1]);
    const master = readSlotsNode(entry[2], sender);
    if (slots === null || master === null) continue;
    const replicas = entry.slice(3, 3 + MOST_SERVERS).map((node: Reply) => readSlotsNode(node, sender));
    ranges.push({ ...slots, master, replicas: replicas.filter((node) => node !== null) });
    count += 1 + replicas.length;
    if (count >= MAX_ADDRESSES) break;
  }
  return notEmpty(ranges, sender);
}

/**
 * Parses CLUSTER SHARDS: `[{ slots: [from, to, …], nodes: [{ ip, port, role, health, … }, …] }, …]`.
 * @param usesTls Chooses between the ports of a node that has two.
 */
export function parseShards(reply: Reply, sender: NodeAddress, usesTls: boolean): TopologyRange[] {
  const ranges: TopologyRange[] = [];
  for (const entry of listOf(reply, "SHARDS")) {
    const shard = fieldsOf(entry);
    const slots = shard.get("slots");
    const nodes = shard.get("nodes");
    if (!Array.isArray(slots) || !Array.isArray(nodes)) continue;
    const members = nodes.slice(0, MOST_SERVERS).map(fieldsOf);
    const master = chooseMaster(members);
    const masterAddress = master === undefined ? null : readShardsNode(master, sender, usesTls);
    if (masterAddress === null) continue;
    const replicas = members
      .filter((node) => node !== master && node.get("health") === "online")
      .map((node) => readShardsNode(node, sender, usesTls))
      .filter((node) => node !== null);
    for (let index = 0; index + 1 < slots.length; index += 2) {
      const range = readRange(slots[index], slots[index + 1]);
      if (range !== null) ranges.push({ ...range, master: masterAddress, replicas });
    }
  }
  return notEmpty(ranges, sender);
}

/**
 * Whether CLUSTER SHARDS lacks slots that are served. Redis 7.2 and 7.4 list a shard without its slots while its failed
 * master precedes the replica that was promoted.
 */
export function hidesSlots(reply: Reply): boolean {
  return listOf(reply, "SHARDS").some((entry) => {
    const shard = fieldsOf(entry);
    const slots = shard.get("slots");
    const nodes = shard.get("nodes");
    if (!Array.isArray(slots) || slots.length > 0 || !Array.isArray(nodes)) return false;
    return nodes.slice(0, MOST_SERVERS).map(fieldsOf).filter(isMaster).length > 1;
  });
}

function isMaster(node: Fields): boolean {
  return node.get("role") === "master";
}

/** Newer servers list a master that has failed beside the replica that was promoted in its place. */
function chooseMaster(members: readonly Fields[]): Fields | undefined {
  const masters = members.filter(isMaster);
  return masters.find((node) => node.get("health") === "online") ?? masters[0];
}

function listOf(reply: Reply, what: string): readonly Reply[] {
  if (!Array.isArray(reply)) throw new TopologyError(`The reply of CLUSTER ${what} is not a list`);
  // There cannot be more ranges than slots.
  return reply.slice(0, SLOT_COUNT);
}

function notEmpty(ranges: TopologyRange[], sender: NodeAddress): TopologyRange[] {
  if (ranges.length > 0) return ranges;
  throw new TopologyError(
    `${sender.host}:${sender.port} reports no served slots. Assign slots to the nodes, or check the start nodes`,
  );
}

function readRange(from: Reply, to: Reply): { from: number; to: number } | null {
  const first = parseWhole(from);
  const last = parseWhole(to);
  if (first === null || last === null) return null;
  return first <= last && last < SLOT_COUNT ? { from: first, to: last } : null;
}

/**
 * `[endpoint, port, id, ["ip", "10.0.0.1", "hostname", "a.example"]]`; older servers omit all fields after the
 * id.
 */
function readSlotsNode(node: Reply, sender: NodeAddress): NodeAddress | null {
  if (!Array.isArray(node)) return null;
  const details = fieldsOf(node[3]);
  return addressOf(hostOr(node[0], sender), parsePort(node[1]), details);
}

function readShardsNode(node: Fields, sender: NodeAddress, usesTls: boolean): NodeAddress | null {
  const ports = [node.get("tls-port"), node.get("port")];
  const port = parsePort((usesTls ? ports[0] : ports[1]) ?? ports[0] ?? ports[1]);
  return addressOf(hostOr(node.get("endpoint"), sender), port, node);
}

/** @param named The host by the name that the server prefers; null if that name is invalid. */
function addressOf(named: string | null, port: number | null, details: Fields): NodeAddress | null {
  const host = named ?? textOf(details.get("ip"));
  if (port === null || host === null) return null;
  const zone = textOf(details.get("availability-zone")) ?? undefined;
  return { host, port, serverName: nameOf(details.get("hostname")), zone };
}

function textOf(value: Reply): string | null {
  return isHost(value) ? value : null;
}

/** A TLS server name; an address cannot be one (RFC 6066). */
function nameOf(value: Reply): string | undefined {
  return isHost(value) && isIP(value) === 0 ? value : undefined;
}

/** A map arrives as an object or as a flat list. */
function fieldsOf(value: Reply): Fields {
  if (typeof value !== "object" || value === null) return new Map();
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const fields = new Map<string, Reply>();
  for (let index = 0; index + 1 < value.length; index += 2) {
    fields.set(String(value[index]), value[index + 1]);
  }
  return fields;
}
