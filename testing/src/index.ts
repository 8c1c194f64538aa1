/**
 * `sluice-testing`: servers for tests. The client loads nothing of it.
 */

export {
  type Corruption,
  type CutRule,
  type CutStyle,
  Direction,
  FaultProxy,
  type LaneCounters,
} from "./faults/fault-proxy";
export type { NodeChoice, ReplyFault } from "./faults/fault-switches";
export type { RecordedCommand } from "./faults/wire-record";
export { Certificates } from "./real/certificates";
export { RealCluster, RealSentinels, RealServer } from "./real/real-server";
export type { RealClusterOptions, RealSentinelsOptions, RealServerOptions } from "./real/start-servers";
export type { VersionName } from "./server/version";
export type { PlainValue, ServerState } from "./server-state";
export type { TestNode } from "./test-cluster";
export { type ServerSnapshot, TestServer, type TestServerOptions } from "./test-server";
export { type ServerInUse, type TestHooks, type UseServerOptions, useServer } from "./use-server";
