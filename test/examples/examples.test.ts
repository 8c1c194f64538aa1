/** Every example runs to its end on a real server, says something, and is as short as promised. */

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { serverKinds, sharedServer } from "../support/shared-servers";

const run = promisify(execFile);
const directory = join(checkoutDirectory(), "examples");
const MAX_LINES = 60;
const EXAMPLE_TIMEOUT_MS = 60_000;

/** An example says what it needs with a line such as `// needs: cluster`. */
function needsOf(text: string): string {
  return /^\/\/ needs: (\w+)$/m.exec(text)?.[1] ?? "server";
}

describe("examples", function () {
  this.timeout(EXAMPLE_TIMEOUT_MS + 5_000);
  const names = readdirSync(directory).filter((name) => /\.[cm]?js$/.test(name));
  let server: ServerProcess;

  before(async () => {
    const [kind = "redis"] = serverKinds();
    server = await sharedServer(kind);
  });

  beforeEach(() => server.command("FLUSHALL"));

  it("are there", () => {
    expect(names).to.include.members(["pipeline.js", "web-service.mjs", "transaction.js"]);
  });

  for (const name of names) {
    const text = readFileSync(join(directory, name), "utf8");
    if (needsOf(text) !== "server") continue;
    it(`${name} runs`, async () => {
      const env = { ...process.env, REDIS_URL: server.url, NODE_V8_COVERAGE: "" };
      const options = { env, cwd: directory, timeout: EXAMPLE_TIMEOUT_MS };
      const { stdout, stderr } = await run(process.execPath, [name], options);
      expect(stderr).to.equal("");
      expect(stdout).to.match(/\S/);
      expect(text.split("\n").length - 1).to.be.at.most(MAX_LINES);
    });
  }
});
