/**
 * Writes the tables of docs/errors.md from the comments of the error classes: the text is what happened, `@section` the
 * table of the class. `@advice` is what to do, for docs/troubleshooting.md. The rest of the page is written by hand.
 * With `--check` nothing is written, and a stale page is an error.
 *
 *   node build/scripts/errors-docs/generate.js [--check]
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../commands/snapshot";

const PAGE = join("docs", "errors.md");
export const SOURCES = [
  "src/errors.ts",
  "src/part-errors.ts",
  "src/cluster/cluster-errors.ts",
  "src/leases/lease-errors.ts",
  "src/failover/failover-error.ts",
  "src/maintenance/maintenance-error.ts",
  "src/streaming/message-errors.ts",
];
const HEAD = "| code | class | what happened |\n|---|---|---|\n";
/** The heading of a section, the text below it, and its table. */
const TABLE = /(^## Errors of (.*)\n[^|]*)(?:\|.*\n)+/gm;
const CLASS = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport class (\w+) extends/g;
/** The classes with a code, in the call of `label`. */
const LABEL = /\b([A-Z_]+): \{ ([\w, ]+) \}/g;

export interface ErrorEntry {
  readonly className: string;
  readonly code: string;
  readonly text: string;
  readonly advice: string;
  /** Empty for the base class, which is never thrown. */
  readonly section: string;
}

/** All error classes of the source, in its order. */
export function errorEntries(): ErrorEntry[] {
  const entries: ErrorEntry[] = [];
  for (const file of SOURCES) {
    const source = readFileSync(join(repositoryRoot(), file), "utf8");
    const codes = new Map<string, string>();
    for (const [, code = "", classes = ""] of source.matchAll(LABEL)) {
      for (const className of classes.split(", ")) codes.set(className, code);
    }
    for (const [, comment = "", className = ""] of source.matchAll(CLASS)) {
      const [text = "", ...tags] = comment
        .replace(/\n \* ?/g, "\n")
        .trim()
        .split(/\n@/);
      entries.push({
        className,
        code: codes.get(className) ?? "",
        text: oneLine(text),
        advice: tagOf(tags, "advice"),
        section: tagOf(tags, "section"),
      });
    }
  }
  return entries;
}

function tagOf(tags: readonly string[], name: string): string {
  const tag = tags.find((one) => one.startsWith(`${name} `));
  return tag === undefined ? "" : oneLine(tag.slice(name.length + 1));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The page with the tables that belong there. */
export function errorsPage(): string {
  const page = readFileSync(join(repositoryRoot(), PAGE), "utf8");
  const entries = errorEntries();
  return page.replace(TABLE, (_whole, before: string, section: string) => {
    const rows = entries
      .filter((entry) => entry.section === section)
      .map(
        ({ code, className, text }) =>
          `| [\`${code}\`](troubleshooting.md#${code}) | ${className} | ${text} |\n`,
      );
    return before + HEAD + rows.join("");
  });
}

export function isFresh(): boolean {
  return readFileSync(join(repositoryRoot(), PAGE), "utf8") === errorsPage();
}

function main(isCheck: boolean): void {
  if (!isCheck) writeFileSync(join(repositoryRoot(), PAGE), errorsPage());
  else if (!isFresh()) {
    process.stdout.write(`stale: ${PAGE}\n`);
    process.exitCode = 1;
  }
}

if (require.main === module) main(process.argv.includes("--check"));
