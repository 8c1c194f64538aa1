/**
 * The arguments of a command as a tree of `Node`s: read from COMMAND DOCS, or from a short notation
 * where no server at hand describes them or where the API takes forms of its own. Knows nothing of
 * TypeScript types or replies.
 *
 *   UPPER  a word to be sent literally      name   a string       (a b)   several in this order
 *   name!  a key                            name#  a number       (a|b)   one of them
 *   name~  a pattern                        x...   one or more    [x]     may be left out
 *   x+++   one or more, the word before each again                name:T  an argument of type T
 */

import type { ArgumentDoc } from "./snapshot";

export const NodeKind = {
  /** A word sent literally. */
  Word: "word",
  /** A value of the caller. */
  Value: "value",
  /** All children, in order. */
  Sequence: "sequence",
  /** One of the children. */
  Choice: "choice",
  /** Nothing or the child. */
  Optional: "optional",
  /** The child once or more often. */
  Repeated: "repeated",
} as const;

export type ValueType = "key" | "number" | "pattern" | "string" | "verbatim";

export type Node =
  | { readonly kind: "word"; readonly word: string; readonly label?: string }
  | { readonly kind: "value"; readonly name: string; readonly type: ValueType; readonly verbatim?: string }
  | { readonly kind: "sequence" | "choice"; readonly name: string; readonly children: readonly Node[] }
  | { readonly kind: "optional" | "repeated"; readonly child: Node };

const DOC_TYPES: Readonly<Record<string, ValueType>> = {
  key: "key",
  integer: "number",
  double: "number",
  "unix-time": "number",
  pattern: "pattern",
};

/** The tree of the arguments that a server documents. */
export function fromDocs(docs: readonly ArgumentDoc[], name = "arguments"): Node {
  return { kind: NodeKind.Sequence, name, children: docs.map(fromDoc) };
}

function fromDoc(doc: ArgumentDoc): Node {
  const flags = doc.flags ?? [];
  let node = plainNode(doc);
  if (flags.includes("multiple") && !flags.includes("multiple_token")) node = repeated(node);
  if (doc.token !== undefined && doc.type !== "pure-token") {
    node = {
      kind: NodeKind.Sequence,
      name: doc.name,
      children: [{ kind: NodeKind.Word, word: doc.token }, node],
    };
  }
  if (flags.includes("multiple_token")) node = repeated(node);
  return flags.includes("optional") ? { kind: NodeKind.Optional, child: node } : node;
}

function plainNode(doc: ArgumentDoc): Node {
  const children = doc.arguments ?? [];
  // MIGRATE documents "an empty key" as a word without letters.
  if (doc.type === "pure-token") return { kind: NodeKind.Word, word: (doc.token ?? "").replace(/^""$/, "") };
  if (doc.type === "oneof") return { kind: NodeKind.Choice, name: doc.name, children: children.map(fromDoc) };
  if (doc.type === "block") return fromDocs(children, doc.name);
  return { kind: NodeKind.Value, name: doc.name, type: DOC_TYPES[doc.type] ?? "string" };
}

function repeated(child: Node): Node {
  return { kind: NodeKind.Repeated, child };
}

/** The tree that a line of the notation describes. */
export function fromNotation(text: string): Node {
  const words = text.match(/[A-Za-z][A-Za-z0-9-]*:\S+|[[\]()|]|\.\.\.|\+\+\+|[^\s[\]()|.+]+/g) ?? [];
  const reader = new NotationReader(words);
  const node = reader.choice();
  if (!reader.isAtEnd()) throw new Error(`unbalanced notation: ${text}`);
  return node;
}

class NotationReader {
  private position = 0;

  constructor(private readonly words: readonly string[]) {}

  isAtEnd(): boolean {
    return this.position === this.words.length;
  }

  choice(): Node {
    const children = [this.sequence()];
    while (this.take("|")) children.push(this.sequence());
    const [only] = children;
    return children.length === 1 && only !== undefined
      ? only
      : { kind: NodeKind.Choice, name: "option", children };
  }

  private sequence(): Node {
    const children: Node[] = [];
    while (!this.isAtEnd() && !"|)]".includes(this.words[this.position] ?? "")) this.item(children);
    return { kind: NodeKind.Sequence, name: "arguments", children };
  }

  private item(before: Node[]): void {
    const node = this.plain();
    if (this.take("...")) before.push(repeated(node));
    else if (this.take("+++")) {
      const word = before.pop();
      before.push(
        repeated({ kind: NodeKind.Sequence, name: "arguments", children: word ? [word, node] : [node] }),
      );
    } else before.push(node);
  }

  private plain(): Node {
    const word = this.words[this.position++] ?? "";
    if (word === "[") return { kind: NodeKind.Optional, child: this.until("]") };
    if (word === "(") return this.until(")");
    const [name = "", verbatim] = word.split(/:(.*)/s);
    if (verbatim !== undefined) return { kind: NodeKind.Value, name, type: "verbatim", verbatim };
    if (/^[^a-z]+$/.test(word)) return { kind: NodeKind.Word, word };
    const type = { "!": "key", "#": "number", "~": "pattern" }[word.slice(-1)] as ValueType | undefined;
    return { kind: NodeKind.Value, name: type ? word.slice(0, -1) : word, type: type ?? "string" };
  }

  private until(end: string): Node {
    const node = this.choice();
    if (!this.take(end)) throw new Error(`missing ${end}`);
    return node;
  }

  private take(word: string): boolean {
    if (this.words[this.position] !== word) return false;
    this.position++;
    return true;
  }
}

/** The tree as Redis documents commands: `key value [NX | XX] [EX seconds]`. */
export function syntaxText(node: Node): string {
  switch (node.kind) {
    case NodeKind.Word:
      return node.word;
    case NodeKind.Value:
      return node.name.replaceAll("_", "-");
    case NodeKind.Sequence:
      return node.children.map(syntaxText).filter(Boolean).join(" ");
    case NodeKind.Choice:
      return `<${node.children.map(syntaxText).join(" | ")}>`;
    case NodeKind.Optional: {
      const text = syntaxText(node.child);
      const isWhole = text.startsWith("<") && text.indexOf(">") === text.length - 1;
      return `[${isWhole ? text.slice(1, -1) : text}]`;
    }
    case NodeKind.Repeated: {
      const text = syntaxText(node.child);
      return `${text} [${text} ...]`;
    }
  }
}
