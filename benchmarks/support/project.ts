/**
 * Paths in the checkout. Compiled files are in build/benchmarks, sources and results in benchmarks.
 */

import fs from "node:fs";
import path from "node:path";

export const projectRoot = findRoot(__dirname);
export const resultsFolder = path.join(projectRoot, "benchmarks", "results");
export const imagesFolder = path.join(projectRoot, "docs", "images");
export const compiledFolder = path.join(projectRoot, "build", "benchmarks");

function findRoot(from: string): string {
  let folder = from;
  while (!fs.existsSync(path.join(folder, "package.json"))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${from}`);
    folder = parent;
  }
  return folder;
}
