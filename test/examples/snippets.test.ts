/** Blocks of the documentation that can run on one server do, and give what their comments say. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { allSnippets, compiledFile, compileSnippets, instrument } from "../support/doc-snippets";
import { serverKinds, sharedServer } from "../support/shared-servers";

const run = promisify(execFile);
const harness = join(__dirname, "run-snippet.js");
const SNIPPET_TIMEOUT_MS = 30_000;

describe("code in the documentation, run", function () {
  this.timeout(SNIPPET_TIMEOUT_MS * 2);
  const snippets = allSnippets();
  let server: ServerProcess;

  before(async () => {
    const [kind = "redis"] = serverKinds();
    server = await sharedServer(kind);
    await compileSnippets(snippets);
  });

  beforeEach(() => server.command("FLUSHALL"));

  for (const snippet of snippets.filter(({ isRun }) => isRun)) {
    it(`${snippet.place} does what it says`, async () => {
      const { checks } = instrument(snippet);
      const args = [
        harness,
        compiledFile(snippet),
        String(server.port),
        snippet.isWhole ? "whole" : "fragment",
      ];
      const options = { env: { ...process.env, NODE_V8_COVERAGE: "" }, timeout: SNIPPET_TIMEOUT_MS };
      const { stdout, stderr } = await run(process.execPath, args, options);
      expect(stderr).to.equal("");
      expect(stdout.split("\n").filter((line) => line.startsWith("checked "))).to.have.length(checks);
    });
  }
});
