/**
 * One life of a client with a cache, made from a seed: a cluster whose slots are moved and whose masters change,
 * or one server. All nodes have the same data, so what a key was at any moment is known; no read may be older than
 *
 *   - each write of the client itself that was issued before it, acknowledged or not
 *   - the way from the server to the client takes, as servers tell of every change
 *   - `maxStale`, where they cannot tell: a connection that is stuck or held up, a key that is missing while its
 *     slot goes elsewhere
 */

import { LINK } from "../../src/client/redis";
import { slotOfKey } from "../../src/command/slot";
import { Cluster, Redis } from "../../src/index";
import { Network, present } from "./network";
import { Random } from "./random";
import type { Outcome } from "./schedule";
import { MovingSlots, partOf, SimulatedServer } from "./server";
import type { VirtualTime } from "./virtual-time";
import { type Version, World } from "./world";

const TAGS = 3;
/** Two keys of each slot. */
const KEYS: readonly (readonly [string, string])[] = Array.from({ length: TAGS }, (_, tag) => [
  `{k${tag}}a`,
  `{k${tag}}b`,
]);
const SETTLE_LIMIT_MS = 120_000;
const END_LIMIT_MS = 60_000;
/** A cache reads the clock so much later than it could. */
const TICK_MS = 50;
/** A node that takes longer to answer than this may be overtaken, as in schedule.ts. */
const ORDER_LIMIT_MS = 900;

type Kind = "get" | "exists" | "mget" | "set" | "del";

interface Call {
  readonly kind: Kind;
  readonly keys: readonly string[];
  readonly token: string;
  readonly atMs: number;
  /** How many versions each key had when it was called. */
  readonly had: readonly number[];
  /** Writes of its keys that were called before it, and whether they had ended. */
  readonly after: readonly { readonly write: Call; readonly isOver: boolean }[];
  /** Servers could tell of every change at this moment. */
  readonly isPrompt: boolean;
  /** The client has heard where the slot is. */
  readonly isFound: boolean;
  settledTimes: number;
  settledAtMs: number;
  reply: unknown;
  error: Error | null;
}

interface Issuer {
  get(key: string): unknown;
  exists(key: string): unknown;
  mget(...keys: string[]): unknown;
  set(key: string, value: string): unknown;
  del(key: string): unknown;
}

export class CachedSchedule {
  private readonly random: Random;
  private readonly network: Network;
  private readonly world: World;
  private readonly servers: SimulatedServer[] = [];
  private readonly slots: MovingSlots | null;
  private readonly client: Redis | Cluster;
  private readonly latencyMs: number;
  private readonly maxStaleMs: number;
  /** Replicas are read: what is being written at the master may not be there yet. */
  private readonly readsReplicas: boolean;
  /** It does little but read: nearly everything comes from the cache, and seldom does a redirect tell what has moved. */
  private readonly isReader: boolean;
  private readonly calls: Call[] = [];
  private readonly problems: string[] = [];
  private readonly standstills: { readonly fromMs: number; toMs: number }[] = [];
  /** When the slots of a part began to move, or were there. */
  private readonly movesMs = new Map<number, number[]>();
  private readonly failoversMs: number[] = [];
  private tokens = 0;

  constructor(
    private readonly seed: number,
    private readonly time: VirtualTime,
    private readonly states: Set<string>,
  ) {
    this.random = new Random(seed);
    const { random } = this;
    Math.random = random.next;
    this.world = new World(time);
    this.latencyMs = random.of([1, 3, 20]);
    this.maxStaleMs = random.of([100, 500, 5000]);
    this.readsReplicas = random.chance(0.3);
    this.isReader = random.chance(0.5);
    const splitChance = random.of([0, 0.2, 0.8]);
    this.network = new Network(time, random, { latencyMs: this.latencyMs, splitChance });
    present.network = this.network;
    const isCluster = random.chance(0.85);
    const shards = [1, 2, 3].map((n) => [`10.0.0.${n}:700${n}`]);
    if (random.chance(0.5)) for (const [i, shard] of shards.entries()) shard.push(`10.0.1.${i}:710${i}`);
    this.slots = isCluster ? new MovingSlots(shards, time) : null;
    const addresses = this.slots?.addresses ?? ["10.0.0.1:7001"];
    for (const address of addresses) {
      const server = new SimulatedServer(address, this.world, true, this.slots);
      this.servers.push(server);
      this.network.hosts.set(address, server);
    }
    this.client = isCluster ? this.makeCluster(addresses) : this.makeClient();
    this.client.on("error", () => {});
  }

