/** The verdicts of the tools that look at packages before they are published. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { expect } from "chai";
import { publint } from "publint";
import { Application, packMigration, packPackage, packTestKit } from "./installed-package";

/**
 * In a bundle, `require()` returns the class itself, as in Node, and only CommonJS can do so. The file for it takes the
 * class from the ES modules; three names of the entry lead to it.
 */
const REQUIRED_IN_BUNDLES = Array<string>(3).fill("EXPORTS_MODULE_SHOULD_BE_ESM");

for (const [name, pack, known] of [
  ["sluice", packPackage, REQUIRED_IN_BUNDLES],
  ["sluice-testing", packTestKit, []],
] as const) {
  describe(`package checks of ${name}`, function () {
    this.timeout(120_000);
    let data: Buffer;

    before(async () => {
      data = readFileSync((await pack()).path);
    });

    it("publint finds nothing else than what is known", async () => {
      const { messages } = await publint({ pack: { tarball: new Uint8Array(data).buffer }, strict: true });
      expect(messages.map(({ code }) => code)).to.deep.equal(known);
    });

    it("attw finds nothing wrong with the types", async () => {
      const result = await checkPackage(createPackageFromTarballData(data));
      expect(result).to.have.property("problems");
      expect("problems" in result ? result.problems : []).to.deep.equal([]);
    });
  });
}

describe("package checks of sluice-migrate", function () {
  this.timeout(120_000);

  it("publint finds nothing, and the packed program runs", async () => {
    const tarball = await packMigration();
    const data = readFileSync(tarball.path);
    const { messages } = await publint({ pack: { tarball: new Uint8Array(data).buffer }, strict: true });
    expect(messages.map(({ code }) => code)).to.deep.equal([]);
    const application = await Application.create({ "sluice-migrate": tarball });
    application.write(
      "old.js",
      'const { createClient } = require("redis");\nconst client = createClient();\nclient.hGet("a", "b");\n',
    );
    application.write("package.json", JSON.stringify({ private: true, dependencies: { redis: "^5.0.0" } }));
    const program = join(application.directory, "node_modules", ".bin", "sluice-migrate");
    const output = execFileSync(program, ["--json", "--spec=^6.0.0"], {
      cwd: application.directory,
      encoding: "utf8",
    });
    const { edits } = JSON.parse(output) as { edits: { file: string; after: string }[] };
    expect(edits.find(({ file }) => file === "old.js")?.after).to.include('client.hget("a", "b")');
  });
});
