/**
 * Very many commands that fail together: a client is closed while all of them wait for their replies.
 *
 * The result is the time for which the event loop is blocked. The server replies until the client is ready,
 * then it reads without replying, and closes with the client. It runs in the same process and is idle while
 * the time is measured.
 */

import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createSide, type SideName } from "../sides/all-sides";
import { IoredisSide } from "../sides/ioredis-side";
import type { Figures } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";

interface FailingRow extends Row {
  /** Commands in one pipeline; absent: single commands. */
  readonly batch?: number;
}

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey"];
const COMMANDS = 100_000;
const WARM_COMMANDS = 2000;
const WARM_PASSES = 3;
/** Resolves when the issued commands are written. */
const WRITTEN_MS = 1000;
const CLOSED_MS = 50;

export const failingTogether: Scenario<FailingRow> = {
  id: "failing-together",
  title: "Commands that fail together",
  about:
    "A client is closed while 100,000 GETs wait for their replies. The figure is the CPU time until all of them have failed, which blocks the event loop. ioredis rejects all of them with one error object. sluice creates an error with the command for each call.",
  isOffline: true,
  columns: [{ figure: "failMs", title: "CPU ms", digits: 0, pick: "least" }],
  rows: [
    { id: "fail-singles", title: "100,000 single commands", sides: SIDES },
    { id: "fail-pipelines", title: "1,000 pipelines of 100", batch: 100, sides: SIDES },
  ],
  measure: measureFailing,
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Answers what clients ask until they are ready, and nothing from `silence` on. */
class SilentServer {
  private readonly sockets = new Set<Socket>();
  private isSilent = false;

  private constructor(private readonly server: Server) {
    server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        if (!this.isSilent) this.answer(socket, chunk.toString("latin1"));
      });
    });
  }

  static async start(): Promise<SilentServer> {
    // It does not close by itself when the client has closed its side.
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new SilentServer(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  silence(): void {
    this.isSilent = true;
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private answer(socket: Socket, text: string): void {
    for (const [, word] of text.matchAll(/\r\n(hello|info|client|ping|select)\r\n/gi)) {
      const name = (word as string).toLowerCase();
      if (name === "hello") socket.write("-ERR unknown command 'hello'\r\n");
      else socket.write(name === "info" ? "$9\r\nloading:0\r\n" : name === "ping" ? "+PONG\r\n" : "+OK\r\n");
    }
  }
}

async function failAll({ batch }: FailingRow, sideName: SideName, commands: number): Promise<number> {
  const server = await SilentServer.start();
  const side = createSide(sideName);
  if (!(side instanceof IoredisSide)) throw new Error(`${sideName} cannot be closed with commands in flight`);
  await side.connect(
    { nodes: [{ host: "127.0.0.1", port: server.port }], isCluster: false },
    { autoPipelining: false },
  );
  server.silence();
  const client = side.connected();
  let failed = 0;
  const settled: Promise<void>[] = [];
  const note = (error: unknown): void => void (error instanceof Error && failed++);
  const noteRows = (rows: [Error | null, unknown][]): void => {
    for (const [error] of rows) note(error);
  };
  if (batch === undefined) {
    for (let i = 0; i < commands; i++) settled.push(client.get(`key:${i}`).then(() => undefined, note));
  } else {
    for (let from = 0; from < commands; from += batch) {
      const pipeline = client.pipeline();
      for (let i = from; i < from + batch; i++) pipeline.get(`key:${i}`);
      const rows = pipeline.exec() as Promise<[Error | null, unknown][]>;
      settled.push(rows.then(noteRows));
    }
  }
  await pause(WRITTEN_MS);
  const from = process.cpuUsage();
  client.disconnect();
  await pause(CLOSED_MS);
  server.stop();
  await Promise.all(settled);
  const { user, system } = process.cpuUsage(from);
  if (failed !== commands) throw new Error(`${failed} of ${commands} commands have failed`);
  return (user + system) / 1000;
}

async function measureFailing(row: FailingRow, { sideName }: SampleContext): Promise<Figures> {
  for (let pass = 0; pass < WARM_PASSES; pass++) await failAll(row, sideName, WARM_COMMANDS);
  return { failMs: await failAll(row, sideName, COMMANDS) };
}
