/**
 * A cluster of scripted servers, for answers that real nodes cannot be brought to give. Each
 * node answers CLUSTER SLOTS with the table of the fixture and keeps a string for each key it is
 * given; a test puts its own answers in front.
 */

import { type FakeConnection, type FakeReply, FakeServer, NO_REPLY, status } from "./fake-server";

const SLOTS = 16_384;

/** Gets the words of a command; `undefined` leaves the answer to the node. */
export type NodeScript = (words: string[], connection: FakeConnection) => FakeReply | undefined;

export class FakeNode {
  readonly values = new Map<string, string>();
  /** Asked before anything else. */
  script: NodeScript | null = null;

  constructor(
    readonly server: FakeServer,
    private readonly home: FakeCluster,
  ) {
    server.handler = (words, connection) => this.answer(words, connection);
  }

  get key(): string {
    return `${this.server.host}:${this.server.port}`;
  }

  /** Commands of a name that came, in order. */
  received(name: string): string[][] {
    return this.server.received.filter(([word]) => word?.toLowerCase() === name);
  }

  private answer(words: string[], connection: FakeConnection): FakeReply | undefined {
    const own = this.script?.(words, connection);
    if (own !== undefined) return own;
    const [name = "", first = "", second = ""] = words;
    switch (name.toLowerCase()) {
      case "cluster":
        return first.toLowerCase() === "slots" ? this.home.slots() : "cluster_state:ok\r\n";
      case "asking":
      case "readonly":
        return status("OK");
      case "quit":
        connection.socket.end("+OK\r\n");
        return NO_REPLY;
      case "get":
        return this.values.get(first) ?? null;
      case "set":
        this.values.set(first, second);
        return status("OK");
      default:
        return undefined;
    }
  }
}

export class FakeCluster {
  readonly nodes: FakeNode[] = [];
  /** Answers CLUSTER SLOTS; by default the slots are dealt out evenly. */
  slots: () => FakeReply = () => this.evenSlots();

  static async start(size: number, port = 0): Promise<FakeCluster> {
    const cluster = new FakeCluster();
    for (let i = 0; i < size; i++)
      cluster.nodes.push(new FakeNode(await FakeServer.start(undefined, port), cluster));
    return cluster;
  }

  get seeds(): { host: string; port: number }[] {
    return this.nodes.map(({ server }) => ({ host: server.host, port: server.port }));
  }

  node(index: number): FakeNode {
    return this.nodes[index] as FakeNode;
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map(({ server }) => server.stop()));
  }

  private evenSlots(): FakeReply {
    const share = Math.ceil(SLOTS / this.nodes.length);
    return this.nodes.map(({ server }, i) => [
      i * share,
      Math.min((i + 1) * share, SLOTS) - 1,
      [server.host, server.port, `id${i}`],
    ]);
  }
}
