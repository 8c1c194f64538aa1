/**
 * One server of each kind for all tests of a process that need nothing special: started when it
 * is first asked for, emptied before each use, stopped after the last test.
 */

import { findServer, REAL_KINDS, ServerKind } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";

const running = new Map<ServerKind, Promise<ServerProcess>>();
const flawed = new Set<ServerKind>();

function isServerKind(word: string): word is ServerKind {
  return Object.values<string>(ServerKind).includes(word);
}

/** The kinds that tests run on: all real ones, unless SLUICE_SERVERS lists some. */
export function serverKinds(): ServerKind[] {
  const wanted = process.env.SLUICE_SERVERS;
  if (wanted === undefined || wanted === "") return [...REAL_KINDS];
  return wanted.split(",").map((word) => {
    if (isServerKind(word)) return word;
    throw new Error(`SLUICE_SERVERS names ${word}; known are ${Object.values(ServerKind).join(", ")}`);
  });
}

/** A new server of a kind, for tests that do harm to it. The caller stops it. */
export async function startServer(
  kind: ServerKind,
  options: Omit<Parameters<typeof ServerProcess.start>[0], "binary"> = {},
): Promise<ServerProcess> {
  return ServerProcess.start({ ...options, binary: await findServer(kind) });
}

/** The shared server of a kind, without any data. */
export async function sharedServer(kind: ServerKind): Promise<ServerProcess> {
  let starting = running.get(kind);
  if (starting === undefined || flawed.delete(kind)) {
    // On a busy machine any command may be slow; what the slow log says must not depend on that.
    starting = startServer(kind, { config: { "slowlog-log-slower-than": -1 } });
    running.set(kind, starting);
  }
  const server = await starting;
  if (!server.isRunning) {
    flawed.add(kind);
    return sharedServer(kind);
  }
  await server.command("FLUSHALL");
  return server;
}

export async function stopSharedServers(): Promise<void> {
  const servers = await Promise.allSettled(running.values());
  running.clear();
  await Promise.all(servers.map((start) => (start.status === "fulfilled" ? start.value.stop() : undefined)));
}