  async run(): Promise<Outcome> {
    const { time, random } = this;
    const actions = 20 + random.below(80);
    const faultChance = random.of([0.02, 0.1, 0.3]);
    const changeChance = this.isReader ? 0.05 : 0.2;
    for (let i = 0; i < actions; i++) {
      const delayMs = random.of([0, 0, 1, 1, 5, 30, 200]);
      if (delayMs > 0) await this.pass(delayMs);
      const what = random.next();
      if (what < faultChance) this.disturb();
      else if (what < faultChance + changeChance) this.changeByOther();
      else this.call();
    }
    for (const server of this.servers) server.isUp = true;
    this.network.heldUntilMs = 0;
    const isSettled = (): boolean => this.calls.every(({ settledTimes }) => settledTimes > 0);
    await time.run(isSettled, SETTLE_LIMIT_MS);
    const hits = this.client.cache.stats().hits;
    this.client.disconnect();
    await time.run(() => time.pending === 0, END_LIMIT_MS);
    if (time.pending > 0) this.problems.push(`${time.pending} timers are left`);
    this.check();
    return {
      problems: this.problems.map((problem) => `seed ${this.seed}: ${problem}`),
      calls: this.calls.length,
      acknowledged: this.calls.filter(({ error }) => error === null).length,
      trace: `${time.steps} ${Math.round(time.nowMs)} ${hits} ${this.calls.map(({ reply }) => reply).join()}`,
    };
  }

  // --- the client ------------------------------------------------------------------------------

  private commonOptions() {
    const { random } = this;
    return {
      connectTimeout: 500,
      disconnectTimeout: 100,
      watchdog: { idleMs: 1000 },
      maxLossesPerCommand: random.of([1, 3, 10]),
      highWaterBytes: random.of([1, 256 * 1024]),
    };
  }

  private limits() {
    const { random } = this;
    return {
      cache: {
        maxStale: this.maxStaleMs,
        mode: random.of(["optin", "optin", "all", "broadcast"] as const),
        maxBytes: random.of([4000, 1_000_000]),
      },
      enableAutoPipelining: random.of([false, true]),
      retryPolicy: random.of(["at-least-once", "at-most-once"] as const),
      commandTimeout: random.of([undefined, undefined, 400]),
    };
  }

  private makeClient(): Redis {
    return new Redis({
      ...this.commonOptions(),
      ...this.limits(),
      host: "10.0.0.1",
      port: 7001,
      retryStrategy: (times) => Math.min(times * 5, 50),
      maxRetriesPerRequest: null,
    });
  }

  private makeCluster(addresses: readonly string[]): Cluster {
    const nodes = addresses.map((address) => {
      const [host = "", port] = address.split(":");
      return { host, port: Number(port) };
    });
    return new Cluster(nodes, {
      ...this.limits(),
      redisOptions: { ...this.commonOptions(), maxRetriesPerRequest: null } as object,
      dnsLookup: (address, callback) => callback(null, address, 4),
      clusterRetryStrategy: (times) => Math.min(10 + times * 2, 200),
      clusterNodeRetryStrategy: this.seed % 4 === 3 ? (times) => Math.min(times * 5, 50) : null,
      slotsRefreshTimeout: 500,
      scaleReads: this.readsReplicas ? "all" : "master",
      retryDelayOnFailover: 20,
    });
  }

  // --- what happens ----------------------------------------------------------------------------

  private pass(ms: number): Promise<void> {
    const endMs = this.time.nowMs + ms;
    this.time.after(ms, () => {});
    return this.time.run(() => this.time.nowMs >= endMs, ms);
  }

  private call(): void {
    this.noteState();
    const { random, client } = this;
    const kind = this.isReader ? 0 : random.below(8);
    if (kind < 6) {
      const call = this.newCall();
      (issue(client, call) as Promise<unknown>).then(
        (reply) => this.settle(call, null, reply),
        (error: Error) => this.settle(call, error, undefined),
      );
      return;
    }
    const pair = random.of(KEYS);
    const isTransaction = kind === 6;
    const calls = Array.from({ length: 1 + random.below(5) }, () =>
      this.newCall(isTransaction ? pair : undefined),
    );
    const batch = isTransaction ? client.multi() : client.pipeline();
    for (const call of calls) issue(batch as never, call);
    batch.exec().then(
      (rows) => {
        calls.forEach((call, index) => {
          const row = rows?.[index];
          this.settle(call, row === undefined ? new Error("no row") : row[0], row?.[1]);
        });
      },
      (error: Error) => {
        for (const call of calls) this.settle(call, error, undefined);
      },
    );
  }

