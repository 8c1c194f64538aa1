/**
 * Reads interfaces of options out of their source text: each field with its type and its comment.
 * It understands the layout that the formatter gives those files, not TypeScript at large, and
 * throws where it meets a field without a comment.
 */

export interface OptionEntry {
  readonly name: string;
  /** Without `undefined`. */
  readonly type: string;
  readonly effect: string;
  readonly unit: string | null;
  readonly defaultText: string | null;
  readonly isDeprecated: boolean;
}

/** Fields under one `// --- Title` line, or all of an interface without such lines. */
export interface OptionGroup {
  readonly title: string | null;
  readonly entries: readonly OptionEntry[];
}

const FIELD = /^(?:readonly )?(\w+)\??:\s+([\s\S]+);$/;
const TITLE = /^\/\/ --- (.+)$/;

/** The groups of `export interface <name>` in a source text. */
export function readInterface(source: string, name: string): OptionGroup[] {
  const groups: { title: string | null; entries: OptionEntry[] }[] = [];
  let comment: string | null = null;
  for (const piece of piecesOf(bodyOf(source, name))) {
    const title = TITLE.exec(piece)?.[1];
    if (title !== undefined) groups.push({ title, entries: [] });
    else if (piece.startsWith("/**")) comment = piece;
    else {
      if (comment === null) throw new Error(`${name}: no comment above "${piece}"`);
      if (groups.length === 0) groups.push({ title: null, entries: [] });
      groups[groups.length - 1]?.entries.push(entryOf(piece, comment));
      comment = null;
    }
  }
  return groups;
}

function bodyOf(source: string, name: string): string[] {
  const lines = source.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`export interface ${name} `));
  const end = lines.indexOf("}", start);
  if (start < 0 || end < 0) throw new Error(`No interface ${name}`);
  return lines.slice(start + 1, end).map((line) => line.trim());
}

/** Comments, titles and fields, each as one text. */
function* piecesOf(lines: readonly string[]): Generator<string> {
  let open: string[] = [];
  for (const line of lines) {
    if (line === "" && open.length === 0) continue;
    open.push(line);
    const isComment = open[0]?.startsWith("/**") ?? false;
    const isWhole = isComment ? line.endsWith("*/") : line.startsWith("//") || line.endsWith(";");
    if (!isWhole) continue;
    yield open.join("\n");
    open = [];
  }
}

function entryOf(field: string, comment: string): OptionEntry {
  const [, name = "", type = ""] = FIELD.exec(field) ?? [];
  if (name === "") throw new Error(`Not a field: "${field}"`);
  const text = comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim());
  const isTag = (line: string): boolean => line.startsWith("@");
  const tags = text.filter(isTag);
  const tag = (word: string): string | null =>
    tags.find((line) => line.startsWith(`@${word} `))?.slice(word.length + 2) ?? null;
  const effect = [...text.filter((line) => !isTag(line)), tag("deprecated") ?? ""];
  return {
    name,
    type: type
      .replace(/\s+/g, " ")
      .replace(/^\| /, "")
      .replace(/ \| undefined$/, ""),
    effect: effect.join(" ").trim(),
    unit: tag("unit"),
    defaultText: tag("default"),
    isDeprecated: tags.some((line) => line.startsWith("@deprecated")),
  };
}
