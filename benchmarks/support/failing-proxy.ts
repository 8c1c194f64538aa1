/**
 * A TCP proxy whose open connections fail on request. Runs in a separate process.
 *
 *   node failing-proxy.js <server host> <server port>      prints its port, ends when stdin closes
 *
 * It reads commands from stdin, one per line: `reset` resets all open connections; `silence` stops forwarding
 * over them, like a firewall that has dropped their state. New connections work.
 */

import net from "node:net";
import { createInterface } from "node:readline";

const open = new Set<net.Socket>();

function serve(host: string, port: number): void {
  const server = net.createServer({ noDelay: true }, (client) => {
    const upstream = net.connect({ host, port, noDelay: true });
    open.add(client);
    client.on("close", () => {
      open.delete(client);
      upstream.destroy();
    });
    for (const socket of [client, upstream]) socket.on("error", () => {});
    upstream.on("end", () => client.end());
    client.pipe(upstream, { end: false }).pipe(client, { end: false });
    client.on("end", () => upstream.end());
  });
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as net.AddressInfo).port}\n`);
  });
}

function fail(word: string): void {
  for (const client of open) {
    if (word === "reset") client.resetAndDestroy();
    else {
      client.unpipe();
      client.removeAllListeners("data");
      client.resume();
    }
  }
}

const words = createInterface({ input: process.stdin });
words.on("line", fail);
words.on("close", () => process.exit(0));
serve(process.argv[2] as string, Number(process.argv[3]));
