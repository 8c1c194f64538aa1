/**
 * From file to file: a client that one file makes and exports is a client in the files that import it. Files that have
 * nothing to do with one are not parsed.
 */

import { basename, dirname, join } from "node:path/posix";
import { Rewriter } from "./rewrite-calls.mjs";

const EXTENSION = /\.[cm]?[jt]sx?$/;
const bare = (path) => path.replace(EXTENSION, "").replace(/(?:^|\/)index$/, "");

/** What an import of the file ends in: its name, or that of its folder. */
function importedAs(file) {
  const path = bare(file);
  return path === "" ? "." : basename(path);
}

/** @returns {Rewriter[]} of all files with clients, each of which knows its own */
export function readClientFiles({ compiler, sources, read }, uses) {
  const texts = new Map(sources.map((file) => [file, read(file)]));
  const rewriters = new Map();
  const exported = new Map();
  const exportsFrom = (file) => (specifier) => exported.get(bare(join(dirname(file), specifier)));
  const open = (file) => rewriters.set(file, new Rewriter(compiler, file, texts.get(file)));
  for (const [file, text] of texts) if (uses.test(text)) open(file);
  for (let known = -1, size = 0; size !== known; ) {
    known = size;
    for (const [file, rewriter] of rewriters) {
      const names = rewriter.learnNames(exportsFrom(file));
      if (names.size > 0) exported.set(bare(file), names);
    }
    const words = [...exported.keys()].map(importedAs);
    for (const [file, text] of texts) {
      if (!rewriters.has(file) && words.some((word) => text.includes(word))) open(file);
    }
    size = [...rewriters.values()].reduce(
      (sum, { clients, makers }) => sum + clients.size + makers.size + 1,
      0,
    );
  }
  return [...rewriters.values()];
}
