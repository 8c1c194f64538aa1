/**
 * A real cluster of child processes: masters with their share of the 16,384 slots and replicas, built only with
 * CLUSTER commands. Later changes (slots moved, nodes killed, added, removed) are made on the nodes themselves;
 * this class does not record which node is master.
 */

import { freePort } from "./free-port";
import type { ServerBinary } from "./server-binary";
import { ServerProcess, type ServerProcessOptions } from "./server-process";
import { waitUntil } from "./wait-until";

const SLOTS = 16_384;
const FORMATION_TIMEOUT_MS = 30_000;
const MIGRATE_TIMEOUT_MS = 5_000;
const KEYS_PER_MIGRATE = 100;
const AGREEMENT_TIMEOUT_MS = 5_000;
const FAILOVER_PATIENCE_MS = 1_500;

export interface ServerClusterOptions {
  readonly binary: ServerBinary;
  readonly masters?: number;
  readonly replicasPerMaster?: number;
  readonly nodeTimeoutMs?: number;
  readonly config?: ServerProcessOptions["config"];
}

/** One line of CLUSTER NODES. */
export interface ClusterNodeLine {
  readonly id: string;
  readonly port: number;
  readonly flags: readonly string[];
  /** Id of the master of a replica, "-" for masters. */
  readonly masterId: string;
  /** Which of two that claim a slot is believed: the one with the higher epoch. */
  readonly configEpoch: number;
  readonly isConnected: boolean;
  readonly slotRanges: readonly (readonly [number, number])[];
}

function parseSlotRange(text: string): readonly [number, number] {
  const [first = "", last = first] = text.split("-");
  return [Number(first), Number(last)];
}

function parseNodeLine(line: string): ClusterNodeLine {
  const [id = "", address = "", flags = "", masterId = "", , , epoch = "", linkState = "", ...slots] =
    line.split(" ");
  return {
    id,
    port: Number(/:(\d+)@/.exec(address)?.[1]),
    flags: flags.split(","),
    masterId,
    configEpoch: Number(epoch),
    isConnected: linkState === "connected",
    slotRanges: slots.filter((range) => !range.startsWith("[")).map(parseSlotRange),
  };
}

function serves({ slotRanges }: ClusterNodeLine, slot: number): boolean {
  return slotRanges.some(([first, last]) => slot >= first && slot <= last);
}

export class ServerCluster {
  readonly nodes: ServerProcess[] = [];

  private constructor(private readonly options: ServerClusterOptions) {}

