/** The build changes no name and no text of what it is given. */

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";

/** Names and texts that look like what compilers and bundlers write themselves. */
const SURVIVORS = String.raw`
export const step_1 = ["user_1", "user_2", "errors_1.X", "exports.step_1", 'load("a")'];
export const user$1 = { item_1: 1, "__name": 2, exports$: 3 };
export const pattern_1 = /^item_1$|exports\.(\w+) = \1/g;
export const lines_1 = ${"`"}
	tabs stay
  "use strict";
require("./nothing")${"`"};
export const marks = "(0, a_1.b)(c) \u20ac €";
export class Redis_1 {
  static readonly step_1 = "user_1";
}
`;

describe("build", function () {
  this.timeout(60_000);

  it("keeps names, texts and patterns of the sources as they are written", async () => {
    const root = checkoutDirectory();
    const copy = temporaryDirectory();
    for (const name of ["src", "scripts", "demo", "testing", "migrate", "package.json", "tsconfig.json"]) {
      cpSync(join(root, name), join(copy, name), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    writeFileSync(join(copy, "src", "util", "survivors.ts"), SURVIVORS);
    writeFileSync(join(copy, "src", "subpaths", "Survivors.ts"), 'export * from "../util/survivors";\n');
    execFileSync(process.execPath, [join(copy, "scripts", "build.mjs"), "--code"], {
      cwd: copy,
      stdio: "pipe",
    });
    const built = createRequire(__filename)(join(copy, "built", "Survivors.js")) as Record<string, unknown>;

    mkdirSync(join(copy, "plain"));
    const plain = SURVIVORS.replaceAll("static readonly", "static");
    writeFileSync(join(copy, "plain", "survivors.mjs"), plain);
    const { default: text } = { default: join(copy, "plain", "survivors.mjs") };
    const written = (await import(text)) as Record<string, unknown>;
    expect(Object.keys(built).sort()).to.deep.equal(Object.keys(written).sort());
    for (const name of ["step_1", "user$1", "lines_1", "marks"])
      expect(built[name]).to.deep.equal(written[name]);
    expect(String(built["pattern_1"])).to.equal(String(written["pattern_1"]));
    const [ours, theirs] = [built["Redis_1"], written["Redis_1"]] as { name: string; step_1: string }[];
    expect([ours?.name, ours?.step_1]).to.deep.equal([theirs?.name, theirs?.step_1]);
  });
});
