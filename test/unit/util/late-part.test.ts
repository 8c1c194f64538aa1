/** Parts that are loaded when they are needed, and the modules that provide them in bundles. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";
import { MissingPartError } from "../../../src/errors";
import { LatePart } from "../../../src/util/late-part";

const source = join(checkoutDirectory(), "src");
const filesIn = (folder: string): string[] =>
  readdirSync(join(source, folder), { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".ts"),
  );

describe("late part", () => {
  it("is loaded once, when it is needed", () => {
    let loads = 0;
    const part = new LatePart("bulk", () => ({ loads: ++loads }));
    expect(loads).to.equal(0);
    expect([part.get().loads, part.get().loads, part.find()?.loads]).to.deep.equal([1, 1, 1]);
  });

  it("names the import that a bundle lacks, until it is provided", () => {
    const part = new LatePart<{ name: string }>("bulk", () => null);
    expect(part.find()).to.equal(null);
    expect(() => part.get())
      .to.throw(MissingPartError, '"sluice/with/bulk"')
      .with.include({ code: "MISSING_PART", part: "bulk" });
    part.provide({ name: "given" });
    expect(part.get().name).to.equal("given");
  });

  it("has a module of its name in src/with, and its line in all.ts", () => {
    const names = filesIn(".").flatMap((path) =>
      [...readFileSync(join(source, path), "utf8").matchAll(/= new LatePart\(\s*"([\w-]+)"/g)].map(
        ([, name]) => name ?? "",
      ),
    );
    const modules = filesIn("with").map((path) => path.slice(0, -".ts".length));
    expect(names.length).to.be.greaterThan(5);
    expect(names.filter((name) => !modules.includes(name))).to.deep.equal([]);
    const all = readFileSync(join(source, "with", "all.ts"), "utf8");
    const listed = [...all.matchAll(/^import "\.\/([\w-]+)";$/gm)].map(([, name]) => name);
    expect(listed.sort()).to.deep.equal(modules.filter((name) => name !== "all").sort());
  });
});
