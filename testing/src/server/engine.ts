/**
 * A server without sockets: its databases, clock, configuration, users and clients, and the way of
 * a command from its words to its reply. Connections and scripts run their commands here.
 */

import { FaultSwitches } from "../faults/fault-switches";
import { Clock } from "../keyspace/clock";
import { Database, type DatabaseListener, type EventClass } from "../keyspace/database";
import { Randomness } from "../keyspace/randomness";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import { Acl } from "./acl";
import { EngineAlarm } from "./alarm";
import { Blocking } from "./blocking";
import { keysOf } from "./command-keys";
import { commandTable } from "./command-table";
import { Configuration } from "./configuration";
import { Flag } from "./flags";
import { publishEvent } from "./keyspace-events";
import type {
  CallCount,
  Caller,
  ClientSession,
  ClusterPlace,
  CommandEntry,
  CommandTable,
  ScriptHost,
  ServerEngine,
} from "./model";
import { PubSub } from "./pubsub";
import { Tracking } from "./tracking";
import type { ServerVersion } from "./version";

const DATABASES = 16;
const MAX_SHOWN_ARGUMENT = 128;

/** The state that the nodes of a cluster share. */
export interface EngineParts {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly faults: FaultSwitches;
  /** Of the node's shard. */
  readonly databases?: readonly Database[];
}

export class Engine implements ServerEngine, DatabaseListener {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly configuration: Configuration;
  readonly acl: Acl;
  readonly pubsub: PubSub;
  readonly blocking: Blocking;
  readonly tracking: Tracking;
  readonly faults: FaultSwitches;
  readonly alarm: EngineAlarm;
  readonly commands: CommandTable;
  readonly sessions = new Map<number, ClientSession>();
  readonly monitors = new Set<ClientSession>();
  readonly startedAt: number;
  readonly runId: string;
  /** Its place in a cluster, null outside of one. */
  cluster: ClusterPlace | null = null;
  /** Commands run since the start. */
  commandCount = 0;
  /** Of each command that has run. */
  readonly callCounts = new Map<CommandEntry, CallCount>();
  connectionCount = 0;
  /** Commands wait until then (CLIENT PAUSE); all, or those that write. */
  pause: { readonly until: number; readonly onlyWrites: boolean } | null = null;
  private readonly databases: readonly Database[];
  private nextSessionId = 1;
  private scriptHost: ScriptHost | null = null;

  constructor(
    readonly version: ServerVersion,
    parts: Partial<EngineParts> = {},
  ) {
    this.clock = parts.clock ?? new Clock();
    this.random = parts.random ?? new Randomness();
    this.faults = parts.faults ?? new FaultSwitches();
    this.databases =
      parts.databases ??
      Array.from({ length: DATABASES }, (_, index) => new Database(index, this.clock, this));
    this.configuration = new Configuration(version);
    this.acl = new Acl(
      (name) => this.knows(name),
      version.name === "8.2" ? "sanitize-payload" : "",
      version.product === "redis",
      version.isModern,
    );
    this.pubsub = new PubSub();
    this.blocking = new Blocking(this.clock);
    this.tracking = new Tracking(this.sessions);
    this.alarm = new EngineAlarm(this);
    this.commands = commandTable(version);
    this.startedAt = this.clock.now;
    this.runId = this.random.hex(40);
  }

  /** 0 if it listens on none. */
  get port(): number {
    return this.configuration.number("port");
  }

  set port(port: number) {
    this.configuration.put("port", String(port));
  }

  get allDatabases(): readonly Database[] {
    return this.databases;
  }

  database(index: number): Database {
    return this.databases[index] as Database;
  }

  /** Loaded when the first script comes. */
  get scripting(): ScriptHost {
    if (this.scriptHost === null) {
      const { Scripting } = require("../scripting/scripting") as typeof import("../scripting/scripting");
      this.scriptHost = new Scripting(this.version.product === "valkey");
    }
    return this.scriptHost;
  }

  /** Releases the resources of scripts. */
  close(): void {
    this.scriptHost?.close();
  }

  takeSessionId(): number {
    return this.nextSessionId++;
  }

  /** Advances the time and expires keys; called once for each received batch of bytes. */
  tick(): void {
    const now = this.clock.tick();
    for (const database of this.databases) if (database.nextExpiry <= now) database.expireDue();
    if (this.pause !== null && this.pause.until <= now) this.pause = null;
  }

  /** Finds the command and checks the number of its arguments. */
  lookup(args: readonly string[]): CommandEntry {
    const word = args[0] as string;
    const entry = this.commands.get(word) ?? this.commands.get(word.toLowerCase());
    if (entry === undefined) throw new ErrorReply(this.unknownCommand(args));
    const found = entry.subcommands === null ? entry : this.subcommandOf(entry, args);
    const { arity } = found;
    if (arity > 0 ? args.length !== arity : args.length < -arity) {
      throw new ErrorReply(`ERR wrong number of arguments for '${found.name}' command`);
    }
    return found;
  }

