/**
 * The handlers of all commands. A family is initialized when the first command of it runs: most tests
 * need few, and every file of tests initializes them anew. Until then the table knows its names alone.
 */

import type { Handler, Handlers } from "./model";

/** A family for each group of the command table, and those of `APART`. */
const FAMILIES: Readonly<Record<string, () => Handlers>> = {
  acl: () => (require("../commands/acl") as typeof import("../commands/acl")).aclHandlers,
  bitmap: () => (require("../commands/bitmaps") as typeof import("../commands/bitmaps")).bitmapHandlers,
  cluster: () => (require("../commands/cluster") as typeof import("../commands/cluster")).clusterHandlers,
  connection: () =>
    (require("../commands/connection-family") as typeof import("../commands/connection-family")).CONNECTIONS,
  dump: () => (require("../commands/dump") as typeof import("../commands/dump")).dumpHandlers,
  generic: () => (require("../commands/keys") as typeof import("../commands/keys")).keyHandlers,
  geo: sortedSets,
  hash: () => (require("../commands/hash-family") as typeof import("../commands/hash-family")).HASHES,
  hyperloglog: () =>
    (require("../commands/hyperloglog") as typeof import("../commands/hyperloglog")).hyperLogLogHandlers,
  list: () => (require("../commands/lists") as typeof import("../commands/lists")).listHandlers,
  pubsub: () => (require("../commands/pubsub") as typeof import("../commands/pubsub")).pubsubHandlers,
  scripting: () =>
    (require("../commands/script-family") as typeof import("../commands/script-family")).SCRIPTS,
  server: () => (require("../commands/server") as typeof import("../commands/server")).serverHandlers,
  set: () => (require("../commands/sets") as typeof import("../commands/sets")).setHandlers,
  sort: () => (require("../commands/sort") as typeof import("../commands/sort")).sortHandlers,
  "sorted-set": sortedSets,
  stream: () => (require("../commands/stream-family") as typeof import("../commands/stream-family")).STREAMS,
  string: () => (require("../commands/strings") as typeof import("../commands/strings")).stringHandlers,
  transactions: () =>
    (require("../commands/transactions") as typeof import("../commands/transactions")).transactionHandlers,
};

function sortedSets(): Handlers {
  return (require("../commands/sorted-set-family") as typeof import("../commands/sorted-set-family"))
    .SORTED_SETS;
}

/** Commands whose family is not that of their group. */
const APART: Readonly<Record<string, string>> = {
  acl: "acl",
  asking: "connection",
  dbsize: "generic",
  dump: "dump",
  flushall: "generic",
  flushdb: "generic",
  readonly: "connection",
  readwrite: "connection",
  restore: "dump",
  "restore-asking": "dump",
  sort: "sort",
  sort_ro: "sort",
  swapdb: "generic",
  wait: "server",
  waitaof: "server",
};

const loaded = new Map<string, Handlers>();

function handlersOf(family: string): Handlers {
  let handlers = loaded.get(family);
  if (handlers === undefined) {
    handlers = FAMILIES[family]?.() ?? {};
    loaded.set(family, handlers);
  }
  return handlers;
}

/** Every family, immediately. */
export function loadFamilies(): void {
  for (const family of Object.keys(FAMILIES)) handlersOf(family);
}

/** The handler of a command, or of a subcommand as `config|get`; null if it is not supported. */
export function handlerOf(name: string, group: string): Handler | null {
  return handlersOf(APART[name.split("|", 1)[0] ?? ""] ?? group)[name] ?? null;
}
