/**
 * One life of a client, made from a seed: its options, what the application calls and when, and what
 * the network and the servers do meanwhile. Afterwards the books are checked.
 */

import type { RedisOptions } from "../../src/client/options/redis-options";
import { LINK } from "../../src/client/redis";
import { slotOfKey } from "../../src/command/slot";
import { Cluster, Redis } from "../../src/index";
import { Network, present } from "./network";
import { Random } from "./random";
import { MovingSlots, SentinelGroup, SimulatedServer } from "./server";
import { SubscriptionBooks } from "./subscription-books";
import type { VirtualTime } from "./virtual-time";
import { World } from "./world";

/** Every token has this length, so that the length of a text tells how many it holds. */
const TOKEN_LENGTH = 8;
const KEYS = 6;
const KEY_NAMES = Array.from({ length: KEYS }, (_, n) => `{k${n}}`);
const SETTLE_LIMIT_MS = 120_000;
const END_LIMIT_MS = 60_000;
/** By then everything is subscribed again. */
const RESUBSCRIBED_MS = 30_000;
/** A node that takes longer to answer than this may be overtaken (`UNHEARD_MS` of clusters, some way included). */
const ORDER_LIMIT_MS = 900;

interface Call {
  readonly kind: "append" | "get" | "echo" | "rpush" | "blpop" | "publish" | "spublish";
  readonly key: string;
  readonly token: string;
  readonly atMs: number;
  settledAtMs: number;
  settledTimes: number;
  reply: unknown;
  error: (Error & { code?: string; details?: { mayHaveRun?: boolean } }) | null;
}

export interface Outcome {
  readonly problems: string[];
  readonly calls: number;
  readonly acknowledged: number;
  /** Tells one course of events from another. */
  readonly trace: string;
}

type Client = Redis | Cluster;
export type Kind = "client" | "cluster" | "sentinel";

export class Schedule {
  private readonly random: Random;
  private readonly network: Network;
  private readonly world: World;
  private readonly servers: SimulatedServer[] = [];
  private readonly sentinels: SimulatedServer[] = [];
  private readonly slots: MovingSlots | null;
  private readonly group: SentinelGroup | null;
  private readonly calls: Call[] = [];
  private readonly client: Client;
  private readonly problems: string[] = [];
  /** When nothing has arrived, perhaps on one connection alone, for longer than order is kept for. */
  private readonly standstills: { readonly fromMs: number; toMs: number }[] = [];
  /** The kinds of values in this life besides texts. */
  private readonly has: { readonly lists: boolean; readonly channels: boolean };
  private readonly subscriptions: SubscriptionBooks | null;
  private readonly policy: "at-least-once" | "reads-only" | "at-most-once";

  constructor(
    private readonly seed: number,
    private readonly time: VirtualTime,
    kind: Kind,
    private readonly states: Set<string>,
  ) {
    this.random = new Random(seed);
    const { random } = this;
    Math.random = random.next;
    this.world = new World(time);
    this.has = { lists: random.chance(0.3), channels: random.chance(0.3) };
    this.policy = random.of(["at-least-once", "reads-only", "at-most-once"] as const);
    this.network = new Network(time, random, {
      latencyMs: random.of([1, 3, 20]),
      splitChance: random.of([0, 0.2, 0.8]),
    });
    present.network = this.network;
    const shards = [1, 2, 3].map((n) => [`10.0.0.${n}:700${n}`]);
    if (random.chance(0.5)) for (const [i, shard] of shards.entries()) shard.push(`10.0.1.${i}:710${i}`);
    this.slots = kind === "cluster" ? new MovingSlots(shards, time) : null;
    this.group = kind === "sentinel" ? this.makeGroup() : null;
    const addresses = this.slots?.addresses ?? this.group?.nodes ?? ["10.0.0.1:7001"];
    const knowsResp3 = random.chance(0.7);
    for (const address of addresses) {
      const server = new SimulatedServer(address, this.world, knowsResp3, this.slots);
      this.servers.push(server);
      this.network.hosts.set(address, server);
      server.group = this.group;
    }
    this.client = kind === "cluster" ? this.makeCluster(addresses) : this.makeClient();
    this.client.on("error", () => {});
    this.subscriptions = this.has.channels ? this.subscribe() : null;
  }

