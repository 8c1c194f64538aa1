/**
 * Public surface, exports only. `require("sluice")` is the `Redis` class itself with the named
 * exports on it; the names below are found by Node's static scan for `import { ... }`.
 */

import { Redis } from "./client/redis";

exports = module.exports = Redis;

export { LegacyCommand as Command } from "./client/legacy-command";
export { print } from "./client/print";
export { ReplyError } from "./errors";
export { AbstractConnector } from "./link/connector";
export { Pipeline } from "./pipeline/pipeline";
export { SentinelConnector } from "./sentinel/sentinel-connector";
export { SentinelIterator } from "./sentinel/sentinel-list";
export { ScanStream } from "./streaming/scan-stream";
export { Redis };
export default Redis;
