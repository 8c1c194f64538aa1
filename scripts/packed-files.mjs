/**
 * Prepares the files of a package while npm packs it. Runs in the folder of the package: `node scripts/packed-files.mjs strip`
 * before, `restore` after (npm's `prepack` and `postpack`).
 *
 * - package.json loses the fields for checkouts. Otherwise npm warns at the first installation from a tarball that it did
 *   not run `prepare`.
 * - In the pages, links to files outside the package become addresses of the repository. While package.json has only the
 *   placeholder of that address, the text of the link stays and a picture is removed.
 */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { checkout, commandOf, npm } from "./run-command.mjs";

const FOR_CHECKOUTS = ["scripts", "devDependencies", "workspaces", "overrides"];
const PACK = ["pack", "--dry-run", "--json", "--ignore-scripts", "--no-workspaces", "--loglevel=error"];
/** Blocks and spans of code stay as they are. */
const CODE = /```[\s\S]*?```|`[^`\n]*`/g;
const LINK = /(!?)\[([^\]]*)\]\(([^()\s]+)\)/g;
const PICTURE = /<picture>[\s\S]*?<\/picture>\n*/g;
const SOURCE = /(?<=\bsrc(?:set)?=")[^"]+/g;

const { name } = JSON.parse(readFileSync("package.json", "utf8"));
/** The texts of the changed files, for `restore`. */
const record = path.join(checkout, "build", `packed-files-${name}.json`);

function packedFiles() {
  const [file, ...first] = commandOf(npm);
  const [packed] = JSON.parse(execFileSync(file, [...first, ...PACK], { encoding: "utf8" }));
  return packed.files.map((one) => one.path);
}

/** Null while the manifest has only the placeholder. */
function repositoryAddress() {
  const { repository, version } = JSON.parse(readFileSync(path.join(checkout, "package.json"), "utf8"));
  const [, address] = /^git\+(https:.+)\.git$/.exec(repository.url) ?? [];
  if (address === undefined || /\bOWNER\b/.test(address)) return null;
  return (kind, file) => `${address}/${kind}/v${version}/${file}`;
}

function packedManifest(text) {
  const manifest = JSON.parse(text);
  for (const field of FOR_CHECKOUTS) delete manifest[field];
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function packedPage(page, text, { files, addressOf }) {
  const folder = path.relative(checkout, process.cwd()).split(path.sep).join("/");
  /** The target from the root of the repository; null for one that the package contains. */
  const outside = (target) => {
    if (/^(?:\w+:|#)/.test(target)) return null;
    const [file, ...anchor] = target.split("#");
    const wanted = path.posix.join(path.posix.dirname(page), file);
    if (files.some((one) => one === wanted || one.startsWith(`${wanted}/`))) return null;
    return [path.posix.join(folder, wanted), ...anchor].join("#");
  };
  const code = [];
  return text
    .replaceAll(PICTURE, (picture) => {
      if (picture.match(SOURCE).every((source) => outside(source) === null)) return picture;
      return addressOf === null
        ? ""
        : picture.replaceAll(SOURCE, (source) => addressOf("raw", outside(source)));
    })
    .replaceAll(CODE, (one) => `\0${code.push(one) - 1}\0`)
    .replaceAll(LINK, (link, mark, label, target) => {
      const file = outside(target);
      if (file === null) return link;
      if (addressOf === null) return mark === "" ? label : "";
      return `${mark}[${label}](${addressOf(mark === "" ? "blob" : "raw", file)})`;
    })
    .replaceAll(/\0(\d+)\0/g, (_, index) => code[index]);
}

function strip() {
  // An earlier run was interrupted.
  restore();
  const context = { files: packedFiles(), addressOf: repositoryAddress() };
  const changes = {};
  for (const file of context.files.filter((one) => one === "package.json" || one.endsWith(".md"))) {
    const original = readFileSync(file, "utf8");
    const packed = file.endsWith(".md") ? packedPage(file, original, context) : packedManifest(original);
    if (packed !== original) changes[file] = { original, packed };
  }
  mkdirSync(path.dirname(record), { recursive: true });
  writeFileSync(record, JSON.stringify(changes));
  for (const [file, { packed }] of Object.entries(changes)) writeFileSync(file, packed);
}

function restore() {
  if (!existsSync(record)) return;
  for (const [file, { original, packed }] of Object.entries(JSON.parse(readFileSync(record, "utf8")))) {
    // A file that was edited after an interrupted run keeps the edit.
    if (readFileSync(file, "utf8") === packed) writeFileSync(file, original);
  }
  rmSync(record);
}

const [step] = process.argv.slice(2);
if (step === "strip") strip();
else if (step === "restore") restore();
else {
  console.error("packed-files.mjs: strip or restore");
  process.exitCode = 1;
}
