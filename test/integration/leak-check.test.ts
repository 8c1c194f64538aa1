/** A test that leaves something behind fails, and the message names what it was. */

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";

const MOCHA_TIMEOUT_MS = 60_000;

/** The output of mocha when the body is the only test. */
function runAlone(body: string): Promise<string> {
  const client = JSON.stringify(join(__dirname, "..", "..", "src", "index.js"));
  const path = join(temporaryDirectory(), "leak.js");
  const test = `it("leaks", async () => { ${body} });`;
  writeFileSync(path, `const net = require("node:net"); const { Redis } = require(${client});\n${test}`);
  const mocha = join(checkoutDirectory(), "node_modules", "mocha", "bin", "mocha.js");
  const env = { ...process.env, NODE_V8_COVERAGE: "", SLUICE_COUNTS: "" };
  return new Promise((resolve) => {
    const options = { cwd: checkoutDirectory(), env, timeout: MOCHA_TIMEOUT_MS };
    execFile(process.execPath, [mocha, "--exit", path], options, (_error, stdout) => resolve(stdout));
  });
}

describe("leak check", function () {
  this.timeout(MOCHA_TIMEOUT_MS + 5_000);

  it("lets a clean test pass", async () => {
    expect(await runAlone("await new Promise((resolve) => setTimeout(resolve, 5));")).to.include("1 passing");
  });

  it("finds a timer", async () => {
    expect(await runAlone("setTimeout(() => {}, 60_000);")).to.include("left behind: 1 Timeout");
  });

  it("finds a server and a socket", async () => {
    const body = `
      const server = net.createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      const socket = net.connect(server.address().port, "127.0.0.1");
      await new Promise((resolve) => socket.once("connect", resolve));`;
    const output = await runAlone(body);
    expect(output).to.include("left behind");
    expect(output).to.match(/\d TCPServerWrap/);
    expect(output).to.match(/\d TCPSocketWrap/);
  });

  it("finds a command that was never settled", async () => {
    const body = `
      const redis = new Redis({ port: 1, lazyConnect: true, retryStrategy: () => 60_000 });
      redis.on("error", () => {});
      void redis.get("key");`;
    const output = await runAlone(body);
    expect(output).to.include("left behind");
    expect(output).to.include("1 unsettled commands (get)");
  });
});
