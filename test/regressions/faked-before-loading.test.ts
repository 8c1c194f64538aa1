/** Timers that are faked before the client is loaded do not hold it up, while they are faked and after that. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { sharedServer } from "../support/shared-servers";

const run = promisify(execFile);
const CLIENT = join(__dirname, "..", "..", "src", "index.js");
const LIMIT_MS = 20_000;

/** Prints the answers that came while timers were faked, and those that came after that. */
const PROGRAM = `
  const [client, sinon, port, methods] = process.argv.slice(1);
  const clock = require(sinon).useFakeTimers(methods === "" ? {} : { toFake: methods.split(",") });
  const { Redis } = require(client);
  async function ask(options) {
    const redis = new Redis(Number(port), options);
    const timed = redis.with({ timeout: 60_000 });
    const answers = await Promise.all([
      redis.set("faked", "value"), redis.get("faked"), timed.get("faked"), redis.pipeline().get("faked").exec(),
    ]);
    await redis.quit();
    return JSON.stringify(answers);
  }
  (async () => {
    const answers = [await ask({}), await ask({ enableAutoPipelining: true })];
    clock.uninstall();
    answers.push(await ask({}), await ask({ enableAutoPipelining: true }));
    console.log(answers.join(" "));
  })();
`;

describe("timers that are faked before the client is loaded", () => {
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  const kinds = {
    "the timers alone":
      "setTimeout,clearTimeout,setInterval,clearInterval,setImmediate,clearImmediate,Date,performance",
    "ticks and microtasks as well": "",
  };
  for (const [kind, methods] of Object.entries(kinds)) {
    it(`do not hold it up: ${kind}`, async () => {
      const args = ["-e", PROGRAM, CLIENT, require.resolve("sinon"), String(server.port), methods];
      const { stdout } = await run(process.execPath, args, { timeout: LIMIT_MS });
      const answers = JSON.stringify(["OK", "value", "value", [[null, "value"]]]);
      expect(stdout.trim()).to.equal(Array(4).fill(answers).join(" "));
    });
  }
});
