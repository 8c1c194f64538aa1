/**
 * One client with a cache, one server and one connection between them, without sockets: every step of
 * either side is a step of a schedule. It knows what each read must have seen at least:
 *
 *   - each write of the client itself that was issued before the read, awaited or not
 *   - each write of others that the server has told the client of, by whatever message, before the read
 */

import { ClientCache } from "../../../src/caching/client-cache";
import { type TrackedLink, Tracking } from "../../../src/caching/tracking";
import { Batch, BatchKind } from "../../../src/command/batch";
import type { Completion } from "../../../src/command/command";
import { Command, CommandState, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";

const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;
export const KEYS = ["a", "b", "c"] as const;
export type Key = (typeof KEYS)[number];
export type Pick = (count: number) => number;

/** A state of a key: null when it was deleted. */
interface Version {
  readonly at: number;
  readonly value: string | null;
}

/** The state that a read must not be older than. */
interface Demand {
  readonly at: number;
  /** Own writes that were issued before it and not answered then. */
  readonly writes: readonly Write[];
}

class Write {
  executedAt: number | null = null;
  isFailed = false;
  /** It runs in no order with what goes over the connection of the client. */
  isBeside = false;
}

type Delivery =
  | { command: Command; reply: unknown }
  | { push: readonly string[] | null }
  | { news: Key; at: number };

class Connection implements Dispatcher {
  inbox: Command[] = [];
  outbox: Delivery[] = [];
  isTracking = false;
  isCaching = false;
  queued: Command[] | null = null;
  readonly shape = SHAPE;

  dispatch(command: Command): void {
    if (command.isSettled) return;
    command.state = CommandState.Sent;
    this.inbox.push(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }
}

export class CacheModel {
  readonly cache: ClientCache;
  readonly violations: string[] = [];
  reads = 0;
  private readonly tracking: Tracking;
  private readonly link: TrackedLink & { direct: Connection | null };
  private waiting: Command[] = [];
  /** Writes that travel over another connection, executed at any time. */
  private beside: Command[] = [];
  private besideReplies: Command[] = [];
  private clock = 0;
  private readonly history = new Map<Key, Version[]>(KEYS.map((key) => [key, [{ at: 0, value: null }]]));
  private readonly registered = new Set<string>();
  private readonly known = new Map<Key, number>(KEYS.map((key) => [key, 0]));
  private readonly ownWrites = new Map<Key, Set<Write>>(KEYS.map((key) => [key, new Set()]));
  private readonly writeOf = new Map<Command, { write: Write; keys: readonly Key[] }>();
  private connection = new Connection();

  constructor(private readonly mode: "optin" | "all" | "broadcast") {
    this.link = {
      direct: null,
      dispatch: (command) => {
        if (this.link.direct === null) this.waiting.push(command);
        else this.link.direct.dispatch(command);
      },
      dispatchBatch: (commands) => {
        for (const command of commands) this.link.dispatch(command);
      },
    };
    const onRefused = (): void => {};
    this.tracking = new Tracking(this.link, {
      mode,
      prefixes: [""],
      maxStaleMs: 1e9,
      isOfCluster: false,
      onRefused,
    });
    const settings = {
      maxBytes: 1e6,
      ttlMs: 1e9,
      asksTtl: false,
      maxStaleMs: 1e9,
      absentTtlMs: null,
      isFrozen: false,
      isBroadcast: false,
      matches: null,
    };
    this.cache = new ClientCache(settings, {
      onInvalidated: () => {},
      onTrackingEnded: () => this.tracking.end(),
      place: () => ({ serverAddress: "", serverPort: 1 }),
    });
    this.cache.next = this.tracking;
    this.connect();
  }

  // --- the client ----------------------------------------------------------------------------

  read(key: Key, inBatch = false): Command {
    this.reads++;
    const demand: Demand = {
      at: this.known.get(key) ?? 0,
      writes: [...(this.ownWrites.get(key) as Set<Write>)],
    };
    const command = this.command("get", [key], (value) => this.judge(key, value as string | null, demand));
    if (!inBatch) this.cache.dispatch(command);
    return command;
  }

  write(keys: readonly Key[], name = "del"): Command {
    const write = new Write();
    for (const key of keys) this.ownWrites.get(key)?.add(write);
    const args = name === "eval" ? ["", String(keys.length), ...keys] : [...keys];
    const command = this.command(name, args, () => this.endWrite(write, keys));
    this.writeOf.set(command, { write, keys });
    return command;
  }

  /** A write that a connection of its own carries (blocking commands do). */
  writeBeside(key: Key): void {
    const command = this.write([key], "lpop");
    const noted = this.writeOf.get(command);
    if (noted !== undefined) noted.write.isBeside = true;
    const { next } = this.cache;
    this.cache.next = { dispatch: (one) => this.beside.push(one), dispatchBatch: () => {} };
    this.cache.dispatch(command);
    this.cache.next = next;
  }

  issue(...commands: Command[]): void {
    if (commands.length === 1) this.cache.dispatch(commands[0] as Command);
    else this.cache.dispatchBatch(commands);
  }

  transaction(keys: readonly Key[]): Command[] {
    const batch = new Batch(BatchKind.Transaction, 0, null);
    // The client learns from EXEC that they ran.
    const write = new Write();
    for (const key of keys) this.ownWrites.get(key)?.add(write);
    const members = keys.map((key) => this.command("del", [key], () => {}));
    const exec = this.command("exec", [], () => this.endWrite(write, keys));
    this.writeOf.set(exec, { write, keys });
    const commands = [this.command("multi", [], () => {}), ...members, exec];
    for (const command of commands) batch.add(command);
    return commands;
  }

  // --- the server ----------------------------------------------------------------------------

  /** Executes the next command. */
  execute(pick: Pick): void {
    const command = this.connection.inbox.shift();
    if (command === undefined) return;
    const reply = this.run(command, pick);
    if (!command.isSettled) this.connection.outbox.push({ command, reply });
    this.tellChanged();
  }

  executeBeside(pick: Pick): void {
    const command = this.beside.shift();
    if (command === undefined) return;
    this.clock++;
    this.change(command, pick);
    this.besideReplies.push(command);
    this.tellChanged();
  }

  /** Another client changes a key, and says so in a message of its own behind it. */
  changeByOther(key: Key, pick: Pick): void {
    this.clock++;
    this.set(key, pick);
    this.tellChanged();
    this.connection.outbox.push({ news: key, at: this.clock });
  }

  flushByOther(pick: Pick): void {
    this.clock++;
    for (const key of KEYS) this.set(key, pick);
    this.changed.clear();
    this.registered.clear();
    if (this.connection.isTracking) this.connection.outbox.push({ push: null });
    for (const key of KEYS) this.connection.outbox.push({ news: key, at: this.clock });
  }

  // --- the line --------------------------------------------------------------------------------

  deliver(): void {
    const delivery = this.connection.outbox.shift();
    if (delivery === undefined) return;
    if ("push" in delivery) this.cache.onInvalidation(delivery.push?.map((key) => Buffer.from(key)) ?? null);
    else if ("news" in delivery) this.learn(delivery.news, delivery.at);
    else delivery.command.fulfil(delivery.reply, SHAPE);
  }

  deliverBeside(): void {
    this.besideReplies.shift()?.fulfil(1, SHAPE);
  }

  /** The connection breaks. What is not answered goes again over the next one, in its order. */
  lose(): void {
    const { inbox, outbox } = this.connection;
    const unanswered = outbox.flatMap((delivery) => ("command" in delivery ? [delivery.command] : []));
    const left = [...unanswered, ...inbox].filter((one) => !one.isSettled);
    const again = left.filter((one) => one.origin !== Origin.Connection);
    for (const one of left)
      if (one.origin === Origin.Connection) one.fail(new Error("The connection was lost"));
    this.link.direct = null;
    this.registered.clear();
    this.tracking.end();
    this.cache.onLost(null);
    this.connection = new Connection();
    this.waiting = [...this.withoutBroken(again), ...this.waiting];
  }

  /** A transaction of which a part was answered does not go again. */
  private withoutBroken(commands: readonly Command[]): Command[] {
    const isBroken = ({ batch }: Command): boolean =>
      batch !== null && commands.filter((one) => one.batch === batch).length < batch.size;
    const broken = commands.filter(isBroken);
    for (const command of broken) command.fail(new Error("The connection was lost"));
    return commands.filter((command) => !broken.includes(command));
  }

  connect(): void {
    if (this.link.direct !== null) return;
    this.link.direct = this.connection;
    this.tracking.begin(this.connection);
    for (const command of this.waiting.splice(0)) this.connection.dispatch(command);
  }

  /** Lets everything come to its end; then each key must be read as it is. */
  settle(pick: Pick): void {
    this.connect();
    const isBusy = (): boolean =>
      this.connection.inbox.length + this.connection.outbox.length + this.beside.length > 0 ||
      this.besideReplies.length > 0;
    for (let round = 0; round < 2; round++) {
      while (isBusy()) {
        this.execute(pick);
        this.deliver();
        this.executeBeside(pick);
        this.deliverBeside();
      }
      for (const key of KEYS) {
        this.learn(key, this.history.get(key)?.at(-1)?.at ?? 0);
        this.read(key);
      }
    }
    while (isBusy()) {
      this.execute(pick);
      this.deliver();
    }
  }

  // --- inside --------------------------------------------------------------------------------

  private readonly changed = new Set<Key>();

  private command(name: string, args: string[], onValue: (value: unknown) => void): Command {
    const completion: Completion = {
      fulfil: (_command, value) => onValue(value),
      reject: (command) => this.giveUp(command),
    };
    return new Command(specOf(name), args, false, completion);
  }

  private run(command: Command, pick: Pick): unknown {
    const { connection } = this;
    const { lowerName } = command.spec;
    const wasCaching = connection.isCaching;
    connection.isCaching = false;
    if (lowerName === "client") {
      if (command.args[0] === "tracking") connection.isTracking = true;
      else connection.isCaching = true;
      return "OK";
    }
    if (lowerName === "multi") {
      connection.queued = [];
      return "OK";
    }
    if (lowerName === "exec") {
      const queued = connection.queued ?? [];
      connection.queued = null;
      this.clock++;
      for (const one of queued) this.change(one, pick);
      const noted = this.writeOf.get(command);
      if (noted !== undefined) noted.write.executedAt ??= this.clock;
      return queued.map(() => 1);
    }
    if (connection.queued !== null) {
      connection.queued.push(command);
      return "QUEUED";
    }
    if (lowerName === "get") {
      const [key] = command.args as [Key];
      const isTold = this.mode === "optin" ? wasCaching : this.mode === "all";
      if (connection.isTracking && isTold) this.registered.add(key);
      return this.history.get(key)?.at(-1)?.value ?? null;
    }
    this.clock++;
    this.change(command, pick);
    return 1;
  }

  private change(command: Command, pick: Pick): void {
    const { lowerName } = command.spec;
    const keys = (lowerName === "eval" ? command.args.slice(2) : command.args) as Key[];
    for (const key of keys) this.set(key, pick);
    const noted = this.writeOf.get(command);
    if (noted !== undefined) noted.write.executedAt ??= this.clock;
  }

  /** All keys that one command changes have the same time. */
  private set(key: Key, pick: Pick): void {
    const value = pick(3) === 0 ? null : String(this.clock);
    this.history.get(key)?.push({ at: this.clock, value });
    this.changed.add(key);
  }

  /** As servers do: behind the reply of the command that has changed them. */
  private tellChanged(): void {
    const { connection } = this;
    for (const key of this.changed) {
      const isTold = this.mode === "broadcast" || this.registered.delete(key);
      if (connection.isTracking && isTold) connection.outbox.push({ push: [key] });
    }
    this.changed.clear();
  }

  private learn(key: Key, at: number): void {
    this.known.set(key, Math.max(this.known.get(key) ?? 0, at));
  }

  private endWrite(write: Write, keys: readonly Key[]): void {
    for (const key of keys) {
      this.ownWrites.get(key)?.delete(write);
      this.learn(key, write.executedAt ?? 0);
    }
  }

  private giveUp(command: Command): void {
    const noted = this.writeOf.get(command);
    if (noted === undefined) return;
    noted.write.isFailed = true;
    for (const key of noted.keys) this.ownWrites.get(key)?.delete(noted.write);
  }

  private judge(key: Key, value: string | null, { at, writes }: Demand): void {
    const versions = this.history.get(key) as Version[];
    const newest = versions.filter((version) => version.value === value).at(-1)?.at ?? -1;
    if (newest < at) this.violations.push(`${key} is ${value}, known was the state of ${at}`);
    for (const write of writes) {
      if (write.isFailed || write.isBeside) continue;
      if (write.executedAt === null) this.violations.push(`${key} was read before an own write ran`);
      else if (newest < write.executedAt) this.violations.push(`${key} is ${value}, older than an own write`);
    }
  }
}