  private newCall(pair = this.random.of(KEYS)): Call {
    const { random, world, time } = this;
    const isGet = this.isReader && !random.chance(0.03);
    const kind = isGet
      ? "get"
      : random.of<Kind>(["get", "get", "get", "get", "exists", "mget", "set", "del"]);
    const keys = kind === "mget" ? pair : [random.of(pair)];
    const call: Call = {
      kind,
      keys,
      token: `own${this.tokens++}`,
      atMs: time.nowMs,
      had: keys.map((key) => world.versions.get(key)?.length ?? 0),
      after: this.calls
        .filter((one) => isWrite(one) && keys.includes(one.keys[0] as string))
        .map((write) => ({ write, isOver: write.settledTimes > 0 })),
      isPrompt: this.isPrompt(),
      isFound: this.isFound(slotOfKey(keys[0] as string)),
      settledTimes: 0,
      settledAtMs: Number.POSITIVE_INFINITY,
      reply: undefined,
      error: null,
    };
    this.calls.push(call);
    return call;
  }

  private settle(call: Call, error: Error | null, reply: unknown): void {
    call.settledTimes++;
    call.settledAtMs = this.time.nowMs;
    call.error = error;
    call.reply = reply;
  }

  /** No connection is stuck, and nothing is held up. */
  private isPrompt(): boolean {
    const { nowMs } = this.time;
    const since = nowMs - this.latencyMs;
    return !this.standstills.some(({ fromMs, toMs }) => fromMs <= nowMs && since <= toMs);
  }

  /** A write, which no cache answers, has gone to where the slot is since it was moved. */
  private isFound(slot: number): boolean {
    const movedMs = this.movesMs.get(partOf(slot))?.at(-1) ?? -1;
    const { nowMs } = this.time;
    const isProof = (call: Call): boolean =>
      isWrite(call) && call.error === null && call.atMs > movedMs && call.settledAtMs <= nowMs;
    return (
      movedMs < 0 || this.calls.some((call) => isProof(call) && slotOfKey(call.keys[0] as string) === slot)
    );
  }

  private changeByOther(): void {
    const { random, world } = this;
    if (this.slots === null && random.chance(0.05)) world.flush();
    else world.write(random.of(random.of(KEYS)), random.chance(0.3) ? null : `other${this.tokens++}`);
  }

  private disturb(): void {
    const { random, network, slots, servers } = this;
    const server = random.of(servers);
    switch (random.below(slots === null ? 4 : 10)) {
      case 0:
        if (random.chance(0.3)) this.stick();
        else network.pick()?.cut(random.chance(0.5));
        return;
      case 1:
        this.holdUp(random.of([10, 100, 2000]));
        return;
      case 2:
        server.crash(random.chance(0.5));
        return;
      case 3:
        server.isUp = false;
        server.crash(true);
        this.time.after(random.of([5, 100, 1000]), () => {
          server.isUp = true;
        });
        return;
      case 4:
        if (slots !== null) this.failOver(slots, random.below(3));
        break;
      default:
        if (slots !== null) this.move(slots);
    }
    for (const one of servers) one.onMoved();
  }

  /** The slots of a tag begin to move, or those that are on their way arrive. */
  private move(slots: MovingSlots): void {
    const { random, time, movesMs } = this;
    const moved = slots.move(partOf(slotOfKey(random.of(random.of(KEYS)))), random.below(3));
    if (moved !== null) movesMs.set(moved, [...(movesMs.get(moved) ?? []), time.nowMs]);
  }

  private failOver(slots: MovingSlots, shard: number): void {
    slots.failOver(shard);
    this.failoversMs.push(this.time.nowMs);
  }

  private stick(): void {
    const standstill = { fromMs: this.time.nowMs, toMs: Number.POSITIVE_INFINITY };
    const isStuck = this.network.pick()?.stick(() => {
      standstill.toMs = this.time.nowMs;
    });
    if (isStuck) this.standstills.push(standstill);
  }

