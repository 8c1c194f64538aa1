/** The files that npm packs differ from the checkout: no fields for checkouts, no link to a file outside the package. */

import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";

const root = checkoutDirectory();
const COPIED = [
  "scripts",
  "docs",
  "examples",
  "testing/docs",
  "testing/README.md",
  "testing/package.json",
  "migrate/package.json",
  "package.json",
  "LICENSE",
  ...["README", "AGENTS", "CHANGELOG", "CONTRIBUTING", "SECURITY"].map((name) => `${name}.md`),
];
const PACK = ["pack", "--dry-run", "--json", "--ignore-scripts", "--no-workspaces"];
const CODE = /```[\s\S]*?```|`[^`\n]*`/g;
const TARGETS = /(?:\]\(|\bsrc(?:set)?=")(?!\w+:|#)([^)"#]+)/g;
const PACKAGES = [
  { name: "sluice", folder: "", page: "docs/guarantees.md" },
  { name: "sluice-testing", folder: "testing", page: "docs/testing-your-service.md" },
];
const EDIT = "# Edited\n";

/** Texts by their path in the package. */
type Files = ReadonlyMap<string, string>;

/** A package in a copy of the checkout. */
class Copy {
  private readonly directory = temporaryDirectory();
  private readonly paths: readonly string[];

  constructor(private readonly folder: string) {
    for (const path of COPIED) cpSync(join(root, path), join(this.directory, path), { recursive: true });
    const output = execFileSync("npm", PACK, {
      cwd: join(this.directory, folder),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [{ files }] = JSON.parse(output) as [{ files: { path: string }[] }];
    this.paths = files.map(({ path }) => path);
  }

  /** Runs a script of the copy in the folder of the package. */
  run(name: string, step: string): void {
    const args = [join(this.directory, "scripts", name), step];
    const env = { ...process.env, GITHUB_REPOSITORY: "somebody/sluice" };
    execFileSync(process.execPath, args, { cwd: join(this.directory, this.folder), env });
  }

  files(): Files {
    return new Map(
      this.paths.map((path) => [path, readFileSync(join(this.directory, this.folder, path), "utf8")]),
    );
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.directory, this.folder, path), text);
  }
}

function brokenLinks(files: Files): string[] {
  const paths = [...files.keys()];
  return [...files].flatMap(([page, text]) => {
    if (!page.endsWith(".md")) return [];
    const targets = [...text.replaceAll(CODE, "").matchAll(TARGETS)].map(([, target = ""]) => target);
    return targets.flatMap((target) => {
      const wanted = posix.join(posix.dirname(page), target);
      const isPacked = paths.some((path) => path === wanted || path.startsWith(`${wanted}/`));
      return isPacked ? [] : [`${page}: ${target}`];
    });
  });
}

for (const { name, folder, page } of PACKAGES) {
  describe(`packed files of ${name}`, function () {
    this.timeout(60_000);
    let original: Files;
    let packed: Files;
    let restored: Files;
    let released: Files;
    let edited: Files;

    before(() => {
      const copy = new Copy(folder);
      const step = (script: string, word: string): Files => {
        copy.run(script, word);
        return copy.files();
      };
      original = copy.files();
      packed = step("packed-files.mjs", "strip");
      restored = step("packed-files.mjs", "restore");
      copy.run("before-publishing.mjs", "fill");
      released = step("packed-files.mjs", "strip");
      copy.write(page, EDIT);
      edited = step("packed-files.mjs", "restore");
    });

    it("npm runs the steps", () => {
      const { scripts } = JSON.parse(String(original.get("package.json")));
      expect(scripts.prepack).to.include("packed-files.mjs strip");
      expect(scripts.postpack).to.include("packed-files.mjs restore");
    });

    it("the manifest has no script, which npm would warn of, and nothing for checkouts", () => {
      const manifest = JSON.parse(String(packed.get("package.json")));
      expect(manifest).to.not.have.any.keys("scripts", "devDependencies", "workspaces", "overrides");
      expect(manifest).to.include.keys("name", "version", "exports", "dependencies", "files");
    });

    it("no page links to a file outside the package", () => {
      expect(brokenLinks(original)).to.not.deep.equal([]);
      expect(brokenLinks(packed)).to.deep.equal([]);
      expect(packed.get(page)).to.not.match(/\bOWNER\b|https:\/\/github\.com/);
    });

    it("links of a release lead to the tag of the repository", () => {
      expect(brokenLinks(released)).to.deep.equal([]);
      const { version } = JSON.parse(String(released.get("package.json")));
      expect(released.get(page)).to.include(`](https://github.com/somebody/sluice/blob/v${version}/test/`);
    });

    it("the checkout gets its files back, but an edit stays", () => {
      expect(restored).to.deep.equal(original);
      expect(edited.get(page)).to.equal(EDIT);
      expect(JSON.parse(String(edited.get("package.json")))).to.include.keys("scripts");
    });

    if (folder === "") {
      it("pictures outside the package are removed, and come from the repository in a release", () => {
        expect(packed.get("docs/observability.md")).to.not.include("<picture>");
        expect(packed.get("README.md")).to.not.include("<picture>");
        expect(released.get("docs/observability.md")).to.match(
          /srcset="https:\/\/github\.com\/somebody\/sluice\/raw\/v[\d.]+\/docs\/images\/[\w-]+\.svg"/,
        );
      });
    }
  });
}
