/**
 * Ports for servers started here. They are taken from below the range that the system gives to
 * outgoing connections, so that a port that was free a moment ago is not lost to one of those.
 * A port is never handed out twice by one process.
 */

import { createServer } from "node:net";

const LOWEST_PORT = 10_000;
const HIGHEST_PORT = 29_999;
const ATTEMPTS = 200;

const handedOut = new Set<number>();

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.unref();
    probe.once("error", () => resolve(false));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** An unused TCP port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (HIGHEST_PORT - LOWEST_PORT + 1));
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port found between ${LOWEST_PORT} and ${HIGHEST_PORT} in ${ATTEMPTS} attempts`);
}