  private holdUp(ms: number): void {
    const { network, time, standstills } = this;
    network.heldUntilMs = time.nowMs + ms;
    standstills.push({ fromMs: time.nowMs, toMs: network.heldUntilMs });
  }

  private noteState(): void {
    const { cache } = this.client;
    const { entries, joined, evictions } = cache.stats();
    const clients = this.client instanceof Cluster ? this.client.nodes() : [this.client];
    let state = `${this.client.status},${Math.min(entries, 4)},${Math.min(joined, 1)},${Math.min(evictions, 1)}`;
    for (const client of clients) {
      const { status, connection } = client[LINK];
      state += `|${status},${(connection?.queue.inFlight ?? 0) > 0}`;
    }
    this.states.add(state);
  }

  // --- the books -------------------------------------------------------------------------------

  private check(): void {
    for (const call of this.calls) {
      if (call.settledTimes !== 1) this.complain(call, `settled ${call.settledTimes} times`);
      if (call.error !== null || isWrite(call)) continue;
      call.keys.forEach((key, index) => {
        const reply = call.kind === "mget" ? (call.reply as unknown[])[index] : call.reply;
        this.checkRead(call, key, reply);
      });
    }
  }

  private checkRead(call: Call, key: string, reply: unknown): void {
    const isAbsence = reply === null || reply === 0;
    // Replicas say of all keys of a slot that is being moved that they are missing; and so does a former master of
    // what was on its way to it.
    const mayReplicaAnswer = this.readsReplicas || this.failoversMs.length > 0;
    if (isAbsence && mayReplicaAnswer && this.slots?.hasMoved(slotOfKey(key)) === true) return;
    const versions: readonly Version[] = [{ atMs: 0, text: null }, ...(this.world.versions.get(key) ?? [])];
    const isSeen = ({ text, atMs }: Version): boolean =>
      atMs <= call.settledAtMs && (call.kind === "exists" ? (text === null ? 0 : 1) : text) === reply;
    const at = versions.findLastIndex(isSeen);
    if (at < 0) {
      this.complain(call, `${key} is ${reply}, which it has never been`);
      return;
    }
    const next = versions[at + 1];
    const ageMs = next === undefined ? 0 : call.atMs - next.atMs;
    const mostMs = this.latencyMs + 1;
    const isTold = call.isPrompt && (call.isFound || !isAbsence);
    if (ageMs > (isTold ? mostMs : mostMs + this.maxStaleMs + TICK_MS))
      this.complain(call, `${key} is ${reply}, which it has not been for ${ageMs} ms`);
    for (const { write, isOver } of call.after) {
      // A DEL that found nothing changed nothing.
      if (write.keys[0] !== key || write.error !== null || write.reply === 0) continue;
      if (!isOver && this.mayOvertake(write, key)) continue;
      const from = (write.had[0] as number) + 1;
      const text = write.kind === "set" ? write.token : null;
      const ran = versions.findIndex((version, order) => order >= from && version.text === text);
      if (ran > at) this.complain(call, `${key} is ${reply}, older than an own write`);
    }
  }

  /**
   * Order is kept for some time only where slots move, and not among nodes. A node that gets a slot between two
   * commands refuses the first and takes the second.
   */
  private mayOvertake(write: Call, key: string): boolean {
    if (this.readsReplicas) return true;
    const movesMs = this.movesMs.get(partOf(slotOfKey(key))) ?? [];
    if ([...movesMs, ...this.failoversMs].some((atMs) => atMs >= write.atMs && atMs <= write.settledAtMs))
      return true;
    if (this.slots?.hasMoved(slotOfKey(key)) !== true) return false;
    return this.standstills.some(
      ({ fromMs, toMs }) => toMs - fromMs > ORDER_LIMIT_MS && write.atMs < toMs && write.settledAtMs > fromMs,
    );
  }

  private complain({ kind, keys, atMs }: Call, what: string): void {
    this.problems.push(`${kind} ${keys.join()} at ${atMs}: ${what}`);
  }
}

function isWrite({ kind }: Call): boolean {
  return kind === "set" || kind === "del";
}

function issue(client: Issuer, { kind, keys, token }: Call): unknown {
  const [key] = keys as readonly [string];
  switch (kind) {
    case "get":
      return client.get(key);
    case "exists":
      return client.exists(key);
    case "mget":
      return client.mget(...keys);
    case "set":
      return client.set(key, token);
    case "del":
      return client.del(key);
  }
}
