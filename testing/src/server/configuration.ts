/**
 * CONFIG: the parameters that tests and clients look at, with the servers' defaults. A parameter
 * that is not here is unknown to CONFIG GET (an empty answer) and an error to CONFIG SET.
 */

import { matchesGlob } from "../protocol/glob";
import { ErrorReply } from "../protocol/reply";
import { parseClasses, printClasses } from "./keyspace-events";
import type { ServerVersion } from "./version";

const DEFAULTS: Readonly<Record<string, string>> = {
  maxmemory: "0",
  "maxmemory-policy": "noeviction",
  "maxmemory-samples": "5",
  maxclients: "10000",
  timeout: "0",
  "tcp-keepalive": "300",
  databases: "16",
  save: "",
  appendonly: "no",
  appendfsync: "everysec",
  requirepass: "",
  "notify-keyspace-events": "",
  "list-max-listpack-size": "-2",
  "list-max-ziplist-size": "-2",
  "hash-max-listpack-entries": "512",
  "hash-max-listpack-value": "64",
  "hash-max-ziplist-entries": "512",
  "hash-max-ziplist-value": "64",
  "set-max-intset-entries": "512",
  "set-max-listpack-entries": "128",
  "set-max-listpack-value": "64",
  "zset-max-listpack-entries": "128",
  "zset-max-listpack-value": "64",
  "zset-max-ziplist-entries": "128",
  "zset-max-ziplist-value": "64",
  "slowlog-log-slower-than": "10000",
  "slowlog-max-len": "128",
  "latency-monitor-threshold": "0",
  "lua-time-limit": "5000",
  "busy-reply-threshold": "5000",
  "proto-max-bulk-len": "536870912",
  "client-query-buffer-limit": "1073741824",
  "stream-node-max-bytes": "4096",
  "stream-node-max-entries": "100",
  "lazyfree-lazy-user-del": "no",
  "replica-read-only": "yes",
  "cluster-enabled": "no",
  "acl-pubsub-default": "resetchannels",
  hz: "10",
  bind: "127.0.0.1",
  port: "0",
  dir: "/",
  loglevel: "notice",
};

/** Changed by version: Redis 7.0 has no listpack sets. */
const NOT_IN_7_0: ReadonlySet<string> = new Set(["set-max-listpack-entries", "set-max-listpack-value"]);
const NUMERIC = /^-?\d+$/;
const YES_OR_NO: ReadonlySet<string> = new Set(["yes", "no"]);
const READ_ONLY: ReadonlySet<string> = new Set(["databases", "cluster-enabled", "port"]);

const UNITS: Readonly<Record<string, number>> = {
  k: 1000,
  kb: 1024,
  m: 1000 ** 2,
  mb: 1024 ** 2,
  g: 1000 ** 3,
  gb: 1024 ** 3,
  b: 1,
};

export class Configuration {
  private values = new Map<string, string>();
  /** Letters of `notify-keyspace-events`, in the form the publisher asks for. */
  notifications = "";

  constructor(version: ServerVersion) {
    for (const [name, value] of Object.entries(DEFAULTS)) {
      if (version.isModern || !NOT_IN_7_0.has(name)) this.values.set(name, value);
    }
    if (version.name === "8.2") this.values.set("hash-max-listpack-entries", "512");
  }

  get(name: string): string {
    return this.values.get(name) ?? "";
  }

  number(name: string): number {
    return Number(this.get(name));
  }

  /** Names and values in turn. */
  matching(patterns: readonly string[]): string[] {
    const found: string[] = [];
    for (const [name, value] of this.values) {
      if (patterns.some((pattern) => matchesGlob(pattern.toLowerCase(), name, true))) found.push(name, value);
    }
    return found;
  }

  /** All or none. */
  set(pairs: readonly (readonly [string, string])[]): void {
    const seen = new Set<string>();
    const parsed = pairs.map(([word, value]) => {
      const name = word.toLowerCase();
      if (!this.values.has(name)) {
        throw new ErrorReply(`ERR Unknown option or number of arguments for CONFIG SET - '${word}'`);
      }
      if (seen.has(name)) throw failure(name, "duplicate parameter");
      seen.add(name);
      if (READ_ONLY.has(name)) throw failure(name, "can't set immutable config");
      return [name, this.parse(name, value)] as const;
    });
    for (const [name, value] of parsed) this.put(name, value);
  }

  /** For the test kit itself; checks nothing. */
  put(name: string, value: string): void {
    this.values.set(name, value);
    if (name === "notify-keyspace-events")
      this.notifications = value === "" ? "" : (parseClasses(value) ?? "");
  }

  entries(): Map<string, string> {
    return new Map(this.values);
  }

  restore(values: Map<string, string>): void {
    this.values = new Map(values);
    this.put("notify-keyspace-events", this.get("notify-keyspace-events"));
  }

  private parse(name: string, value: string): string {
    if (name === "notify-keyspace-events") {
      const letters = parseClasses(value);
      if (letters === null) throw failure(name, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
      return printClasses(letters);
    }
    const old = DEFAULTS[name] ?? "";
    if (YES_OR_NO.has(old) && !YES_OR_NO.has(value.toLowerCase())) {
      throw failure(name, "argument must be 'yes' or 'no'");
    }
    if (!NUMERIC.test(old)) return value;
    const unit = /^(\d+)([a-z]*)$/i.exec(value);
    const factor = unit?.[2] ? UNITS[unit[2].toLowerCase()] : 1;
    if (unit?.[2] && factor !== undefined) return String(Number(unit[1]) * factor);
    if (!NUMERIC.test(value)) throw failure(name, "argument couldn't be parsed into an integer");
    return value;
  }
}

function failure(name: string, text: string): ErrorReply {
  return new ErrorReply(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${text}`);
}
