/**
 * A cluster inside one process: the owner of each slot, the master of each shard, and the slots that are
 * moving. All nodes learn of a change immediately. A node decides whether a command is for it.
 */

import { ErrorReply, type ReplyValue } from "../protocol/reply";
import { keysOf } from "../server/command-keys";
import { Flag } from "../server/flags";
import type { ClientSession, ClusterPlace, CommandEntry, ServerEngine } from "../server/model";
import type { Shard } from "./shard";
import { ask, moved, SLOTS, slotOf } from "./slots";

/** A slot that is moving between two shards: either of them may have its keys. */
export interface Migration {
  readonly from: Shard;
  readonly to: Shard;
}

const CROSS_SLOT = "CROSSSLOT Keys in request don't hash to the same slot";
const TRY_AGAIN = "TRYAGAIN Multiple keys request during rehashing of slot";
/** Its keys are those of the queued commands. */
const EXEC = "exec";

interface Part {
  readonly shard: Shard;
  readonly isMaster: boolean;
  readonly epoch: number;
}

export class ClusterNode implements ClusterPlace {
  readonly id: string;
  readonly host = "127.0.0.1";
  readonly shard: Shard;
  isReplica: boolean;
  epoch: number;
  isDown = false;

  constructor(
    readonly cluster: Cluster,
    readonly engine: ServerEngine,
    { shard, isMaster, epoch }: Part,
  ) {
    this.id = engine.runId;
    this.shard = shard;
    this.isReplica = !isMaster;
    this.epoch = epoch;
  }

  get port(): number {
    return this.engine.port;
  }

  get replicas(): ClusterNode[] {
    return this.cluster.nodes.filter((node) => node.shard === this.shard && node.isReplica);
  }

  get replicaCount(): number {
    return this.isReplica ? 0 : this.replicas.length;
  }

  get master(): ClusterNode {
    return this.cluster.masterOf(this.shard) ?? this;
  }

  /** Throws MOVED, ASK, TRYAGAIN, CROSSSLOT or CLUSTERDOWN if the command is not for this node. */
  route(session: ClientSession, entry: CommandEntry, args: readonly string[]): void {
    const keys = this.keysFor(session, entry, args);
    if (keys.length === 0) return;
    const slot = slotOf(keys[0] as string);
    if (keys.some((key) => slotOf(key) !== slot)) throw new ErrorReply(CROSS_SLOT);
    const owner = this.cluster.ownerOf(slot);
    if (owner === null) throw new ErrorReply("CLUSTERDOWN Hash slot not served");
    const isArriving = this.cluster.migrations.get(slot)?.to === this.shard && !this.isReplica;
    const isRead = (entry.flags & Flag.Write) === 0;
    if (owner === this) this.checkMigration(slot, entry, keys);
    else if (isArriving && (session.isAsking || entry.name === "restore-asking")) this.checkImport(keys);
    else if (owner.shard !== this.shard || !session.readsReplica || !isRead) throw moved(slot, owner);
  }

  role(): ReplyValue {
    if (this.isReplica) return ["slave", this.master.host, this.master.port, "connected", 0];
    return ["master", 0, this.replicas.map(({ host, port }) => [host, String(port), "0"])];
  }

  private keysFor(session: ClientSession, entry: CommandEntry, args: readonly string[]): readonly string[] {
    if (entry.name !== EXEC) return keysOf(entry, args);
    return session.transaction?.commands.flatMap((queued) => keysOf(queued.entry, queued.args)) ?? [];
  }

  /** Keys of a slot that is moving away may have left. */
  private checkMigration(slot: number, entry: CommandEntry, keys: readonly string[]): void {
    const migration = this.cluster.migrations.get(slot);
    if (migration?.from !== this.shard || entry.group === "pubsub") return;
    const missing = keys.filter((key) => this.engine.database(0).find(key) === undefined).length;
    if (missing === 0) return;
    if (missing < keys.length) throw new ErrorReply(TRY_AGAIN);
    const target = this.cluster.masterOf(migration.to);
    if (target !== null) throw ask(slot, target);
  }

  /** If a command on an arriving slot has several keys, all of them must have arrived. */
  private checkImport(keys: readonly string[]): void {
    const isMissing = keys.some((key) => this.engine.database(0).find(key) === undefined);
    if (keys.length > 1 && isMissing) throw new ErrorReply(TRY_AGAIN);
  }
}

export class Cluster {
  readonly nodes: ClusterNode[] = [];
  /** By slot. */
  private readonly owners: (Shard | null)[] = new Array<Shard | null>(SLOTS).fill(null);
  readonly migrations = new Map<number, Migration>();
  private lastEpoch = 0;

