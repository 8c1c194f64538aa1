/**
 * Freezes the process of a program at its request, as AWS Lambda does between two invocations. The process
 * stops, and its connections through the proxy of the freezer are lost meanwhile. New connections work.
 */

import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, NetConnectOpts } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { FaultProxy } from "../../testing/src/faults/fault-proxy";

export class Freezer {
  private constructor(
    private readonly proxy: FaultProxy,
    private readonly server: Server,
    private readonly durationMs: number,
  ) {}

  static async start(target: NetConnectOpts, durationMs: number): Promise<Freezer> {
    const server = createServer((request, response) => {
      void freezer.freeze(Number(request.url?.slice(1)), response);
    });
    const freezer = new Freezer(await FaultProxy.start(target), server, durationMs);
    await once(server.listen(0, "127.0.0.1"), "listening");
    return freezer;
  }

  /** The address of the proxy. With the id of a process behind it, the URL stops that process and answers after the thaw. */
  get surroundings(): { address: { host: string; port: number }; url: string } {
    const { port } = this.server.address() as AddressInfo;
    return { address: { host: "127.0.0.1", port: this.proxy.port }, url: `http://127.0.0.1:${port}` };
  }

  async stop(): Promise<void> {
    this.server.close();
    await this.proxy.stop();
  }

  private async freeze(pid: number, response: ServerResponse): Promise<void> {
    this.proxy.isolate();
    process.kill(pid, "SIGSTOP");
    try {
      await sleep(this.durationMs);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    response.end();
  }
}
