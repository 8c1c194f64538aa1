/**
 * Writes `src/command/generated/signatures.ts`: the types that every command method has on clients
 * and pipelines. Arguments come from COMMAND DOCS of the snapshots and from `syntax-overrides.ts`,
 * replies from `replies.ts`, documentation from the snapshots.
 */

import { moduleTypesSource } from "./module-signatures";
import { METHOD_NAMES, NEWER_METHOD_NAMES } from "./overrides";
import { REMARKS, REPLIES } from "./replies";
import { PREAMBLE, SPECIAL_METHODS } from "./signature-preamble";
import { type Form, type Shape, shapesOf } from "./signature-shapes";
import { signatureLines } from "./signature-text";
import type { CommandDoc, Snapshot } from "./snapshot";
import { SUMMARIES } from "./summaries";
import { fromDocs, fromNotation, type Node, NodeKind, syntaxText } from "./syntax";
import { NEWER_SUBCOMMANDS, notationsOf } from "./syntax-overrides";

/** The facts of all snapshots together: arguments of the newest server, texts of the most open one. */
class Documents {
  readonly names: readonly string[];

  constructor(private readonly snapshots: readonly Snapshot[]) {
    const names = snapshots.flatMap(({ commands }) => Object.keys(commands));
    this.names = [...new Set([...names, ...NEWER_SUBCOMMANDS])].sort();
  }

  forms(name: string): Form[] {
    const reply = REPLIES[name];
    if (reply === undefined) throw new Error(`replies.ts has no line for ${name}`);
    const notations = notationsOf(name)?.map((line) => line.split(" :: "));
    if (notations !== undefined) {
      return notations.map(([text = "", own]) => ({ tree: fromNotation(text), reply: own ?? reply }));
    }
    const docs = this.all(name).findLast(({ docs }) => docs.arguments !== undefined);
    // Without arguments is right only for a command that a server describes so.
    if (this.all(name).every(({ docs }) => docs.summary === undefined)) {
      throw new Error(`No server at hand describes ${name}: syntax-overrides.ts needs a line for it`);
    }
    return [{ tree: fromDocs(docs?.docs.arguments ?? []), reply }];
  }

  /** The arguments as a server documents them; where none does, as the types have them. */
  syntax(name: string): Node[] {
    const documented = this.all(name).findLast(({ docs }) => docs.arguments !== undefined);
    if (documented !== undefined) return [fromDocs(documented.docs.arguments ?? [])];
    return this.forms(name).map(({ tree }) => tree);
  }

  /** Valkey first, then the oldest Redis that knows it. */
  doc(name: string): CommandDoc {
    const known = this.all(name).filter(({ docs }) => docs.summary !== undefined);
    const open = known.find(({ server }) => server.startsWith("valkey"));
    return (open ?? known[0])?.docs ?? this.all(name)[0]?.docs ?? {};
  }

  private all(name: string): { server: string; docs: CommandDoc }[] {
    const order = [...this.snapshots].sort((a, b) => rank(a.server) - rank(b.server));
    return order.flatMap(({ server, commands }) => {
      const info = commands[name];
      return info === undefined ? [] : [{ server, docs: info.docs }];
    });
  }
}

function rank(server: string): number {
  const [product = "", version = "0"] = server.split(" ");
  return ["none", "valkey", "redis"].indexOf(product) * 100 + Number.parseFloat(version);
}

/** Commands whose signatures are written by hand: in the preamble or, for `multi`, with the clients. */
const DECLARED_ELSEWHERE = new Set(["exec", "multi", "argrep", "vsim"]);

/** The whole generated file. */
export function signaturesSource(snapshots: readonly Snapshot[]): string {
  const documents = new Documents(snapshots);
  const methods = [...METHOD_NAMES, ...NEWER_METHOD_NAMES]
    .sort()
    .map((name) => methodSource(documents, name));
  return `${PREAMBLE}${SPECIAL_METHODS}${methods.join("")}}\n${moduleTypesSource()}`;
}

