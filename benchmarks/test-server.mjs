/**
 * The cost of the test server: its start (and the time that Node itself needs for a first server), pipelined
 * commands per second on one core, and a snapshot and its restoration with 10,000 keys.
 *
 *   node benchmarks/test-server.mjs      (after npm run build; `taskset -c 0` in front for one core)
 */

import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";

const { TestServer } = createRequire(import.meta.url)("../testing/built/index.js");
const ROUNDS = 9;
const PIPELINE = 1_000;
const COMMANDS = 300_000;
const KEYS = 10_000;

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

/** Times of a program in new processes: the median of each. */
function inNewProcesses(program) {
  const runs = Array.from({ length: ROUNDS }, () =>
    JSON.parse(execFileSync(process.execPath, ["-e", program], { encoding: "utf8" })),
  );
  return Object.fromEntries(Object.keys(runs[0]).map((name) => [name, median(runs.map((run) => run[name]))]));
}

const MODULE = JSON.stringify(fileURLToPath(new URL("../testing/built/index.js", import.meta.url)));
const FIRST_START = `
  const before = performance.now();
  const { TestServer } = require(${MODULE});
  const loaded = performance.now();
  TestServer.start().then((server) => {
    const first = performance.now() - loaded;
    console.log(JSON.stringify({ load: loaded - before, first }));
    return server.stop();
  });`;
const BARE_LISTEN = `
  const net = require("node:net");
  const before = performance.now();
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    console.log(JSON.stringify({ bare: performance.now() - before }));
    server.close();
  });`;

async function laterStartMs() {
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = performance.now();
    const server = await TestServer.start();
    times.push(performance.now() - before);
    await server.stop();
  }
  return median(times.slice(1));
}

/** The time that the server's own work takes: requests go straight into its connection in memory. */
async function commandsASecond(command, replyBytes) {
  const server = TestServer.inMemory();
  const stream = server.connect();
  const bytes = Buffer.from(command.repeat(PIPELINE), "latin1");
  let received = 0;
  let goOn = () => {};
  stream.on("data", (chunk) => {
    received += chunk.length;
    if (received >= PIPELINE * replyBytes) goOn();
  });
  const send = () =>
    new Promise((resolve) => {
      received = 0;
      goOn = resolve;
      stream.write(bytes);
    });
  for (let index = 0; index < 50; index++) await send();
  const before = process.cpuUsage();
  for (let index = 0; index < COMMANDS / PIPELINE; index++) await send();
  const { user, system } = process.cpuUsage(before);
  await server.stop();
  return (COMMANDS * 1e6) / (user + system);
}

async function overTcp() {
  const server = await TestServer.start();
  const socket = connect(server.port, server.host);
  const bytes = Buffer.from("*3\r\n$3\r\nset\r\n$3\r\nkey\r\n$5\r\nvalue\r\n".repeat(PIPELINE), "latin1");
  let received = 0;
  let goOn = () => {};
  socket.on("data", (chunk) => {
    received += chunk.length;
    if (received >= PIPELINE * 5) goOn();
  });
  const send = () =>
    new Promise((resolve) => {
      received = 0;
      goOn = resolve;
      socket.write(bytes);
    });
  for (let index = 0; index < 50; index++) await send();
  const before = process.cpuUsage();
  for (let index = 0; index < COMMANDS / PIPELINE; index++) await send();
  const { user, system } = process.cpuUsage(before);
  socket.destroy();
  await server.stop();
  return (COMMANDS * 1e6) / (user + system);
}

async function snapshotMs() {
  const server = TestServer.inMemory();
  const stream = server.connect();
  const set = (value) => {
    let text = "";
    for (let index = 0; index < KEYS; index++) {
      const key = `key:${index}`;
      text += `*3\r\n$3\r\nset\r\n$${key.length}\r\n${key}\r\n$1\r\n${value}\r\n`;
    }
    return new Promise((resolve) => {
      let received = 0;
      const take = (chunk) => {
        received += chunk.length;
        if (received < KEYS * 5) return;
        stream.off("data", take);
        resolve();
      };
      stream.on("data", take);
      stream.write(Buffer.from(text));
    });
  };
  await set(1);
  const times = { snapshot: [], few: [], all: [] };
  for (let round = 0; round < ROUNDS; round++) {
    let before = performance.now();
    const snapshot = server.snapshot();
    times.snapshot.push(performance.now() - before);
    stream.write("*3\r\n$3\r\nset\r\n$5\r\nkey:1\r\n$1\r\n3\r\n");
    await new Promise((resolve) => stream.once("data", resolve));
    before = performance.now();
    server.restore(snapshot);
    times.few.push(performance.now() - before);
    await set(2);
    before = performance.now();
    server.restore(snapshot);
    times.all.push(performance.now() - before);
  }
  await server.stop();
  return Object.fromEntries(Object.entries(times).map(([name, list]) => [name, median(list)]));
}

const { load, first } = inNewProcesses(FIRST_START);
const { bare } = inNewProcesses(BARE_LISTEN);
console.log(
  `load the module: ${load.toFixed(2)} ms, the first start: ${first.toFixed(2)} ms, in new processes`,
);
console.log(`a bare net.Server, in new processes: ${bare.toFixed(2)} ms`);
console.log(`each later start: ${(await laterStartMs()).toFixed(2)} ms`);
const get = await commandsASecond("*2\r\n$3\r\nget\r\n$3\r\nkey\r\n", 5);
const set = await commandsASecond("*3\r\n$3\r\nset\r\n$3\r\nkey\r\n$5\r\nvalue\r\n", 5);
console.log(`pipelined, in memory: ${Math.round(get)} GET, ${Math.round(set)} SET a second of CPU time`);
console.log(
  `pipelined, over TCP with its client in the same process: ${Math.round(await overTcp())} SET a second of CPU time`,
);
const { snapshot, few, all } = await snapshotMs();
console.log(
  `10,000 keys: snapshot ${snapshot.toFixed(3)} ms, restore ${few.toFixed(3)} ms after one change, ${all.toFixed(3)} ms after 10,000`,
);
