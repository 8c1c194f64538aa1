#!/usr/bin/env node
/**
 * The test server as a process, started like the real servers: `test-server.mjs CONFIG [--name value ...]`.
 * So it is one more kind of server for every test. SLUICE_TEST_SERVER sets its version.
 */

import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { TestServer } = createRequire(import.meta.url)("../../testing/built/index.js");
const version = process.env.SLUICE_TEST_SERVER ?? "8.2";
/** Settings of a server process that have no effect on a server without a disk and replicas. */
const IGNORED = /^(?:bind|dir|logfile|save|appendonly|enable-|repl-|cluster-|slowlog-|proto-|databases$)/;

function unquoted(text) {
  return text.replace(/^"(.*)"$/, "$1");
}

/** Name and value of each directive, from the file and then from the words behind it. */
function directives([path, ...words]) {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  const found = lines.map((line) => [line.split(" ", 1)[0], unquoted(line.slice(line.indexOf(" ") + 1))]);
  for (let at = 0; at + 1 < words.length; at += 2) found.push([words[at].replace(/^--/, ""), words[at + 1]]);
  return found;
}

async function main() {
  const settings = new Map(directives(process.argv.slice(2)));
  const log = (text) =>
    appendFileSync(join(settings.get("dir") ?? ".", settings.get("logfile") ?? "log"), `${text}\n`);
  const config = {};
  const { port, unixsocket: path, requirepass: password, ...others } = Object.fromEntries(settings);
  for (const [name, value] of Object.entries(others)) {
    if (name === "tls-port" || (name === "cluster-enabled" && value === "yes")) {
      log(`The test server has no ${name} as a process`);
      process.exit(1);
    }
    if (!IGNORED.test(name)) config[name] = value;
  }
  try {
    // A killed server does not remove its socket.
    if (path !== undefined) rmSync(path, { force: true });
    await TestServer.start({ version, port: Number(port), path, password, config });
    log("Ready to accept connections");
  } catch (error) {
    log(error.message);
    process.exit(1);
  }
}

if (process.argv[2] === "--version") {
  console.log(`Redis server v=${version} (the test server)`);
} else {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(0));
  await main();
}
