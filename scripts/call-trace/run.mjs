/**
 * Records which functions of the client a command passes, and prints the number of files and calls:
 * `npm run trace:calls`, with `-- --calls` also each call, with `-- --write` into docs/architecture.md. It is
 * for readers of the code: a path with fewer files and fewer returns is easier to follow. Needs a build of
 * the tests (`npm run build:test`), but no server: it uses scripted servers of the tests.
 */

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { checkout } from "../run-command.mjs";

const load = createRequire(join(checkout, "build", "test", "support", "any.js"));
const { Redis, Cluster } = load("../../src/index.js");
const { FakeServer, RawReply } = load("./fake-server.js");
const { FakeCluster } = load("./fake-cluster.js");

const showsCalls = process.argv.includes("--calls");
const page = join(checkout, "docs", "architecture.md");
const MARKS = ["<!-- written by npm run trace:calls -- --write -->", "<!-- end -->"];
/** Files, calls and returns before link, cluster and client were redesigned for 6.0. */
const BEFORE = {
  get: "30 / 117 / 52",
  "pipeline of 10, exec": "34 / 648 / 391",
  "get, connection lost, sent again": "55 / 553 / 300",
  "get on a cluster": "38 / 167 / 72",
  "get, answered with MOVED": "55 / 233 / 104",
  "from the MOVED to the other node": "27 / 87 / 33",
};
const rows = [];
const worker = new Worker(new URL("./stepper.mjs", import.meta.url), {
  workerData: { directory: join(checkout, "build", "src") },
});
await once(worker, "message");

/** Stepping takes minutes on a busy machine: no watchdog and no limit of the handshake may interfere. */
const UNWATCHED = { watchdog: false, connectTimeout: 600_000 };

/** Records the calls of `body`, from its start until its promise settles. */
async function record(body) {
  worker.postMessage("start");
  await once(worker, "message");
  await body();
  worker.postMessage("stop");
  const [entries] = await once(worker, "message");
  return entries;
}

/** Files entered, calls, and the number of returns to a file that was entered before. */
function summaryOf(entries) {
  const files = new Set();
  let returns = 0;
  let last = null;
  for (const { path } of entries) {
    if (path !== last && files.has(path)) returns++;
    files.add(path);
    last = path;
  }
  return { files: files.size, calls: entries.length, returns };
}

function report(name, entries) {
  const { files, calls, returns } = summaryOf(entries);
  rows.push(`| ${name.trim()} | ${files} / ${calls} / ${returns} | ${BEFORE[name.trim()]} |`);
  const cells = [
    name.padEnd(36),
    String(files).padStart(6),
    String(calls).padStart(7),
    String(returns).padStart(9),
  ];
  console.log(cells.join(""));
  if (!showsCalls) return;
  for (const { depth, path, name: called } of entries)
    console.log(`  ${"  ".repeat(depth)}${path}  ${called}`);
}

/** The entries without the refresh of the slot table, which runs separately after it was requested. */
function withoutRefresh(entries) {
  let below = Infinity;
  return entries.filter(({ depth, path, name }) => {
    if (depth > below) return false;
    below = path === "cluster/refresher" && name === "refresh" ? depth : Infinity;
    return below === Infinity;
  });
}

/** The calls from the error reply until the command is handed to the connection of the other node. */
function redirectIn(entries) {
  const from = entries.findIndex(({ name }) => name === "onErrorReply");
  const to = entries.findIndex(
    ({ path, name }, at) => at > from && path === "connection/connection" && name.startsWith("dispatch"),
  );
  if (from < 0 || to < 0) throw new Error("the way of a MOVED has other names now: see redirectIn");
  return entries.slice(from, to + 1);
}

async function ready(client) {
  if (client.status !== "ready") await once(client, "ready");
  return client;
}

async function close(client) {
  client.disconnect();
  await once(client, "end");
}

async function onOneServer() {
  const server = await FakeServer.start();
  const values = new Map([["user:1", "1"]]);
  server.handler = ([name, key, value]) => {
    if (name?.toLowerCase() === "get") return values.get(key) ?? null;
    if (name?.toLowerCase() === "set") {
      values.set(key, value);
      return new RawReply("+OK\r\n");
    }
    return undefined;
  };
  const redis = await ready(
    new Redis({ host: server.host, port: server.port, retryStrategy: () => 1, ...UNWATCHED }),
  );
  redis.on("error", () => {});
  // Once without recording, because objects created at the first use are not part of the path.
  await redis.get("user:1");
  await redis.pipeline().get("user:1").exec();
  report("get", await record(() => redis.get("user:1")));
  report(
    "pipeline of 10, exec",
    await record(() => {
      const pipeline = redis.pipeline();
      for (let i = 0; i < 10; i++) pipeline.get(`user:${i}`);
      return pipeline.exec();
    }),
  );
  let isCut = false;
  const answer = server.handler;
  server.handler = (words, connection) => {
    if (words[0]?.toLowerCase() !== "get" || isCut) return answer(words, connection);
    isCut = true;
    connection.socket.destroy();
    return new RawReply("");
  };
  report("get, connection lost, sent again", await record(() => redis.get("user:1")));
  await close(redis);
  await server.stop();
}

async function onCluster() {
  const home = await FakeCluster.start(2);
  const cluster = await ready(
    new Cluster([{ host: home.nodes[0].server.host, port: home.nodes[0].server.port }], {
      redisOptions: UNWATCHED,
      slotsRefreshTimeout: 60_000,
    }),
  );
  cluster.on("error", () => {});
  await Promise.all([cluster.get("a"), cluster.get("b"), cluster.get("c"), cluster.get("d")]);
  report("get on a cluster", await record(() => cluster.get("a")));
  const owner = home.nodes.find((node) => node.received("get").some(([, key]) => key === "a"));
  const other = home.nodes.find((node) => node !== owner);
  owner.script = ([name, key]) =>
    name?.toLowerCase() === "get" && key === "a" ? new Error(`MOVED 15495 ${other.key}`) : undefined;
  const moved = await record(() => cluster.get("a"));
  report("get, answered with MOVED", moved);
  report("  from the MOVED to the other node", redirectIn(withoutRefresh(moved)));
  await close(cluster);
  await home.stop();
}

console.log(`${"".padEnd(36)} files  calls  returns`);
await onOneServer();
await onCluster();
await worker.terminate();
if (process.argv.includes("--write")) {
  const text = readFileSync(page, "utf8");
  const [begin, end] = MARKS.map((mark) => text.indexOf(mark));
  const table = ["| files / calls / returns | now | before |", "|---|--:|--:|", ...rows].join("\n");
  writeFileSync(page, `${text.slice(0, begin)}${MARKS[0]}\n\n${table}\n\n${text.slice(end)}`);
}