  /** Adds a node; the first one of a shard is its master. */
  add(engine: ServerEngine, shard: Shard): ClusterNode {
    const isMaster = this.masterOf(shard) === null;
    const node = new ClusterNode(this, engine, { shard, isMaster, epoch: isMaster ? ++this.lastEpoch : 0 });
    this.nodes.push(node);
    return node;
  }

  get masters(): ClusterNode[] {
    return this.nodes.filter(({ isReplica }) => !isReplica);
  }

  get epoch(): number {
    return this.lastEpoch;
  }

  masterOf(shard: Shard): ClusterNode | null {
    return this.nodes.find((node) => node.shard === shard && !node.isReplica) ?? null;
  }

  shardOf(slot: number): Shard | null {
    return this.owners[slot] ?? null;
  }

  ownerOf(slot: number): ClusterNode | null {
    const shard = this.shardOf(slot);
    return shard === null ? null : this.masterOf(shard);
  }

  /** Assigns a slot to a shard; null removes its owner. No keys are moved. */
  assign(slot: number, shard: Shard | null): void {
    this.owners[slot] = shard;
    this.migrations.delete(slot);
  }

  /** All slots in equal parts to the masters. */
  share(): void {
    const { masters } = this;
    for (let slot = 0; slot < SLOTS; slot++) {
      const master = masters[Math.floor((slot * masters.length) / SLOTS)] as ClusterNode;
      this.owners[slot] = master.shard;
    }
  }

  /** First and last slot of each run that a shard has. */
  rangesOf(shard: Shard): [number, number][] {
    const ranges: [number, number][] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      if (this.owners[slot] !== shard) continue;
      const last = ranges[ranges.length - 1];
      if (last !== undefined && last[1] === slot - 1) last[1] = slot;
      else ranges.push([slot, slot]);
    }
    return ranges;
  }

  keysIn(shard: Shard, slot: number): string[] {
    const database = shard.databases[0];
    return database === undefined ? [] : [...database.liveKeys()].filter((key) => slotOf(key) === slot);
  }

  /** Starts to move the slot: both shards answer for the keys that they have. */
  beginMove(slot: number, to: Shard): void {
    const from = this.shardOf(slot);
    if (from !== null && from !== to) this.migrations.set(slot, { from, to });
  }

  /** Moves keys to the shard to which their slot is moving. */
  moveKeys(slot: number, keys: readonly string[]): void {
    const migration = this.migrations.get(slot);
    const [from, to] = [migration?.from.databases[0], migration?.to.databases[0]];
    if (from === undefined || to === undefined) return;
    for (const key of keys) {
      const entry = from.find(key);
      if (entry === undefined) continue;
      const { value, expireAt, form } = entry;
      from.delete(key);
      from.modified(key, "g", "del");
      to.set(key, typeof value === "string" ? value : value.clone(), { expireAt, form });
      to.modified(key, "g", "restore");
    }
  }

  /** The slot has arrived: its remaining keys move too, and blocked callers are redirected. */
  endMove(slot: number): void {
    const migration = this.migrations.get(slot);
    if (migration === undefined) return;
    this.moveKeys(slot, this.keysIn(migration.from, slot));
    this.assign(slot, migration.to);
    const owner = this.ownerOf(slot);
    if (owner === null) return;
    owner.epoch = ++this.lastEpoch;
    for (const node of this.nodes) if (node.shard === migration.from) this.sendOn(node, slot, owner);
  }

  /** A replica becomes the master of its shard; callers blocked at the old master are notified. */
  promote(node: ClusterNode): void {
    const old = this.masterOf(node.shard);
    if (old === node || old === null) return;
    old.isReplica = true;
    node.isReplica = false;
    node.epoch = ++this.lastEpoch;
    old.engine.blocking.endAll(
      "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
    );
  }

  private sendOn(node: ClusterNode, slot: number, owner: ClusterNode): void {
    const { blocking, sessions } = node.engine;
    blocking.endAll(moved(slot, owner).message, (key) => slotOf(key) === slot);
    for (const session of sessions.values()) {
      const { shardChannels } = session.subscriptions;
      for (const channel of [...shardChannels].filter((name) => slotOf(name) === slot)) {
        shardChannels.delete(channel);
        node.engine.pubsub.remove("shardChannels", channel, session);
        session.push(["sunsubscribe", channel, shardChannels.size]);
      }
    }
  }
}