/** The facts of all servers about a command, in the most open words. */
export function documentOf(snapshots: readonly Snapshot[], name: string): CommandDoc {
  return new Documents(snapshots).doc(name);
}

/** The overloads of a method in the order in which the compiler tries them; none if written by hand. */
export function methodShapes(snapshots: readonly Snapshot[], name: string): Shape[] {
  if (DECLARED_ELSEWHERE.has(name)) return [];
  const documents = new Documents(snapshots);
  return partsOf(documents, name).flatMap((part) => shapesOfPart(documents, part));
}

/** The syntax of a command and its subcommands as Redis documents it, one line each; none if written by hand. */
export function methodSyntax(snapshots: readonly Snapshot[], name: string): string[] {
  if (DECLARED_ELSEWHERE.has(name)) return [];
  const documents = new Documents(snapshots);
  return partsOf(documents, name).flatMap((part) => {
    const title = part.replace("|", " ").toUpperCase();
    return documents.syntax(part).map((tree) => `${title} ${syntaxText(tree)}`.trimEnd());
  });
}

function methodSource(documents: Documents, name: string): string {
  if (DECLARED_ELSEWHERE.has(name)) return "";
  return `\n${partsOf(documents, name)
    .map((part) => partSource(documents, name, part))
    .join("")}`;
}

/** The subcommands of a container, and the command by itself where it is one. */
function partsOf(documents: Documents, name: string): string[] {
  const subcommands = documents.names.filter((other) => other.startsWith(`${name}|`));
  const isCommand = subcommands.length === 0 || notationsOf(name) !== undefined;
  return isCommand ? [...subcommands, name] : subcommands;
}

function shapesOfPart(documents: Documents, part: string): Shape[] {
  return shapesOf(
    documents.forms(part).map(({ tree, reply }) => ({ tree: withSubcommand(part, tree), reply })),
  );
}

/** All overloads of a command or of one subcommand, and of its twin. */
function partSource(documents: Documents, method: string, part: string): string {
  const shapes = shapesOfPart(documents, part);
  const plain = shapes.flatMap((shape) => signatureLines({ name: method, wantsBuffers: false }, shape));
  const twins = shapes.flatMap((shape) =>
    signatureLines({ name: `${method}Buffer`, wantsBuffers: true }, shape),
  );
  const comment = commentOf(documents.doc(part), part);
  const twinComment = `/** \`${part.replace("|", " ").toUpperCase()}\` with Buffers in the reply. */`;
  return [...comment, ...plain, twinComment, ...twins].map((line) => `  ${line}\n`).join("");
}

function withSubcommand(name: string, tree: Node): Node {
  const [, word] = name.split("|");
  if (word === undefined) return tree;
  const subcommand: Node = { kind: NodeKind.Word, word: word.toUpperCase(), label: "subcommand" };
  return { kind: NodeKind.Sequence, name: "arguments", children: [subcommand, tree] };
}

function commentOf(doc: CommandDoc, name: string): string[] {
  const summary = (
    doc.summary ??
    SUMMARIES[name] ??
    `Sends \`${name.replace("|", " ").toUpperCase()}\`.`
  ).replaceAll("*/", "* /");
  const facts = [
    ["Group", doc.group],
    ["Complexity", doc.complexity?.replaceAll(/\s+/g, " ")],
    ["Since", doc.since],
  ];
  const lines = facts.flatMap(([label, text]) =>
    text ? [` * - ${label}: ${text.replaceAll("*/", "* /")}`] : [],
  );
  const isDeprecated = doc.deprecated_since !== undefined && doc.replaced_by !== undefined;
  if (isDeprecated)
    lines.push(` * @remarks Superseded since ${doc.deprecated_since}: use ${doc.replaced_by}.`);
  if (name in REMARKS) lines.push(` * @remarks ${REMARKS[name]}`);
  if (lines.length === 0) return [`/** ${summary} */`];
  return ["/**", ` * ${summary}`, " *", ...lines, " */"];
}
