/** A cluster of test servers: creates and joins its nodes, and changes them on command. */

import { Cluster, type ClusterNode } from "./cluster/cluster";
import { Shard } from "./cluster/shard";
import { slotOf } from "./cluster/slots";
import { FaultSwitches, type NodeChoice } from "./faults/fault-switches";
import { Clock } from "./keyspace/clock";
import type { Database } from "./keyspace/database";
import { Randomness } from "./keyspace/randomness";
import { toBytes } from "./protocol/numbers";
import { Engine, type EngineParts } from "./server/engine";
import { Listener } from "./server/listener";
import type { ServerVersion } from "./server/version";
import { ServerState, stateOf } from "./server-state";

/** One node of a cluster, as tests see it. */
export class TestNode {
  readonly host = "127.0.0.1";
  readonly listener: Listener;

  /** Not for tests: `TestServer.start` makes it. */
  constructor(
    private readonly node: ClusterNode,
    readonly engine: Engine,
  ) {
    this.listener = new Listener(engine);
  }

  get port(): number {
    return this.engine.port;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** As CLUSTER MYID. */
  get id(): string {
    return this.node.id;
  }

  get isMaster(): boolean {
    return !this.node.isReplica;
  }

  /** The data of the node; a replica has the data of its master. */
  get state(): ServerState {
    return stateOf(this.engine, 0);
  }

  /** How many clients are connected to it. */
  get connections(): number {
    return this.engine.sessions.size;
  }

  /** Cuts its connections and listens no more; `up` ends it. */
  async down(): Promise<void> {
    this.node.isDown = true;
    this.engine.alarm.stop();
    await this.listener.close();
  }

  /** Listens again, on the same port. */
  async up(): Promise<void> {
    await this.listen(this.port);
    this.node.isDown = false;
  }

  /** Not for tests. */
  async listen(port: number): Promise<void> {
    this.engine.port = await this.listener.listen(port);
  }
}

export class TestCluster {
  readonly nodes: readonly TestNode[];
  private readonly cluster = new Cluster();
  /** In the order in which they were made, whichever node is the master. */
  private readonly shards: readonly Shard[];

  constructor(
    version: ServerVersion,
    { masters, replicas, seed }: { masters: number; replicas: number; seed?: number },
  ) {
    const parts: EngineParts = {
      clock: new Clock(),
      random: new Randomness(seed),
      faults: new FaultSwitches(),
    };
    const nodes: TestNode[] = [];
    const shards: Shard[] = [];
    const add = (shard: Shard): void => {
      const engine = new Engine(version, { ...parts, databases: shard.databases });
      const node = this.cluster.add(engine, shard);
      engine.cluster = node;
      shard.join(engine);
      nodes.push(new TestNode(node, engine));
    };
    for (let index = 0; index < masters; index++) {
      const shard = new Shard(parts.random.hex(40), parts.clock);
      shards.push(shard);
      add(shard);
    }
    for (const shard of shards) for (let index = 0; index < replicas; index++) add(shard);
    this.cluster.share();
    this.shards = shards;
    this.nodes = nodes;
    for (const { engine } of nodes) {
      engine.configuration.put("cluster-enabled", "yes");
      for (const other of nodes) {
        if (other.engine === engine) continue;
        engine.pubsub.peers.push(other.engine.pubsub);
        if (other.engine.database(0) === engine.database(0))
          engine.pubsub.shardPeers.push(other.engine.pubsub);
      }
    }
    this.control(parts.faults);
  }

  /** The keys of all masters. */
  get state(): ServerState {
    const { cluster } = this;
    const databaseOf = (key: string) =>
      (cluster.ownerOf(slotOf(key))?.shard.databases[0] ??
        cluster.masters[0]?.shard.databases[0]) as Database;
    const databases = cluster.masters.flatMap(({ shard }) => shard.databases.slice(0, 1));
    return new ServerState({ databases, now: this.nodes[0]?.engine.clock.now ?? 0, databaseOf });
  }

  /** The databases of each shard, once. */
  get databases(): readonly Database[] {
    return this.shards.flatMap(({ databases }) => [...databases]);
  }

  /** The master of a slot, or of a key's. */
  ownerOf(slotOrKey: number | string): TestNode {
    const slot = typeof slotOrKey === "number" ? slotOrKey : slotOf(toBytes(slotOrKey));
    const owner = this.cluster.ownerOf(slot);
    const found = this.nodes.find(({ id }) => id === owner?.id);
    if (found === undefined) throw new Error(`Slot ${slot} has no owner`);
    return found;
  }

  private control(faults: FaultSwitches): void {
    faults.cluster = {
      move: (slot, choice) => {
        const { shard } = this.memberOf(choice);
        if (this.cluster.migrations.get(slot)?.to !== shard) this.cluster.beginMove(slot, shard);
        this.cluster.endMove(slot);
      },
      beginMove: (slot, choice, keys) => {
        this.cluster.beginMove(slot, this.memberOf(choice).shard);
        this.cluster.moveKeys(slot, keys.map(toBytes));
      },
      failover: (choice) => {
        const member = this.memberOf(choice);
        const [replica] = member.isReplica ? [member] : member.replicas.filter(({ isDown }) => !isDown);
        if (replica === undefined) throw new Error("This master has no replica; start with { replicas: 1 }");
        this.cluster.promote(replica);
      },
    };
  }

  private memberOf(choice: NodeChoice): ClusterNode {
    const node =
      typeof choice === "number"
        ? (this.nodes[choice] ?? this.nodes.find(({ port }) => port === choice))
        : choice;
    const member = this.cluster.nodes.find(({ id }) => id === node?.id);
    if (member === undefined) throw new RangeError(`The cluster has no node ${String(choice)}`);
    return member;
  }
}
