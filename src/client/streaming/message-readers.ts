/** The readers of messages and of keyspace notifications. They share code, so they are one late part. */

export { openKeyspaceEvents as openKeyspaceReader } from "../../streaming/keyspace-events";
export { openMessages } from "../../streaming/messages";
export { openKeyspaceEvents, readFlags } from "./keyspace";
