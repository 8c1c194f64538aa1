/**
 * Checks the English of pages and comments against the rules in terms.yml and sentences.ts, by textlint. Comments are
 * checked as plain text on the lines on which they stand.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TextlintKernel, type TextlintKernelRule } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import text from "@textlint/textlint-plugin-text";
import { parseSync } from "oxc-parser";
import prh from "textlint-rule-prh";
import { checkoutDirectory } from "../servers/cache-directory";
import { type SentenceOptions, sentences } from "./sentences";

export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

const root = checkoutDirectory();
const kernel = new TextlintKernel();
const plugins = [
  { pluginId: "markdown", plugin: markdown },
  { pluginId: "text", plugin: text },
];

function rules(options: SentenceOptions): TextlintKernelRule[] {
  const terms = join(root, "scripts", "prose", "terms.yml");
  return [
    { ruleId: "terms", rule: prh, options: { rulePaths: [terms] } },
    { ruleId: "sentences", rule: sentences, options },
  ];
}

async function lint(path: string, source: string, ext: string, options: SentenceOptions): Promise<Finding[]> {
  const { messages } = await kernel.lintText(source, { filePath: path, ext, plugins, rules: rules(options) });
  return messages.map(({ loc, message }) => ({ path, line: loc.start.line, message }));
}

/** @param path of a Markdown page, from the checkout */
export async function lintPage(path: string): Promise<Finding[]> {
  const source = readFileSync(join(root, path), "utf8");
  return lint(path, source, ".md", {});
}

/** The comments of a file, each on its line, everything else blank. */
function commentsOf(path: string, source: string): string[] {
  const lines = source.split("\n").map(() => "");
  for (const { value, start } of parseSync(path, source).comments) {
    const first = source.slice(0, start).split("\n").length - 1;
    value.split("\n").forEach((line, index) => {
      lines[first + index] += line.replace(/^[\s*]+/, "");
    });
  }
  return lines;
}

/** Relatives that have no noun in front of them: "what waits", "by whoever asks", "for nobody". */
const WITHOUT_NOUN =
  /\b(?:what|whatever|whoever|whom|nobody)\b|\b(?:of|to|by|for|from|with|and|or|but) (?:who|whose|none)\b/i;

function relatives(path: string, comments: readonly string[]): Finding[] {
  return comments.flatMap((text, index) => {
    const found = text.match(WITHOUT_NOUN);
    return found === null
      ? []
      : [{ path, line: index + 1, message: `Name the thing, not "${found[0]}": ${text}` }];
  });
}

/**
 * @param path of a TypeScript file, from the checkout
 * @returns findings in its comments and how many lines of comments it has
 */
export async function lintComments(path: string): Promise<{ findings: Finding[]; lines: number }> {
  const comments = commentsOf(path, readFileSync(join(root, path), "utf8"));
  const findings = await lint(path, comments.join("\n"), ".txt", { mostWords: Infinity });
  findings.push(...relatives(path, comments));
  return { findings, lines: comments.filter(Boolean).length };
}