  /** Nodes that are lost are dialled again, and others asked meanwhile, as if their slots had moved. */
  private get isRedialling(): boolean {
    return this.slots !== null && this.seed % 4 === 3;
  }

  /** A master with one replica; sentinels are hosts too, and fail as others do. */
  private makeGroup(): SentinelGroup {
    const sentinels = ["10.1.0.1:26379", "10.1.0.2:26379"];
    const group = new SentinelGroup(["10.0.0.1:7001", "10.0.0.2:7002"], sentinels, this.time);
    for (const address of sentinels) {
      const server = new SimulatedServer(address, group.news, false, null);
      server.group = group;
      this.sentinels.push(server);
      this.network.hosts.set(address, server);
    }
    return group;
  }

  /** A cluster client has connections of its own for subscriptions; beside a `Redis` stands a second one. */
  private subscribe(): SubscriptionBooks {
    const subscriber =
      this.client instanceof Cluster
        ? this.client
        : new Redis({ ...this.commonOptions(), ...this.place(), maxRetriesPerRequest: null });
    subscriber.on("error", () => {});
    const shardChannels = this.client instanceof Cluster ? KEY_NAMES.slice(0, 3) : [];
    return new SubscriptionBooks(subscriber, this.time, ["news", "jobs"], shardChannels);
  }

  async run(): Promise<Outcome> {
    const { time, random } = this;
    const actions = 10 + random.below(50);
    const faultChance = random.of([0, 0.1, 0.4]);
    for (let i = 0; i < actions; i++) {
      const delayMs = random.of([0, 0, 1, 5, 30, 200]);
      if (delayMs > 0) await this.pass(delayMs);
      if (random.chance(faultChance)) this.disturb();
      else this.call();
    }
    this.heal();
    const isSettled = (): boolean => this.calls.every(({ settledTimes }) => settledTimes > 0);
    await time.run(() => this.noteState() || isSettled(), SETTLE_LIMIT_MS);
    if (!isSettled())
      this.complain(
        "calls that never settle",
        this.calls.filter((call) => call.settledTimes === 0),
      );
    if (this.subscriptions !== null) await this.pass(RESUBSCRIBED_MS);
    this.client.disconnect();
    this.subscriptions?.close();
    await time.run(() => time.pending === 0, END_LIMIT_MS);
    if (time.pending > 0) this.problems.push(`${time.pending} timers are left`);
    if (this.client.status !== "end") this.problems.push(`the status is ${this.client.status} at last`);
    this.checkReplies();
    this.checkLogs();
    this.checkLists();
    this.problems.push(...(this.subscriptions?.check(this.world.published) ?? []));
    return {
      problems: this.problems.map((problem) => `seed ${this.seed}: ${problem}`),
      calls: this.calls.length,
      acknowledged: this.calls.filter(({ error }) => error === null).length,
      trace: `${time.steps} ${Math.round(time.nowMs)} ${this.calls.map((call) => call.error?.code ?? call.reply).join()}`,
    };
  }

  // --- the client ------------------------------------------------------------------------------

  private commonOptions(): RedisOptions {
    const { random } = this;
    const options: RedisOptions = {
      protocol: random.of([2, 3] as const),
      highWaterBytes: random.of([1, 100, 256 * 1024]),
      enableReadyCheck: random.chance(0.7),
      connectTimeout: 500,
      disconnectTimeout: 100,
      watchdog: { idleMs: 1000 },
      maxLossesPerCommand: random.of([1, 3, 10]),
    };
    return options;
  }

  private limits(): RedisOptions {
    const { random } = this;
    return {
      retryPolicy: this.policy,
      enableAutoPipelining: random.of<RedisOptions["enableAutoPipelining"]>([
        false,
        true,
        { maxInFlight: 2, maxCommands: 3 },
        { maxInFlight: "adaptive" },
      ]),
      bounds: random.of<RedisOptions["bounds"]>([
        undefined,
        undefined,
        { maxCommands: 4 },
        { maxCommands: 3, policy: "reject" },
      ]),
      commandTimeout: random.of([undefined, undefined, 40, 400]),
    };
  }

  /** Where the server is, or who tells it. */
  private place(): RedisOptions {
    if (this.group === null) return { host: "10.0.0.1", port: 7001 };
    const sentinels = this.group.sentinels.map((address) => ({
      host: address.split(":")[0] as string,
      port: Number(address.split(":")[1]),
    }));
    return {
      sentinels,
      name: SentinelGroup.groupName,
      sentinelRetryStrategy: (times) => Math.min(times * 10, 200),
    };
  }

