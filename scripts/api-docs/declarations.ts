/**
 * Reads what the compiler has emitted into built/**\/*.d.ts: a class, an interface, a type or a
 * function, with its comment and its members. It understands the layout in which the compiler
 * writes declarations, not TypeScript at large.
 */

export interface Comment {
  readonly text: string;
  readonly examples: readonly string[];
  readonly isDeprecated: boolean;
}

/** All overloads of one name. */
export interface Member {
  readonly name: string;
  readonly signatures: readonly string[];
  readonly comment: Comment | null;
  readonly isStatic: boolean;
}

export interface Declaration {
  readonly kind: "class" | "interface" | "type" | "function";
  /** Without its body. */
  readonly head: string;
  /** As written, comment excluded. */
  readonly source: string;
  readonly comment: Comment | null;
  readonly members: readonly Member[];
}

const HIDDEN = /^(?:private|protected) |^(?:(?:static|readonly|abstract|get|set) )*(?:\[(?!Symbol\.)|_)/;
const NAME = /^(?:(?:static|readonly|abstract|get|set|async) )*(\[[\w.]+\]|\w+)/;

/** `null` if the file declares no such name in an exported way. */
export function readDeclaration(file: string, name: string): Declaration | null {
  const start = new RegExp(
    `^export (?:declare )?(?:abstract )?(class|interface|type|function) ${name}\\b`,
    "m",
  );
  // A class with typed events is declared twice; the class is the one that is wanted.
  const asClass = new RegExp(`^export declare (?:abstract )?(class) ${name}\\b`, "m");
  const match = asClass.exec(file) ?? start.exec(file);
  if (match === null) return null;
  const kind = match[1] as Declaration["kind"];
  const source = wholeStatement(file.slice(match.index));
  const hasBody = kind === "class" || kind === "interface";
  const open = source.indexOf("{\n");
  return {
    kind,
    head: oneLine(hasBody && open > 0 ? source.slice(0, open) : source).replace(/^export (?:declare )?/, ""),
    source,
    comment: commentBefore(file.slice(0, match.index)),
    members: hasBody && open > 0 ? readMembers(source.slice(open + 2, source.lastIndexOf("}"))) : [],
  };
}

/** Up to the line on which all brackets are closed again and the statement ends. */
function wholeStatement(text: string): string {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    lines.push(line);
    if (isBalanced(lines.join("\n")) && /[;}]$/.test(line)) break;
  }
  return lines.join("\n");
}

function isBalanced(text: string): boolean {
  let depth = 0;
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/"(?:[^"\\]|\\.)*"/g, "");
  for (const character of code) {
    if ("({[".includes(character)) depth++;
    else if (")}]".includes(character)) depth--;
  }
  return depth === 0;
}

function oneLine(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\s+/g, " ")
    .replace(/\( /g, "(")
    .trim();
}

function commentBefore(text: string): Comment | null {
  const block = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text)?.[1];
  return block === undefined ? null : readComment(block);
}

function readComment(block: string): Comment {
  const lines = block.split("\n").map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  const [text = "", ...tagged] = lines.join("\n").split(/^\s*@/m);
  const deprecated = tagged.find((tag) => tag.startsWith("deprecated"));
  const parameters = tagged.filter((tag) => tag.startsWith("param ")).map(parameterText);
  return {
    text: [text.trim(), deprecated?.replace(/^deprecated/, "Deprecated.").trim() ?? "", ...parameters]
      .filter((part) => part !== "")
      .join("\n\n"),
    examples: tagged
      .filter((tag) => tag.startsWith("example"))
      .map((tag) => tag.replace(/^example\n/, "").trimEnd()),
    isDeprecated: deprecated !== undefined,
  };
}

function parameterText(tag: string): string {
  const [, name = "", text = ""] = /^param (\w+) ([\s\S]*)$/.exec(tag) ?? [];
  return `\`${name}\`: ${text.trim()}`;
}

/** Members that are open to users, overloads together, in the order in which they are declared. */
function readMembers(body: string): Member[] {
  const members = new Map<string, { signatures: string[]; comment: Comment | null; isStatic: boolean }>();
  let open: string[] = [];
  let comment: Comment | null = null;
  for (const line of body.split("\n")) {
    open.push(line);
    const text = open.join("\n").trim();
    const isComment = text.startsWith("/**");
    if (text === "" || (isComment ? !text.endsWith("*/") : !isBalanced(text) || !text.endsWith(";")))
      continue;
    open = [];
    if (isComment) {
      comment = readComment(text.slice(3, -2));
      continue;
    }
    const signature = asField(oneLine(text).replace(/;$/, ""));
    const name = NAME.exec(signature)?.[1];
    // An abstract member without a comment is described where it is implemented.
    const isHidden = HIDDEN.test(signature) || (signature.startsWith("abstract ") && comment === null);
    if (name !== undefined && !isHidden) {
      const known = members.get(name) ?? {
        signatures: [],
        comment,
        isStatic: signature.startsWith("static "),
      };
      if (!signature.startsWith("set ")) known.signatures.push(signature);
      else known.signatures = known.signatures.map((getter) => getter.replace(/^readonly /, ""));
      members.set(name, known);
    }
    comment = null;
  }
  const all = [...members].map(([name, member]) => ({ name, ...member }));
  const isConstructor = ({ name }: Member): boolean => name === "constructor";
  return [...all.filter(isConstructor), ...all.filter((member) => !isConstructor(member))];
}

/** Users see no difference between a getter and a field. */
function asField(signature: string): string {
  return signature.replace(/^((?:static )?)get (\w+)\(\): /, "$1readonly $2: ");
}
