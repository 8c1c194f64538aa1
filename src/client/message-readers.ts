/** The readers of messages and of keyspace notifications. They share code, so they are one late part. */

export { openMessages } from "../streaming/messages";
export { openClusterKeyspaceEvents } from "./cluster/cluster-keyspace";
export { openKeyspaceEvents } from "./keyspace";