  private makeClient(): Redis {
    const { random } = this;
    const maxMs = random.of([5, 50, 500]);
    return new Redis({
      ...this.commonOptions(),
      ...this.limits(),
      ...this.place(),
      retryStrategy: (times) => Math.min(times * 5, maxMs),
      maxRetriesPerRequest: random.of([null, 0, 1, 20]),
      enableOfflineQueue: !random.chance(0.1),
      lazyConnect: random.chance(0.2),
    });
  }

  private makeCluster(addresses: readonly string[]): Cluster {
    const { random } = this;
    const nodes = addresses.map((address) => ({
      host: address.split(":")[0] as string,
      port: Number(address.split(":")[1]),
    }));
    return new Cluster(nodes, {
      ...(this.limits() as object),
      redisOptions: { ...this.commonOptions(), maxRetriesPerRequest: random.of([null, 1, 20]) } as object,
      shardedSubscribers: true,
      dnsLookup: (address, callback) => callback(null, address, 4),
      clusterRetryStrategy: (times) => Math.min(10 + times * 2, 200),
      clusterNodeRetryStrategy: this.isRedialling ? (times) => Math.min(times * 5, 50) : null,
      slotsRefreshTimeout: 500,
      maxRedirections: random.of([4, 16]),
      scaleReads: random.of(["master", "master", "slave", "all"] as const),
      retryDelayOnFailover: 20,
      enableOfflineQueue: !random.chance(0.1),
    });
  }

  // --- what happens ----------------------------------------------------------------------------

  private pass(ms: number): Promise<void> {
    const endMs = this.time.nowMs + ms;
    this.time.after(ms, () => {});
    return this.time.run(() => {
      this.noteState();
      return this.time.nowMs >= endMs;
    }, ms);
  }

  private call(): void {
    const { random, client } = this;
    const kind = random.below(10);
    if (kind < 5) {
      const call = this.newCall();
      this.follow(call, issue(client, call) as Promise<unknown>);
    } else this.callTogether(kind === 9);
  }

  /** A pipeline, or a transaction. */
  private callTogether(isTransaction: boolean): void {
    const { random, client } = this;
    const key = `{k${random.below(KEYS)}}`;
    const calls = Array.from({ length: 1 + random.below(6) }, () =>
      this.newCall(isTransaction ? key : undefined),
    );
    const batch = isTransaction ? client.multi() : client.pipeline();
    for (const call of calls) issue(batch as never, call);
    batch.exec().then(
      (rows) => {
        if (rows === null || rows.length !== calls.length)
          this.problems.push(`${rows?.length} rows of ${calls.length}`);
        calls.forEach((call, index) => {
          this.settle(call, rows?.[index]?.[0] ?? null, rows?.[index]?.[1]);
        });
      },
      (error: Error) => {
        for (const call of calls) this.settle(call, error, null);
      },
    );
  }

  private newCall(key = `{k${this.random.below(KEYS)}}`): Call {
    const kind = this.random.of(this.kinds());
    const token = `t${String(this.calls.length).padStart(TOKEN_LENGTH - 2, "0")};`;
    const call: Call = {
      kind,
      key,
      token,
      atMs: this.time.nowMs,
      settledAtMs: Number.POSITIVE_INFINITY,
      settledTimes: 0,
      reply: undefined,
      error: null,
    };
    this.calls.push(call);
    return call;
  }

  private kinds(): Call["kind"][] {
    const { has, slots } = this;
    const kinds: Call["kind"][] = ["append", "append", "append", "get", "echo"];
    if (has.lists) kinds.push("rpush", "rpush", "blpop");
    if (has.channels) kinds.push("publish", "publish");
    if (has.channels && slots !== null) kinds.push("spublish", "spublish");
    return kinds;
  }

  private follow(call: Call, outcome: Promise<unknown>): void {
    outcome.then(
      (reply) => this.settle(call, null, reply),
      (error: Error) => this.settle(call, error, null),
    );
  }

  private settle(call: Call, error: Error | null, reply: unknown): void {
    call.settledTimes++;
    call.settledAtMs = this.time.nowMs;
    call.error = error;
    call.reply = reply;
  }

