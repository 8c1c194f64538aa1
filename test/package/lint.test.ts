/** The verdicts of the tools that look at packages before they are published. */

import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { expect } from "chai";
import { publint } from "publint";
import { packPackage, packTestKit } from "./installed-package";

for (const [name, pack] of [
  ["sluice", packPackage],
  ["sluice-testing", packTestKit],
] as const) {
  describe(`package checks of ${name}`, function () {
    this.timeout(120_000);
    let data: Buffer;

    before(async () => {
      data = readFileSync((await pack()).path);
    });

    it("publint finds nothing", async () => {
      const { messages } = await publint({ pack: { tarball: new Uint8Array(data).buffer }, strict: true });
      expect(messages.map(({ code }) => code)).to.deep.equal([]);
    });

    it("attw finds nothing wrong with the types", async () => {
      const result = await checkPackage(createPackageFromTarballData(data));
      expect(result).to.have.property("problems");
      expect("problems" in result ? result.problems : []).to.deep.equal([]);
    });
  });
}
