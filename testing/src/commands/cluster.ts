/** CLUSTER: descriptions of nodes and slots, keys of slots, and manual changes. */

import type { ClusterNode } from "../cluster/cluster";
import { SLOTS, slotOf } from "../cluster/slots";
import { integerOf } from "../protocol/numbers";
import { ErrorReply, MapReply, OK, type ReplyValue, VerbatimReply } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import { at, word, wrongWords } from "./arguments";

const BUS_OFFSET = 10_000;

function nodeOf(caller: Caller): ClusterNode {
  const { cluster } = caller.engine;
  if (cluster === null) throw new ErrorReply("ERR This instance has cluster support disabled");
  return cluster as ClusterNode;
}

/** A handler that needs a cluster. */
function inCluster(run: (node: ClusterNode, args: readonly string[]) => ReplyValue): Handler {
  return (caller, args) => run(nodeOf(caller), args);
}

function slotFrom(text: string): number {
  const message = "ERR Invalid or out of range slot";
  const slot = integerOf(text, message);
  if (slot < 0 || slot >= SLOTS) throw new ErrorReply(message);
  return slot;
}

function nodeById({ cluster }: ClusterNode, id: string): ClusterNode {
  const found = cluster.nodes.find((node) => node.id === id.toLowerCase());
  if (found === undefined) throw new ErrorReply(`ERR Unknown node ${id}`);
  return found;
}

function flagsOf(node: ClusterNode, self: ClusterNode): string {
  const flags = node === self ? ["myself"] : [];
  flags.push(node.isReplica ? "slave" : "master");
  if (node.isDown) flags.push("fail");
  return flags.join(",");
}

/** A moving slot, as its source and its target report it. */
function migrationsOf(node: ClusterNode, self: ClusterNode): string[] {
  if (node !== self || node.isReplica) return [];
  const { cluster } = node;
  return [...cluster.migrations].flatMap(([slot, { from, to }]) => {
    if (from === node.shard) return [`[${slot}->-${cluster.masterOf(to)?.id}]`];
    return to === node.shard ? [`[${slot}-<-${cluster.masterOf(from)?.id}]`] : [];
  });
}

function nodeLine(node: ClusterNode, self: ClusterNode): string {
  const ranges = node.isReplica ? [] : node.cluster.rangesOf(node.shard);
  const words = [
    node.id,
    `${node.host}:${node.port}@${node.port + BUS_OFFSET}`,
    flagsOf(node, self),
    node.isReplica ? node.master.id : "-",
    0,
    node === self ? 0 : node.engine.clock.now,
    node.master.epoch,
    node.isDown ? "disconnected" : "connected",
    ...ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)),
    ...migrationsOf(node, self),
  ];
  return `${words.join(" ")}\n`;
}

function nodes(self: ClusterNode): ReplyValue {
  return new VerbatimReply(self.cluster.nodes.map((node) => nodeLine(node, self)).join(""));
}

function address(node: ClusterNode): ReplyValue {
  return [node.host, node.port, node.id, new MapReply([])];
}

function slots({ cluster }: ClusterNode): ReplyValue {
  const rows = cluster.masters.flatMap((master) =>
    cluster.rangesOf(master.shard).map(([first, last]) => ({ first, last, master })),
  );
  rows.sort((a, b) => a.first - b.first);
  return rows.map(({ first, last, master }) => [
    first,
    last,
    address(master),
    ...master.replicas.filter(({ isDown }) => !isDown).map(address),
  ]);
}

function shardNode(node: ClusterNode): ReplyValue {
  return new MapReply([
    "id",
    node.id,
    "port",
    node.port,
    "ip",
    node.host,
    "endpoint",
    node.host,
    "role",
    node.isReplica ? "replica" : "master",
    "replication-offset",
    0,
    "health",
    node.isDown ? "fail" : "online",
  ]);
}

function shards({ cluster }: ClusterNode): ReplyValue {
  return cluster.masters.map(
    (master) =>
      new MapReply([
        "slots",
        cluster.rangesOf(master.shard).flat(),
        "nodes",
        [master, ...master.replicas].map(shardNode),
      ]),
  );
}