  private disturb(): void {
    const { random, network, slots, servers } = this;
    const server = random.of([...servers, ...this.sentinels]);
    switch (random.below(slots === null && this.group === null ? 5 : 9)) {
      case 0:
        if (random.chance(0.2)) this.stick();
        else network.pick()?.cut(random.chance(0.5));
        return;
      case 1:
        this.holdUp(random.of([10, 100, 2000]));
        return;
      case 2:
        server.crash(random.chance(0.5));
        return;
      case 3:
        this.takeDown(server, random.of([5, 100, 1000]));
        return;
      case 4:
        if (this.client.status !== "end") this.client.disconnect(true);
        return;
      case 5:
      case 6:
        if (this.group !== null) this.switchMaster(this.group, random.chance(0.5));
        else this.failOver(random.below(3), random.chance(0.7));
        return;
      default:
        slots?.move(random.below(12), random.below(3));
        for (const one of servers) one.onMoved();
    }
  }

  private takeDown(server: SimulatedServer, ms: number): void {
    server.isUp = false;
    server.crash(true);
    this.time.after(ms, () => {
      server.isUp = true;
    });
  }

  /** A master is lost, or steps down, and its replica takes over some time later. */
  private failOver(shard: number, isLost: boolean): void {
    const { slots, time, random, servers } = this;
    const nodes = slots?.shards[shard] ?? [];
    if (nodes.length < 2) return;
    const master = servers.find(({ address }) => address === nodes[0]);
    if (isLost && master !== undefined) this.takeDown(master, random.of([100, 1000, 5000]));
    time.after(isLost ? random.of([10, 100, 600]) : 1, () => {
      slots?.failOver(shard);
      for (const one of servers) one.onMoved();
    });
  }

  /** The master of the group is lost, or steps down, and the other node takes over. */
  private switchMaster(group: SentinelGroup, isLost: boolean): void {
    const { random, time, servers } = this;
    const master = servers.find(({ address }) => address === group.master);
    if (isLost && master !== undefined) this.takeDown(master, random.of([100, 1000, 5000]));
    time.after(isLost ? random.of([10, 100, 600]) : 1, () => {
      group.failOver();
      for (const server of servers) if (server.address !== group.master) server.onDemoted();
    });
  }

  /** Commands that wait on the connection are given back when the watchdog has closed it, which may be later than order is kept. */
  private stick(): void {
    const { network, time, standstills } = this;
    const standstill = { fromMs: time.nowMs, toMs: Number.POSITIVE_INFINITY };
    const isStuck = network.pick()?.stick(() => {
      standstill.toMs = time.nowMs;
    });
    if (isStuck) standstills.push(standstill);
  }

  private holdUp(ms: number): void {
    const { network, time, standstills } = this;
    network.heldUntilMs = time.nowMs + ms;
    if (ms > ORDER_LIMIT_MS) standstills.push({ fromMs: time.nowMs, toMs: network.heldUntilMs });
  }

  private heal(): void {
    for (const server of [...this.servers, ...this.sentinels]) server.isUp = true;
    this.network.heldUntilMs = 0;
  }

  private noteState(): boolean {
    const clients = this.client instanceof Cluster ? this.client.nodes() : [this.client];
    let state = this.client.status as string;
    for (const client of clients) {
      const link = client[LINK];
      const { connection, session } = link;
      const queue = connection?.queue;
      state += `|${link.status},${connection?.state ?? "-"},${few(queue?.inFlight)},${few(queue?.unsent)},${few(link.offline.length)}`;
      state += session.isInTransaction ? ",multi" : "";
    }
    this.states.add(state);
    return false;
  }

  // --- the books -------------------------------------------------------------------------------

  private checkReplies(): void {
    for (const call of this.calls) {
      if (call.settledTimes !== 1) this.complain(`settled ${call.settledTimes} times`, [call]);
      if (call.error !== null || call.settledTimes === 0) continue;
      const text = this.world.texts.get(call.key) ?? "";
      const { reply } = call;
      if (call.kind === "echo" && reply !== call.token) this.complain(`echo gave ${reply}`, [call]);
      if (call.kind === "get" && reply !== null && !(typeof reply === "string" && text.startsWith(reply)))
        this.complain(`get gave ${reply}`, [call]);
      if (call.kind === "append" && text.slice(Number(reply) - TOKEN_LENGTH, Number(reply)) !== call.token)
        this.complain(`append gave ${reply}, where the text has another token`, [call]);
    }
  }

