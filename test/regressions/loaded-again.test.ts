/** A program that loads the client again and again (hot reload, test runners) has one exit listener, and no copy that is not used any more. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { sharedServer } from "../support/shared-servers";

const run = promisify(execFile);
const COPIES = 6;
const checkout = join(__dirname, "..", "..", "..");
/** The package itself: the access to its insides, which other tests use, would keep all copies. */
const CLIENT = process.env["SLUICE_TARGET"] === "built" ? "built/index.js" : "build/src/index.js";

/** Prints the listeners that came with the copies, and the copies that are left. */
const PROGRAM = `
  const [client, port] = process.argv.slice(1);
  const before = process.listenerCount("exit");
  let copies = 0;
  const registry = new FinalizationRegistry(() => copies--);
  async function load() {
    for (const file of Object.keys(require.cache)) delete require.cache[file];
    // Its parent would keep it.
    const { Redis } = require("node:module").createRequire(client)(client);
    copies++;
    registry.register(Redis, "");
    const redis = new Redis(Number(port));
    await redis.ping();
    await redis.quit();
  }
  (async () => {
    for (let copy = 0; copy < ${COPIES}; copy++) await load();
    for (let round = 0; round < 50 && copies > 2; round++) {
      global.gc();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const left = copies;
    // The next copy removes the work of the collected ones.
    await load();
    const works = globalThis[Symbol.for("sluice.exit.1")].size;
    console.log(JSON.stringify({ listeners: process.listenerCount("exit") - before, copies: left, works }));
  })();
`;

describe("the client, loaded again", () => {
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  it(`leaves one exit listener after ${COPIES} loads, and lets the copies be collected`, async () => {
    // Coverage holds on to what it has seen.
    const env = { ...process.env, NODE_V8_COVERAGE: "", SLUICE_TARGET: "" };
    const args = ["--expose-gc", "-e", PROGRAM, join(checkout, CLIENT), String(server.port)];
    const { stdout, stderr } = await run(process.execPath, args, { env });
    const { listeners, copies, works } = JSON.parse(stdout) as Record<string, number>;
    expect(stderr).not.to.include("MaxListenersExceededWarning");
    expect(listeners).to.equal(1);
    // The first one, whose listener it is, and the last one.
    expect(copies).to.be.at.most(2);
    expect(works).to.be.at.most(3);
  });
});
