/**
 * `sluice/testing`: servers for tests. Nothing of it is loaded by the client.
 */

export type { ReplyFault } from "./faults/fault-switches";
export type { VersionName } from "./server/version";
export type { PlainValue, ServerState } from "./server-state";
export { type ServerSnapshot, TestServer, type TestServerOptions } from "./test-server";
export { type ServerInUse, type TestHooks, type UseServerOptions, useServer } from "./use-server";
