/**
 * Writes the second part of docs/troubleshooting.md, an anchor for each error code, from the error classes:
 * the beginnings of the messages, the cause, and the remedy. The questions before it are written by hand.
 * With `--check` nothing is written and a stale page is an error.
 *
 *   node build/scripts/errors-docs/troubleshooting.js [--check]
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../commands/snapshot";
import { type ErrorEntry, errorEntries, SOURCES } from "./generate";

const PAGE = join("docs", "troubleshooting.md");
const MARK = "<!-- By code: written by scripts/errors-docs/troubleshooting.ts -->";
/** A message that is given as a default or handed to super() as it stands. */
const MESSAGE =
  /export class (\w+) extends(?:(?!export class)[\s\S])*?(?:super\(\s*|message = )(["`])((?:(?!\2)[\s\S])+)\2/g;

/** Messages by class, values of the moment as dots. */
function messages(): Map<string, string> {
  const found = new Map<string, string>();
  for (const file of SOURCES) {
    for (const [, name = "", , text = ""] of readFileSync(join(repositoryRoot(), file), "utf8").matchAll(
      MESSAGE,
    )) {
      found.set(
        name,
        text
          .replaceAll(/(?:\$\{[^}]*\})+/g, "…")
          .replaceAll("|", "\\|")
          .trim(),
      );
    }
  }
  return found;
}

function sectionOf(code: string, entries: readonly ErrorEntry[], texts: ReadonlyMap<string, string>): string {
  const parts = entries.map(({ className, text, advice }, index) => {
    const message = texts.get(className);
    const shown = message === undefined || message.length < 8 ? [] : [`Message: “${message}”`, ""];
    const action = advice === entries[index + 1]?.advice ? [] : ["", `**Action:** ${advice}.`];
    return [`**${className}**`, "", ...shown, text, ...action].join("\n");
  });
  return `### <a id="${code}"></a>${code}\n\n${parts.join("\n\n")}`;
}

/** The page with the part that belongs below the mark. */
export function troubleshootingPage(): string {
  const page = readFileSync(join(repositoryRoot(), PAGE), "utf8");
  const end = page.indexOf(MARK);
  if (end < 0) throw new Error(`${PAGE} has no place for the codes: ${MARK}`);
  const entries = errorEntries().filter(({ section }) => section !== "");
  const codes = [...new Set(entries.map(({ code }) => code))].sort();
  const texts = messages();
  const sections = codes.map((code) =>
    sectionOf(
      code,
      entries.filter((entry) => entry.code === code),
      texts,
    ),
  );
  return `${page.slice(0, end + MARK.length)}\n\n${sections.join("\n\n")}\n`;
}

function main(isCheck: boolean): void {
  const path = join(repositoryRoot(), PAGE);
  if (!isCheck) writeFileSync(path, troubleshootingPage());
  else if (readFileSync(path, "utf8") !== troubleshootingPage()) {
    process.stdout.write(`stale: ${PAGE}\n`);
    process.exitCode = 1;
  }
}

if (require.main === module) main(process.argv.includes("--check"));