  /** No element is lost, but with a call whose outcome is unknown, and none is handed out that nobody has pushed. */
  private checkLists(): void {
    const taken = new Map<string, number>();
    let doubtful = 0;
    for (const call of this.calls) {
      if (call.kind !== "blpop") continue;
      if (call.error !== null) doubtful += mayHaveRun(call) ? 1 : 0;
      else if (Array.isArray(call.reply)) {
        const element = String(call.reply[1]);
        taken.set(element, (taken.get(element) ?? 0) + 1);
      }
    }
    let lost = 0;
    const handedOut = new Map<string, number>();
    for (const element of this.world.popped) handedOut.set(element, (handedOut.get(element) ?? 0) + 1);
    for (const [element, times] of taken) {
      if (times > (handedOut.get(element) ?? 0))
        this.problems.push(
          `${element} was given to ${times} callers, and handed out ${handedOut.get(element)} times`,
        );
    }
    for (const [element, times] of handedOut) lost += times - (taken.get(element) ?? 0);
    if (lost > doubtful && this.policy !== "at-least-once")
      this.problems.push(`${lost} elements went to nobody, ${doubtful} calls have an unknown outcome`);
    const left = [...this.world.lists.values()].flat();
    for (const call of this.calls) {
      if (call.kind !== "rpush" || call.error !== null) continue;
      if (!left.includes(call.token) && !handedOut.has(call.token))
        this.complain("acknowledged and not stored", [call]);
    }
  }

  private checkLogs(): void {
    const order = new Map<string, number>();
    for (const call of this.calls) {
      if (call.kind !== "append") continue;
      const text = this.world.texts.get(call.key) ?? "";
      const at = text.indexOf(call.token);
      const times = text.split(call.token).length - 1;
      if (call.error === null && times === 0) this.complain("acknowledged and not stored", [call]);
      if (call.error !== null && times > 0 && !mayHaveRun(call)) this.complain("refused and stored", [call]);
      if (times > 1 && this.policy !== "at-least-once")
        this.complain(`ran ${times} times under ${this.policy}`, [call]);
      if (at < 0) continue;
      const isMoved = this.isRedialling || this.slots?.hasMoved(slotOfKey(call.key)) === true;
      const wasLate =
        isMoved && this.standstills.some(({ fromMs, toMs }) => call.atMs < toMs && call.settledAtMs > fromMs);
      if (!wasLate && at < (order.get(call.key) ?? -1))
        this.complain("overtook what was called before it", [call]);
      order.set(call.key, Math.max(at, order.get(call.key) ?? -1));
    }
  }

  private complain(what: string, calls: readonly Call[]): void {
    const [first] = calls;
    const code = first?.error
      ? ` (${first.error.code} ${first.error.message} ${JSON.stringify(first.error.details)})`
      : "";
    this.problems.push(
      `${what}: ${first?.kind} ${first?.key} ${first?.token}${code}, ${calls.length} in all`,
    );
  }
}

interface Issuer {
  append(key: string, value: string): unknown;
  get(key: string): unknown;
  echo(text: string): unknown;
  rpush(key: string, element: string): unknown;
  blpop(key: string, seconds: number): unknown;
  publish(channel: string, message: string): unknown;
  spublish(channel: string, message: string): unknown;
}

/** Short, so that what waits behind it keeps its order. */
const BLOCKED_SECONDS = 0.1;

function issue(client: Issuer, { kind, key, token }: Call): unknown {
  switch (kind) {
    case "append":
      return client.append(key, token);
    case "get":
      return client.get(key);
    case "echo":
      return client.echo(token);
    case "rpush":
      return client.rpush(`${key}:list`, token);
    case "blpop":
      return client.blpop(`${key}:list`, BLOCKED_SECONDS);
    case "publish":
      return client.publish(token < "t000020" ? "news" : "jobs", token);
    case "spublish":
      return client.spublish(key, token);
  }
}

/** The verdict of the error on whether the command ran. */
function mayHaveRun({ error }: Call): boolean {
  const { code = "", details } = error ?? {};
  if (code === "COMMAND_TIMEOUT") return details?.mayHaveRun === true;
  return code === "OUTCOME_UNKNOWN" || code === "COMMAND_LOST";
}

function few(count = 0): string {
  return count < 3 ? String(count) : count < 10 ? "few" : "many";
}
