/** The code of README's first screen runs and gives what its comments say. */

import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { serverKinds, sharedServer } from "../support/shared-servers";

const run = promisify(execFile);

describe("README", () => {
  let server: ServerProcess;

  before(async () => {
    const [kind = "redis"] = serverKinds();
    server = await sharedServer(kind);
  });

  it("shows code that runs", async () => {
    const text = readFileSync(join(checkoutDirectory(), "README.md"), "utf8");
    const code = /```js\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
    expect(code).to.include("redis://localhost:6379");
    // Inside the checkout, where the package finds itself by its name.
    const path = join(checkoutDirectory(), "build", "readme.mjs");
    const report = "console.log(JSON.stringify({ foo, visits, results }));";
    writeFileSync(path, `${code.replace("redis://localhost:6379", server.url)}\n${report}`);
    const env = { ...process.env, NODE_V8_COVERAGE: "" };
    const { stdout, stderr } = await run(process.execPath, [path], { env });
    expect(stderr).to.equal("");
    const [fromCallback, ...rest] = stdout.trim().split("\n");
    expect(fromCallback).to.equal("null bar");
    expect(JSON.parse(rest.join(""))).to.deep.equal({
      foo: "bar",
      visits: 1,
      results: [
        [null, "bar"],
        [null, 2],
      ],
    });
  });
});
