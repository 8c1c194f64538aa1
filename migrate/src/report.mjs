/** Prints the plan, or carries it out. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix, resolve, sep } from "node:path";

const { homepage = "" } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
/** The release fills in the address of the repository; a checkout has names of pages. */
const base = homepage === "" ? "" : `${homepage.replace(/\/tree\/.*$|#.*$/, "")}/blob/main/`;

const INSTALL = { npm: "npm install", pnpm: "pnpm install", yarn: "yarn install", bun: "bun install" };

function print(text = "") {
  process.stdout.write(`${text}\n`);
}

export function write({ folder }, { edits, removals }) {
  for (const { file, after } of edits) writeFileSync(join(folder, file), after);
  for (const path of removals) {
    const place = resolve(folder, path);
    // Paths come from a lock file: nothing outside of the folder is touched.
    if (place.startsWith(`${resolve(folder, "node_modules")}${sep}`))
      rmSync(place, { recursive: true, force: true });
  }
}

function printNotes(notes) {
  const groups = groupedBy(notes);
  for (const [text, all] of groups) {
    print(`  ${text}`);
    const places = all.flatMap(({ file, line }) => (file === undefined ? [] : [`${file}:${line}`]));
    for (const place of places) print(`    ${place}`);
    const [{ link }] = all;
    if (link !== undefined) print(`    see ${base}${posix.join("docs", link)}`);
  }
}

/** Node 20 has no grouping of its own. */
function groupedBy(notes) {
  const groups = new Map();
  for (const note of notes) groups.set(note.text, [...(groups.get(note.text) ?? []), note]);
  return groups;
}

export function report({ manager }, { edits, removals, notes, isMoved }, isWritten) {
  if (edits.length === 0) {
    if (isMoved) print("ioredis is already sluice in this project. Nothing to write.");
    else if (notes.length === 0) print("This project uses neither ioredis nor node-redis.");
    if (notes.length === 0) return;
  }
  if (edits.length > 0)
    print(isWritten ? "Changes written:" : "Changes (run again with --write to write them):");
  for (const { file, lines } of edits) {
    print(`  ${file}`);
    for (const line of lines) print(`    ${line}`);
  }
  for (const path of removals) print(`  ${isWritten ? "removed" : "would be removed"}: ${path}`);
  if (notes.length > 0) {
    print();
    print(`Check these places${isWritten ? " (line numbers before the changes)" : ""}:`);
    printNotes(notes);
  }
  if (edits.length > 0) {
    print();
    print(`Next: run ${INSTALL[manager]}, then your tests.`);
  }
}
