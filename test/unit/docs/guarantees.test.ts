import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";
import * as clusterErrors from "../../../src/cluster/cluster-errors";
import * as errors from "../../../src/errors";

describe("docs/guarantees.md and docs/errors.md", () => {
  const root = checkoutDirectory();
  const guarantees = readFileSync(join(root, "docs/guarantees.md"), "utf8");
  const listed = readFileSync(join(root, "docs/errors.md"), "utf8");

  it("each promise names a test that exists", () => {
    const files = [...guarantees.matchAll(/`(test\/[^`]+)`/g)].map((match) => String(match[1]));
    expect(files.length).to.be.greaterThan(12);
    for (const file of files) expect(existsSync(join(root, file)), file).to.equal(true);
  });

  for (const [name, exported] of Object.entries({ ...errors, ...clusterErrors })) {
    if (typeof exported !== "function" || !(exported.prototype instanceof Error)) continue;
    it(`${name} is listed with its code`, () => {
      const { code } = exported.prototype as { code: string };
      expect(listed).to.contain(name);
      expect(listed).to.contain(`\`${code}\``);
    });
  }
});
