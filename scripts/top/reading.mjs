/** Reads the metrics of a server, and computes its work between two readings. */

import { performance } from "node:perf_hooks";

const SLOW_CALLS = 5;
const BUSY_COMMANDS = 6;

/**
 * Reads the server once. Parts for which the user has no permission are null.
 * @param {import("sluice").Redis} redis
 */
export async function readServer(redis) {
  const rows = await redis
    .pipeline()
    .info()
    .info("commandstats")
    .slowlog("GET", SLOW_CALLS)
    .call("LATENCY", "LATEST")
    .exec();
  const [info, commands, slow, latency] = rows.map(([error, reply]) => (error === null ? reply : null));
  if (info === null) throw rows[0][0];
  return {
    atMs: performance.now(),
    info: parseInfo(info),
    commands: commands === null ? null : parseInfo(commands),
    slow: slow === null ? null : slow.map(readSlowCall),
    latency:
      latency === null ? null : latency.map(([event, at, lastMs, mostMs]) => ({ event, at, lastMs, mostMs })),
  };
}

/** Lines `name:value`. */
function parseInfo(text) {
  const fields = new Map();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0 && !line.startsWith("#")) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}

/** Keeps the name of the command and the number of its arguments, because the arguments may be values. */
function readSlowCall([, at, micros, words]) {
  const [name = "?"] = words;
  return {
    at,
    ms: micros / 1000,
    name: /^[\w.|-]{1,40}$/.test(name) ? name.toUpperCase() : "?",
    count: words.length - 1,
  };
}

/** Computes the work per second between two readings. */
export function figuresBetween(before, now) {
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1000);
  const grown = (name) => Math.max(0, numberOf(now.info, name) - numberOf(before.info, name));
  const commands = grown("total_commands_processed");
  const reads = grown("total_reads_processed");
  return {
    version: now.info.get("valkey_version") ?? now.info.get("redis_version") ?? "?",
    role: now.info.get("role") ?? "?",
    perSecond: commands / seconds,
    /** Commands in one read of the server, which shows how well its clients pipeline. Null before Redis 6. */
    perRead: now.info.has("total_reads_processed") && reads > 0 ? commands / reads : null,
    bytesIn: grown("total_net_input_bytes") / seconds,
    bytesOut: grown("total_net_output_bytes") / seconds,
    cpu: (grown("used_cpu_sys") + grown("used_cpu_user")) / seconds,
    clients: numberOf(now.info, "connected_clients"),
    blocked: numberOf(now.info, "blocked_clients"),
    largestInput: numberOf(now.info, "client_recent_max_input_buffer"),
    largestOutput: numberOf(now.info, "client_recent_max_output_buffer"),
    memory: numberOf(now.info, "used_memory"),
    evicted: grown("evicted_keys") / seconds,
    busiest:
      before.commands === null || now.commands === null
        ? null
        : busiest(before.commands, now.commands, seconds),
    slow: now.slow,
    latency: now.latency,
  };
}

/** Sorts commands by their share of a core. */
function busiest(before, now, seconds) {
  const found = [];
  for (const [key, value] of now) {
    const [calls, micros] = callsOf(value);
    const [callsBefore, microsBefore] = callsOf(before.get(key) ?? "");
    if (calls <= callsBefore) continue;
    found.push({
      name: key.replace(/^cmdstat_/, "").toUpperCase(),
      perSecond: (calls - callsBefore) / seconds,
      share: (micros - microsBefore) / 1e6 / seconds,
      microsEach: (micros - microsBefore) / (calls - callsBefore),
    });
  }
  return found.sort((one, other) => other.share - one.share).slice(0, BUSY_COMMANDS);
}

function callsOf(text) {
  const [, calls = 0, micros = 0] = /^calls=(\d+),usec=(\d+)/.exec(text) ?? [];
  return [Number(calls), Number(micros)];
}

function numberOf(fields, name) {
  return Number(fields.get(name) ?? 0);
}