  /** Starts 3 masters with 1 replica each unless told otherwise, and waits until all of them agree. */
  static async start(options: ServerClusterOptions): Promise<ServerCluster> {
    const cluster = new ServerCluster(options);
    const { masters = 3, replicasPerMaster = 1 } = options;
    try {
      await Promise.all(Array.from({ length: masters * (1 + replicasPerMaster) }, () => cluster.startNode()));
      await cluster.form(masters);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Addresses of all nodes, as a client takes them for its start. */
  get seeds(): { host: string; port: number }[] {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  /** The view that one node (the first that runs, if not given) has of all. */
  async lines(from?: ServerProcess): Promise<ClusterNodeLine[]> {
    const node = from ?? this.nodes.find((candidate) => candidate.isRunning);
    if (node === undefined) throw new Error("No node of the cluster is running");
    const text = String(await node.command("CLUSTER", "NODES"));
    return text.trim().split("\n").map(parseNodeLine);
  }

  /** The running nodes that are masters with slots now. */
  async masters(): Promise<ServerProcess[]> {
    const lines = await this.lines();
    return this.nodesOf(lines.filter((line) => line.slotRanges.length > 0 && !line.flags.includes("fail")));
  }

  /** The running replicas, all or those of one master. */
  async replicas(master?: ServerProcess): Promise<ServerProcess[]> {
    const lines = await this.lines();
    const masterId = master === undefined ? undefined : lines.find((line) => line.port === master.port)?.id;
    return this.nodesOf(
      lines.filter(
        (line) => line.flags.includes("slave") && (masterId === undefined || line.masterId === masterId),
      ),
    );
  }

  /** The master that serves a slot. */
  async ownerOf(slot: number): Promise<ServerProcess> {
    const lines = await this.lines();
    const owner = lines.find((line) => serves(line, slot));
    const [node] = owner === undefined ? [] : this.nodesOf([owner]);
    if (node === undefined) throw new Error(`Slot ${slot} has no running owner`);
    return node;
  }

  async idOf(node: ServerProcess): Promise<string> {
    return String(await node.command("CLUSTER", "MYID"));
  }

  /** Opens the migration of a slot: the target imports, the source answers ASK for keys it has not. */
  async beginMigration(slot: number, target: ServerProcess): Promise<ServerProcess> {
    const [source, targetId] = await Promise.all([this.ownerOf(slot), this.idOf(target)]);
    await target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", await this.idOf(source));
    await source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", targetId);
    return source;
  }

  /** Moves the keys of a slot that is open for migration. */
  async moveKeys(slot: number, source: ServerProcess, target: ServerProcess): Promise<void> {
    for (;;) {
      const keys = await source.command("CLUSTER", "GETKEYSINSLOT", slot, KEYS_PER_MIGRATE);
      if (!Array.isArray(keys) || keys.length === 0) return;
      const destination = [target.host, target.port, "", 0, MIGRATE_TIMEOUT_MS, "REPLACE", "KEYS"];
      await source.command("MIGRATE", ...destination, ...keys.map(String));
    }
  }

  /** Closes the migration: every master learns the new owner, the target first, and all nodes agree about it. */
  async endMigration(slot: number, target: ServerProcess): Promise<void> {
    await this.assignSlot(slot, target);
    await this.untilAllAgree(slot, target).catch(async () => {
      // Late gossip has reverted the move, and no node claims the slot. With the highest epoch the target is
      // believed.
      await target.command("CLUSTER", "BUMPEPOCH");
      await this.assignSlot(slot, target);
      await this.untilAllAgree(slot, target);
    });
  }

  private async assignSlot(slot: number, target: ServerProcess): Promise<void> {
    const [targetId, masters] = await Promise.all([this.idOf(target), this.masters()]);
    const assignAt = (node: ServerProcess) => node.command("CLUSTER", "SETSLOT", slot, "NODE", targetId);
    await assignAt(target);
    // The others hear of it from the target too, and one of them may just have lost its office.
    const others = masters.filter((master) => master !== target);
    await Promise.all(others.map((master) => assignAt(master).catch(() => {})));
  }

  /** Moves a slot with all its keys. */
  async moveSlot(slot: number, target: ServerProcess): Promise<void> {
    const source = await this.ownerOf(slot);
    if (source === target) return;
    await this.beginMigration(slot, target);
    await this.moveKeys(slot, source, target);
    await this.endMigration(slot, target);
  }

  /** Hands the office of a master over to its replica, as a rolling upgrade does; returns the new master. */
  async failover(master: ServerProcess): Promise<ServerProcess> {
    let replica: ServerProcess | undefined;
    const isListed = async (): Promise<boolean> => {
      [replica] = await this.replicas(master);
      return replica !== undefined;
    };
    await waitUntil(isListed, { timeoutMs: FORMATION_TIMEOUT_MS, what: "the master to have a replica" });
    const successor = replica as unknown as ServerProcess;
    const id = await this.idOf(successor);
    let askAgainAtMs = 0;
    const isDone = async (): Promise<boolean> => {
      // A failover ends without effect when the others have voted for the same shard a moment ago.
      if (performance.now() >= askAgainAtMs) {
        askAgainAtMs = performance.now() + FAILOVER_PATIENCE_MS;
        await successor.command("CLUSTER", "FAILOVER").catch(() => {});
      }
      const line = (await this.lines(master)).find((one) => one.id === id);
      return line?.flags.includes("master") === true && line.slotRanges.length > 0;
    };
    await waitUntil(isDone, { timeoutMs: FORMATION_TIMEOUT_MS, what: "the replica to become the master" });
    await this.untilHealthy();
    return successor;
  }

  /** Starts an empty master and lets the others meet it. It owns no slot yet. */
  async addNode(): Promise<ServerProcess> {
    const known = this.nodes.find((node) => node.isRunning);
    if (known === undefined) throw new Error("No node of the cluster is running");
    const node = await this.startNode();
    await this.meet(node, known);
    await this.untilAllKnow(this.nodes.length);
    return node;
  }

  /** Takes a node without slots out of the cluster and ends it. */
  async removeNode(node: ServerProcess): Promise<void> {
    const id = await this.idOf(node);
    this.nodes.splice(this.nodes.indexOf(node), 1);
    await node.stop();
    for (const other of this.nodes) if (other.isRunning) await other.command("CLUSTER", "FORGET", id);
  }

  /** Waits until every running node sees all slots served and every replica is in step with its master. */
  async untilHealthy(timeoutMs = FORMATION_TIMEOUT_MS): Promise<void> {
    await waitUntil(() => this.isHealthy(), { timeoutMs, what: "a healthy cluster" });
  }

  /** Removes all keys of all masters. */
  async flush(): Promise<void> {
    await Promise.all((await this.masters()).map((master) => master.flush()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  private async startNode(): Promise<ServerProcess> {
    const node = await ServerProcess.start({
      binary: this.options.binary,
      config: {
        "cluster-enabled": "yes",
        "cluster-config-file": "nodes.conf",
        "cluster-node-timeout": this.options.nodeTimeoutMs ?? 2_000,
        "cluster-port": await freePort(),
        "cluster-replica-validity-factor": 0,
        "repl-diskless-sync": "yes",
        "repl-diskless-sync-delay": 0,
        ...this.options.config,
      },
    });
    this.nodes.push(node);
    return node;
  }

  private async form(masterCount: number): Promise<void> {
    const [first] = this.nodes;
    if (first === undefined) return;
    await Promise.all(
      this.nodes.map((node, index) => node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1)),
    );
    for (let index = 0; index < masterCount; index++) {
      const from = Math.floor((index * SLOTS) / masterCount);
      const to = Math.floor(((index + 1) * SLOTS) / masterCount) - 1;
      await this.nodes[index]?.command("CLUSTER", "ADDSLOTSRANGE", from, to);
    }
    for (const node of this.nodes.slice(1)) await this.meet(node, first);
    await this.untilAllKnow(this.nodes.length);
    for (const [index, replica] of this.nodes.slice(masterCount).entries()) {
      const master = this.nodes[index % masterCount];
      if (master !== undefined) await replica.command("CLUSTER", "REPLICATE", await this.idOf(master));
    }
    await this.untilHealthy();
  }

  private async meet(node: ServerProcess, known: ServerProcess): Promise<void> {
    const [, busPort = ""] = (await known.command("CONFIG", "GET", "cluster-port")) as string[];
    await node.command("CLUSTER", "MEET", known.host, known.port, busPort);
  }

  /**
   * Waits until every running node considers `target` the owner, and knows its epoch. A node that does not
   * would later take the slot without a higher epoch, and lose it to a late message of `target`, which has
   * given it away by then.
   */
  private async untilAllAgree(slot: number, target: ServerProcess): Promise<void> {
    const allAgree = async (): Promise<boolean> => {
      const running = this.nodes.filter((node) => node.isRunning);
      const views = await Promise.all(running.map((node) => this.lines(node)));
      const owners = views.map((lines) => lines.find((line) => serves(line, slot)));
      const own = owners[running.indexOf(target)];
      return owners.every((owner) => owner?.port === target.port && owner.configEpoch === own?.configEpoch);
    };
    await waitUntil(allAgree, {
      timeoutMs: AGREEMENT_TIMEOUT_MS,
      what: `all nodes to agree about slot ${slot}`,
    });
  }

  private async untilAllKnow(count: number): Promise<void> {
    const everyNodeKnows = async (): Promise<boolean> => {
      const views = await Promise.all(
        this.nodes.filter((node) => node.isRunning).map((node) => this.lines(node)),
      );
      return views.every(
        (lines) => lines.length === count && lines.every((line) => !line.flags.includes("handshake")),
      );
    };
    await waitUntil(everyNodeKnows, {
      timeoutMs: FORMATION_TIMEOUT_MS,
      what: "all nodes to know each other",
    });
  }

  /** All see the same owners, every owner holds itself for a master, every replica is in step. */
  private async isHealthy(): Promise<boolean> {
    const running = this.nodes.filter((node) => node.isRunning);
    const views = await Promise.all(
      running.map(async (node) => ({
        state: String(await node.command("CLUSTER", "INFO")),
        owners: await this.ownersSeenBy(node),
        replication: String(await node.command("INFO", "replication")),
        port: node.port,
      })),
    );
    const masters = new Set(
      (await this.lines()).filter((line) => line.slotRanges.length > 0).map(({ port }) => port),
    );
    return views.every(
      ({ state, owners, replication, port }) =>
        state.includes("cluster_state:ok") &&
        owners === views[0]?.owners &&
        (masters.has(port)
          ? replication.includes("role:master")
          : replication.includes("role:master") || replication.includes("master_link_status:up")),
    );
  }

  /** The nodes with their slots, replicas included, in a form that can be compared. */
  private async ownersSeenBy(node: ServerProcess): Promise<string> {
    // An entry of CLUSTER SLOTS is: first slot, last slot, master, replicas ...; a node: host, port ...
    const entries = (await node.command("CLUSTER", "SLOTS")) as [number, number, ...[string, number][]][];
    const described = entries.map(([first, last, master, ...replicas]) => {
      const followers = replicas.map(([, port]) => port).sort((left, right) => left - right);
      return [first, last, master?.[1], ...followers];
    });
    return JSON.stringify(described.sort(([left = 0], [right = 0]) => left - right));
  }

  private nodesOf(lines: readonly ClusterNodeLine[]): ServerProcess[] {
    return this.nodes.filter((node) => node.isRunning && lines.some((line) => line.port === node.port));
  }
}
