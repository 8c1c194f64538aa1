/**
 * A simulated cluster of hundreds of nodes: one process that listens on many ports and replies like a cluster
 * whose slots never move. It shows the client's cost of routing, connecting and refreshing, and nothing about
 * servers.
 *
 *   node light-cluster.js <nodes>     prints the ports as JSON, ends when stdin closes
 *
 * Every key exists and has the text that the data set gives it.
 */

import { createHash } from "node:crypto";
import net from "node:net";
import { textOf } from "./dataset";

const HOST = "127.0.0.1";
const SLOT_COUNT = 16_384;
const OK = "+OK\r\n";

interface LightNode {
  readonly port: number;
  readonly id: string;
  readonly fromSlot: number;
  readonly toSlot: number;
}

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const list = (items: readonly string[]): string => `*${items.length}\r\n${items.join("")}`;

class LightCluster {
  private nodes: LightNode[] = [];
  private readonly values = new Map<string, string>();
  private slots = "";
  private shards = "";

  async listen(count: number): Promise<number[]> {
    const ports: number[] = [];
    for (let index = 0; index < count; index++) ports.push(await this.open());
    this.nodes = ports.map((port, index) => ({
      port,
      id: createHash("sha1").update(String(port)).digest("hex"),
      fromSlot: Math.ceil((index * SLOT_COUNT) / count),
      toSlot: Math.ceil(((index + 1) * SLOT_COUNT) / count) - 1,
    }));
    this.slots = list(this.nodes.map(slotsEntry));
    this.shards = list(this.nodes.map(shardsEntry));
    return ports;
  }

  private open(): Promise<number> {
    return new Promise((resolve) => {
      const server = net.createServer({ noDelay: true }, (socket) => this.serve(socket));
      server.listen(0, HOST, 1024, () => resolve((server.address() as net.AddressInfo).port));
    });
  }

  private serve(socket: net.Socket): void {
    let rest = "";
    socket.setEncoding("latin1");
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: string) => {
      const { requests, end } = readRequests(rest + chunk);
      rest = end;
      if (requests.length > 0) socket.write(requests.map((words) => this.answer(words)).join(""));
    });
  }

  private answer(words: readonly string[]): string {
    switch (words[0]?.toUpperCase()) {
      case "GET":
        return this.value(words[1] ?? "");
      case "TTL":
        return ":-1\r\n";
      case "EXISTS":
        return ":1\r\n";
      case "PING":
        return "+PONG\r\n";
      case "HELLO":
        return `%3\r\n${["server", "redis", "version", "7.0.15"].map(bulk).join("")}${bulk("proto")}:${words[1] ?? 2}\r\n`;
      case "INFO":
        return bulk("redis_version:7.0.15\r\nredis_mode:cluster\r\ncluster_enabled:1\r\nloading:0\r\n");
      case "CLUSTER":
        return this.answerCluster(words[1]?.toUpperCase());
      case "COMMAND":
        return "*0\r\n";
      default:
        return OK;
    }
  }

  private answerCluster(word: string | undefined): string {
    if (word === "SLOTS") return this.slots;
    if (word === "SHARDS") return this.shards;
    if (word === "INFO") return bulk(`cluster_state:ok\r\ncluster_known_nodes:${this.nodes.length}\r\n`);
    return OK;
  }

  private value(key: string): string {
    let reply = this.values.get(key);
    if (reply === undefined) {
      reply = bulk(textOf(key, 16));
      this.values.set(key, reply);
    }
    return reply;
  }
}

function slotsEntry({ fromSlot, toSlot, port, id }: LightNode): string {
  return list([`:${fromSlot}\r\n`, `:${toSlot}\r\n`, list([bulk(HOST), `:${port}\r\n`, bulk(id), "*0\r\n"])]);
}

function shardsEntry({ fromSlot, toSlot, port, id }: LightNode): string {
  const texts = { id, ip: HOST, endpoint: HOST, role: "master", health: "online" };
  const fields = Object.entries(texts).flatMap(([name, text]) => [bulk(name), bulk(text)]);
  const node = list([...fields, bulk("port"), `:${port}\r\n`, bulk("replication-offset"), ":0\r\n"]);
  return list([bulk("slots"), list([`:${fromSlot}\r\n`, `:${toSlot}\r\n`]), bulk("nodes"), list([node])]);
}

/** Complete requests at the beginning of the text, and what is left of it. */
function readRequests(text: string): { requests: string[][]; end: string } {
  const requests: string[][] = [];
  let at = 0;
  for (;;) {
    const request = readRequest(text, at);
    if (request === undefined) return { requests, end: text.slice(at) };
    requests.push(request.words);
    at = request.end;
  }
}

function readRequest(text: string, start: number): { words: string[]; end: number } | undefined {
  let lineEnd = text.indexOf("\r\n", start);
  if (lineEnd < 0) return undefined;
  let left = Number(text.slice(start + 1, lineEnd));
  let at = lineEnd + 2;
  const words: string[] = [];
  for (; left > 0; left--) {
    lineEnd = text.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const length = Number(text.slice(at + 1, lineEnd));
    at = lineEnd + 2 + length + 2;
    if (at > text.length) return undefined;
    words.push(text.slice(lineEnd + 2, lineEnd + 2 + length));
  }
  return { words, end: at };
}

new LightCluster().listen(Number(process.argv[2])).then((ports) => {
  process.stdout.write(`${JSON.stringify(ports)}\n`);
  process.stdin.resume();
  process.stdin.on("close", () => process.exit(0));
});