  /** Runs a command that was looked up and admitted. An error is a reply like any other. */
  call(caller: Caller, entry: CommandEntry, args: readonly string[]): ReplyValue {
    this.commandCount++;
    const count = this.countOf(entry);
    count.calls++;
    if (this.monitors.size > 0) this.feedMonitors(caller, entry, args);
    let reply: ReplyValue;
    try {
      if (entry.run === null) return new ErrorReply(notSupported(entry, this.version));
      reply = entry.run(caller, args);
    } catch (error) {
      count.failed++;
      return error instanceof ErrorReply ? error : defectOf(entry, error as Error);
    }
    if (reply instanceof ErrorReply) count.failed++;
    const { session } = caller;
    if (session?.trackingMode && (entry.flags & Flag.Readonly) !== 0)
      this.tracking.remember(session, keysOf(entry, args));
    return reply;
  }

  /** CONFIG RESETSTAT. */
  resetCounts(): void {
    this.commandCount = 0;
    this.callCounts.clear();
  }

  countOf(entry: CommandEntry): CallCount {
    let count = this.callCounts.get(entry);
    if (count === undefined) {
      count = { calls: 0, failed: 0, rejected: 0 };
      this.callCounts.set(entry, count);
    }
    return count;
  }

  onModified(database: Database, key: string): void {
    if (this.blocking.size > 0) this.blocking.signal(database, key);
    if (this.watchCount > 0) this.markWatchers(database, key);
    if (this.tracking.isActive) this.tracking.invalidate(key);
  }

  onEvent(
    database: Database,
    key: string,
    event: { readonly kind: EventClass; readonly name: string },
  ): void {
    const flags = this.configuration.notifications;
    if (flags !== "") publishEvent(this.pubsub, flags, { database: database.index, key, ...event });
  }

  onFlush(database: Database): void {
    if (this.watchCount > 0) {
      for (const session of this.sessions.values()) session.watched?.markFlushed(database);
    }
    if (this.tracking.isActive) this.tracking.invalidateAll();
  }

  onSwap(one: Database, other: Database): void {
    for (const session of this.sessions.values()) session.watched?.markSwapped(one, other);
    if (this.tracking.isActive) this.tracking.invalidateAll();
  }

  /** Sessions that watch something. */
  watchCount = 0;

  private knows(name: string): boolean {
    const [parent = "", child] = name.split("|");
    const entry = this.commands.get(parent);
    return entry !== undefined && (child === undefined || entry.subcommands?.get(child) !== undefined);
  }

  private markWatchers(database: Database, key: string): void {
    for (const session of this.sessions.values()) session.watched?.mark(database, key);
  }

  private subcommandOf(parent: CommandEntry, args: readonly string[]): CommandEntry {
    const word = args[1];
    // COMMAND alone lists the table; the others need a word.
    if (word === undefined) return parent;
    const entry = parent.subcommands?.get(word.toLowerCase());
    if (entry !== undefined) return entry;
    if (parent.arity > 0 || (parent.run !== null && parent.name !== "command")) return parent;
    const shown = word.slice(0, MAX_SHOWN_ARGUMENT);
    throw new ErrorReply(`ERR unknown subcommand '${shown}'. Try ${parent.name.toUpperCase()} HELP.`);
  }

  private unknownCommand(args: readonly string[]): string {
    let shown = "";
    for (const arg of args.slice(1)) {
      if (shown.length >= MAX_SHOWN_ARGUMENT) break;
      // Servers print up to the first byte 0.
      const [text = ""] = arg.split("\0", 1);
      shown += `'${text.slice(0, MAX_SHOWN_ARGUMENT - shown.length)}' `;
    }
    const word = (args[0] as string).slice(0, MAX_SHOWN_ARGUMENT);
    return `ERR unknown command '${word}', with args beginning with: ${shown}`;
  }

  private feedMonitors(caller: Caller, entry: CommandEntry, args: readonly string[]): void {
    if ((entry.flags & Flag.Admin) !== 0) return;
    const { now } = this.clock;
    const time = `${Math.floor(now / 1000)}.${String(now % 1000).padStart(3, "0")}000`;
    const source = caller.session === null || caller.isScript ? "lua" : caller.session.address;
    const words = args.map((arg) => quote(arg)).join(" ");
    for (const monitor of this.monitors) {
      monitor.write(`+${time} [${caller.databaseIndex} ${source}] ${words}\r\n`);
    }
  }
}

/** A text as MONITOR and DEBUG print it. */
function quote(text: string): string {
  const escaped = text.replace(/[\\"]|[^\x20-\x7e]/g, (char) => {
    if (char === "\\" || char === '"') return `\\${char}`;
    const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x07": "\\a", "\b": "\\b" }[char];
    return short ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return `"${escaped}"`;
}

function notSupported(entry: CommandEntry, version: ServerVersion): string {
  const name = entry.name.replace("|", " ").toUpperCase();
  return `ERR TestServer does not support ${name} of version ${version.name}; test it with RealServer`;
}

/**
 * A defect of the test server itself is reported, with its place, in the reply, so that no client hangs and
 * other commands work.
 */
function defectOf({ name }: CommandEntry, error: Error): ErrorReply {
  const [place = ""] = /[^/\\(]+:\d+:\d+/.exec(error.stack ?? "") ?? [];
  const what = `${error.message} (${place})`.replaceAll(/\s+/g, " ");
  return new ErrorReply(`ERR TestServer has a defect in ${name.toUpperCase()}, please report it: ${what}`);
}