function info({ cluster, epoch }: ClusterNode): ReplyValue {
  const assigned = cluster.masters.reduce(
    (sum, master) => sum + cluster.rangesOf(master.shard).reduce((size, [a, b]) => size + b - a + 1, 0),
    0,
  );
  const facts: readonly (readonly [string, string | number])[] = [
    ["state", assigned === SLOTS ? "ok" : "fail"],
    ["slots_assigned", assigned],
    ["slots_ok", assigned],
    ["slots_pfail", 0],
    ["slots_fail", 0],
    ["known_nodes", cluster.nodes.length],
    ["size", cluster.masters.length],
    ["current_epoch", cluster.epoch],
    ["my_epoch", epoch],
    ["stats_messages_sent", 0],
    ["stats_messages_received", 0],
    ["total_cluster_links_buffer_limit_exceeded", 0],
  ];
  const lines = facts.map(([name, value]) =>
    name.startsWith("total") ? `${name}:${value}\r\n` : `cluster_${name}:${value}\r\n`,
  );
  return new VerbatimReply(lines.join(""));
}

function setSlot(node: ClusterNode, args: readonly string[]): ReplyValue {
  if (node.isReplica) throw new ErrorReply("ERR You can use SETSLOT only with masters.");
  const { cluster } = node;
  const slot = slotFrom(at(args, 2));
  const action = word(args, 3);
  if (action === "STABLE" && args.length === 4) {
    cluster.migrations.delete(slot);
    return OK;
  }
  if (args.length !== 5)
    throw new ErrorReply("ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
  const other = nodeById(node, at(args, 4));
  const isOwner = cluster.shardOf(slot) === node.shard;
  if (action === "MIGRATING") {
    if (!isOwner) throw new ErrorReply(`ERR I'm not the owner of hash slot ${slot}`);
    cluster.beginMove(slot, other.shard);
  } else if (action === "IMPORTING") {
    if (isOwner) throw new ErrorReply(`ERR I'm already the owner of hash slot ${slot}`);
    cluster.beginMove(slot, node.shard);
  } else if (action === "NODE") {
    if (cluster.migrations.get(slot)?.to === other.shard) cluster.endMove(slot);
    else cluster.assign(slot, other.shard);
  } else throw new ErrorReply("ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
  return OK;
}

function failover(node: ClusterNode, args: readonly string[]): ReplyValue {
  const mode = word(args, 2);
  if (args.length > 3) throw new ErrorReply(wrongWords("CLUSTER", "failover"));
  if (args.length === 3 && mode !== "FORCE" && mode !== "TAKEOVER") throw new ErrorReply("ERR syntax error");
  if (!node.isReplica) throw new ErrorReply("ERR You should send CLUSTER FAILOVER to a replica");
  node.cluster.promote(node);
  return OK;
}

function replicas(self: ClusterNode, args: readonly string[]): ReplyValue {
  const master = nodeById(self, at(args, 2));
  if (master.isReplica) throw new ErrorReply("ERR The specified node is not a master");
  return master.replicas.map((node) => nodeLine(node, self).trimEnd());
}

export const clusterHandlers: Handlers = {
  "cluster|info": inCluster(info),
  "cluster|nodes": inCluster(nodes),
  "cluster|slots": inCluster(slots),
  "cluster|shards": inCluster(shards),
  "cluster|myid": inCluster(({ id }) => id),
  "cluster|myshardid": inCluster(({ shard }) => shard.id),
  "cluster|keyslot": inCluster((_node, args) => slotOf(at(args, 2))),
  "cluster|countkeysinslot": inCluster(
    ({ cluster, shard }, args) => cluster.keysIn(shard, slotFrom(at(args, 2))).length,
  ),
  "cluster|getkeysinslot": inCluster(({ cluster, shard }, args) => {
    const count = integerOf(at(args, 3), "ERR Invalid number of keys");
    if (count < 0) throw new ErrorReply("ERR Invalid number of keys");
    return cluster.keysIn(shard, slotFrom(at(args, 2))).slice(0, count);
  }),
  "cluster|replicas": inCluster(replicas),
  "cluster|slaves": inCluster(replicas),
  "cluster|setslot": inCluster(setSlot),
  "cluster|failover": inCluster(failover),
};
