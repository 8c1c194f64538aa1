/**
 * Cuts a node of a real cluster off from the others, while clients can still reach it. All nodes
 * announce a proxy in place of their bus port. Packets of the bus carry the id of their sender,
 * so that both the connections to the node that is cut off and those from it are dropped.
 */

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { ServerCluster } from "../../scripts/servers/server-cluster";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";

/** Header of a packet: the id of the sender follows 40 bytes of other fields. */
const SENDER_FROM = 40;
const SENDER_TO = 80;
const ANNOUNCE_TIMEOUT_MS = 10_000;

class BusProxy {
  private readonly server: Server = createServer();
  private readonly sockets = new Map<Socket, string>();

  constructor(
    private readonly ownerId: string,
    private readonly target: { host: string; port: number },
    private readonly isCut: (id: string) => boolean,
  ) {
    this.server.on("connection", (socket) => this.accept(socket));
  }

  listen(): Promise<number> {
    return new Promise((resolve) => {
      this.server.listen(0, this.target.host, () => resolve((this.server.address() as AddressInfo).port));
    });
  }

  /** Drops the connections that are cut by now. */
  apply(): void {
    for (const [socket, sender] of this.sockets) {
      if (this.isCut(this.ownerId) || this.isCut(sender)) socket.destroy();
    }
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets.keys()) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private accept(near: Socket): void {
    if (this.isCut(this.ownerId)) {
      near.destroy();
      return;
    }
    const far = connect(this.target);
    this.sockets.set(near, "");
    let head: Buffer = Buffer.alloc(0);
    near.on("data", (chunk: Buffer) => {
      if (head.length < SENDER_TO) {
        head = Buffer.concat([head, chunk]);
        if (head.length >= SENDER_TO) this.sockets.set(near, head.toString("latin1", SENDER_FROM, SENDER_TO));
      }
      if (this.isCut(this.sockets.get(near) ?? "")) near.destroy();
      else far.write(chunk);
    });
    far.on("data", (chunk: Buffer) => near.write(chunk));
    for (const [socket, peer] of [
      [near, far],
      [far, near],
    ] as const) {
      socket.on("error", () => {});
      socket.on("close", () => {
        this.sockets.delete(near);
        peer.destroy();
      });
    }
  }
}

export class BusCuts {
  private readonly proxies: BusProxy[] = [];
  private readonly cutIds = new Set<string>();

  /** Puts proxies between all nodes, and waits until the nodes use them. */
  static async between(cluster: ServerCluster): Promise<BusCuts> {
    const cuts = new BusCuts();
    const ports = new Map<string, number>();
    for (const node of cluster.nodes) {
      const id = await cluster.idOf(node);
      const [, busPort = ""] = (await node.command("CONFIG", "GET", "cluster-port")) as string[];
      const target = { host: node.host, port: Number(busPort) };
      const proxy = new BusProxy(id, target, (one) => cuts.cutIds.has(one));
      cuts.proxies.push(proxy);
      ports.set(id, await proxy.listen());
      await node.command("CONFIG", "SET", "cluster-announce-bus-port", ports.get(id) ?? 0);
    }
    const areUsed = async (): Promise<boolean> => {
      for (const node of cluster.nodes) {
        const text = String(await node.command("CLUSTER", "NODES"));
        for (const line of text.trim().split("\n")) {
          if (!line.includes("myself") && !line.includes(`@${ports.get(line.split(" ")[0] ?? "")} `))
            return false;
        }
      }
      return true;
    };
    await waitUntil(areUsed, { timeoutMs: ANNOUNCE_TIMEOUT_MS, what: "the proxies to be used" });
    return cuts;
  }

  /** Cuts a node off from all others. */
  async isolate(cluster: ServerCluster, node: ServerProcess): Promise<void> {
    this.cutIds.add(await cluster.idOf(node));
    for (const proxy of this.proxies) proxy.apply();
  }

  heal(): void {
    this.cutIds.clear();
  }

  async stop(): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy.stop()));
  }
}
