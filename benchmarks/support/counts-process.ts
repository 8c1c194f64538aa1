/**
 * Counts in a separate process and prints one line of JSON.
 *
 *   node <COUNT_FLAGS> counts-process.js <module with the client class> <port> [<module of the telemetry>]
 *
 * With the third argument, the program subscribes to all channels of the client, and unsubscribes before the
 * count.
 */

import { type TracingChannelSubscribers, tracingChannel } from "node:diagnostics_channel";
import type { IoredisLikeClass } from "../sides/ioredis-side";
import { countLoads } from "./counts";

interface Telemetry {
  instrument(): { disable(): void };
}
interface Client {
  get(key: string): Promise<unknown>;
  pipeline(): { get(key: string): { exec(): Promise<unknown> } };
  quit(): Promise<unknown>;
}
type ClientClass = new (options: object) => Client;

const CHANNELS = ["ioredis:command", "ioredis:batch", "sluice:pipeline", "sluice:flush", "sluice:connection"];

const [, , modulePath, port, telemetryPath] = process.argv;

/** Subscribes to everything while a client works, then unsubscribes. */
async function listenOnce(Redis: ClientClass, { instrument }: Telemetry): Promise<void> {
  const listener = { start() {}, asyncEnd() {} } as unknown as TracingChannelSubscribers<object>;
  for (const name of CHANNELS) tracingChannel<unknown, object>(name).subscribe(listener);
  const { disable } = instrument();
  const client = new Redis({ port: Number(port) });
  await Promise.all([client.get("a"), client.pipeline().get("a").exec()]);
  await client.quit();
  disable();
  for (const name of CHANNELS) tracingChannel<unknown, object>(name).unsubscribe(listener);
}

async function count(): Promise<object> {
  const Redis: unknown = require(modulePath as string);
  if (telemetryPath !== undefined) {
    await listenOnce(Redis as ClientClass, require(telemetryPath) as Telemetry);
  }
  return countLoads(Redis as IoredisLikeClass, { host: "127.0.0.1", port: Number(port) });
}

count().then(
  (counts) => process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0)),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
