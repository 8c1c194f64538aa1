/** The text of INFO: the fields that clients and tools read. Metrics that a test server does not have are 0. */

import type { ServerEngine } from "./model";

type Fact = readonly [string, string | number];
type Section = (engine: ServerEngine) => readonly Fact[];

function serverFacts(engine: ServerEngine): readonly Fact[] {
  const { version, clock, startedAt, runId, port } = engine;
  const uptime = Math.floor((clock.now - startedAt) / 1000);
  const names: Fact[] = [["redis_version", version.redisVersion]];
  if (version.product === "valkey")
    names.push(["server_name", "valkey"], ["valkey_version", version.serverVersion]);
  names.push(["redis_mode", engine.cluster === null ? "standalone" : "cluster"]);
  names.push(["os", "TestServer"], ["arch_bits", 64], ["process_id", process.pid], ["run_id", runId]);
  names.push(
    ["tcp_port", port],
    ["uptime_in_seconds", uptime],
    ["uptime_in_days", Math.floor(uptime / 86_400)],
  );
  return names;
}

function replicationFacts(engine: ServerEngine): readonly Fact[] {
  return [
    ["role", engine.cluster?.isReplica ? "slave" : "master"],
    ["connected_slaves", engine.cluster?.replicaCount ?? 0],
    ["master_failover_state", "no-failover"],
    ["master_replid", engine.runId],
    ["master_repl_offset", 0],
  ];
}

function keyspaceFacts(engine: ServerEngine): readonly Fact[] {
  return engine.allDatabases
    .filter(({ size }) => size > 0)
    .map((database) => {
      const expires = database.expiringCount;
      return [`db${database.index}`, `keys=${database.size},expires=${expires},avg_ttl=0`];
    });
}

function commandFacts(engine: ServerEngine): readonly Fact[] {
  return [...engine.callCounts].map(([{ name }, { calls, failed, rejected }]) => [
    `cmdstat_${name}`,
    `calls=${calls},usec=0,usec_per_call=0.00,rejected_calls=${rejected},failed_calls=${failed}`,
  ]);
}

const SECTIONS: Readonly<Record<string, Section>> = {
  Server: serverFacts,
  Clients: (engine) => [
    ["connected_clients", engine.sessions.size],
    ["maxclients", engine.configuration.get("maxclients")],
    ["blocked_clients", engine.blocking.size],
    ["tracking_clients", 0],
  ],
  Memory: (engine) => [
    ["used_memory", 1_000_000],
    ["used_memory_human", "976.56K"],
    ["used_memory_peak", 1_000_000],
    ["maxmemory", engine.configuration.get("maxmemory")],
    ["maxmemory_policy", engine.configuration.get("maxmemory-policy")],
  ],
  Persistence: () => [
    ["loading", 0],
    ["rdb_changes_since_last_save", 0],
    ["rdb_bgsave_in_progress", 0],
    ["aof_enabled", 0],
  ],
  Stats: (engine) => [
    ["total_connections_received", engine.connectionCount],
    ["total_commands_processed", engine.commandCount],
    ["pubsub_channels", engine.pubsub.channels.size],
    ["pubsub_patterns", engine.pubsub.patterns.size],
  ],
  Replication: replicationFacts,
  CPU: () => [["used_cpu_sys", "0.000000"]],
  Modules: () => [],
  Commandstats: commandFacts,
  Errorstats: () => [],
  Cluster: (engine) => [["cluster_enabled", engine.cluster === null ? 0 : 1]],
  Keyspace: keyspaceFacts,
};
const EVERYTHING: ReadonlySet<string> = new Set(["all", "everything"]);
/** Only where they are asked for. */
const NOT_BY_DEFAULT: ReadonlySet<string> = new Set(["commandstats"]);

export function infoText(engine: ServerEngine, wanted: readonly string[]): string {
  const words = wanted.map((word) => word.toLowerCase());
  const hasAll = words.some((word) => EVERYTHING.has(word));
  const hasDefault = words.length === 0 || words.includes("default");
  const parts: string[] = [];
  for (const [name, section] of Object.entries(SECTIONS)) {
    const word = name.toLowerCase();
    if (!hasAll && !words.includes(word) && (!hasDefault || NOT_BY_DEFAULT.has(word))) continue;
    const lines = section(engine).map(([key, value]) => `${key}:${value}\r\n`);
    parts.push(`# ${name}\r\n${lines.join("")}`);
  }
  return parts.join("\r\n");
}
