/**
 * A small web service in front of the database, and a crowd that asks it: `GET /?key=...` is
 * answered by `db.get(key, callback)`. The crowd lives on a thread of its own, so that it does
 * not take the service's time.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

export type Lookup = (
  key: string,
  callback: (error: Error | null | undefined, value: string | null) => void,
) => void;

export interface CrowdOptions {
  readonly port: number;
  readonly requests: number;
  readonly connections: number;
}

export interface CrowdReport {
  readonly answered: number;
  readonly isDone: boolean;
}

/** A service on a free port of this machine. */
export function startService(lookup: Lookup): Promise<Server> {
  const server = createServer((request, response) => {
    const key = decodeURIComponent((request.url ?? "").slice("/?key=".length));
    lookup(key, (error, value) => {
      if (error) response.statusCode = 500;
      response.end(error ? error.message : value);
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

export interface CrowdRun {
  readonly server: Server;
  readonly requests: number;
  readonly connections: number;
  onProgress(answered: number): void;
}

/** Sends all requests over keep-alive connections. Resolves when all were answered rightly. */
export function sendCrowd(run: CrowdRun): Promise<void> {
  const { requests, connections } = run;
  const { port } = run.server.address() as AddressInfo;
  const workerData: CrowdOptions = { port, requests, connections };
  return new Promise((resolve, reject) => {
    const worker = new Worker(join(__dirname, "crowd.js"), { workerData });
    worker.once("error", reject);
    worker.on("message", ({ answered, isDone }: CrowdReport) => {
      run.onProgress(answered);
      if (isDone) resolve();
    });
  });
}
