/**
 * Turns an argument tree into shapes: the lists of arguments that one TypeScript signature accepts,
 * each with its reply. Choices of words become unions of literals, what may be left out becomes an
 * overload of its own as long as eight are enough, beyond that a tuple that is spread. A signature
 * has one rest element at most; where a command would need two, both fall together.
 */

import type { ReplyText } from "./replies";
import { type Node, NodeKind, type ValueType } from "./syntax";

export type Element =
  | { readonly kind: "one"; readonly label: string; readonly type: string }
  | { readonly kind: "rest"; readonly label: string; readonly type: string; readonly isOptional?: boolean }
  | { readonly kind: "maybe"; readonly label: string; readonly forms: readonly Element[][] };

export interface Shape {
  readonly elements: readonly Element[];
  readonly reply: string;
}

/** The type of what a list holds that takes anything. */
const FREE_LIST = "RedisValue";
const MOST_OVERLOADS = 8;
const MOST_FORMS_OF_A_TUPLE = 64;

/** Strings where a number is a mistake; every other string argument takes numbers as well. */
const TEXT_ONLY = new Set(
  `field group consumer username password host pattern script sha1 function library-name category capability
   channel shardchannel name path rule module-name json`.split(/\s+/),
);

function typeOf(name: string, type: ValueType): string {
  if (type === "key") return "RedisKey";
  if (type === "number") return "number | string";
  if (type === "pattern" || TEXT_ONLY.has(name)) return "string | Buffer";
  return "RedisValue";
}

export function camelCase(name: string): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? ["option"];
  return words
    .map((word, index) => (index === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1)))
    .join("");
}

/** One way to call a command, with its reply. */
export interface Form {
  readonly tree: Node;
  readonly reply: ReplyText;
}

/** The shapes of a command from all its forms, most arguments first. */
export function shapesOf(forms: readonly Form[]): Shape[] {
  return limited(unique(forms.flatMap(shapesOfForm)));
}

function shapesOfForm({ tree, reply }: Form): Shape[] {
  const cases = typeof reply === "string" ? { else: reply } : reply;
  const expansion = new Expansion(Object.keys(cases));
  const lists = expansion.lists(tree).map(withOneRest);
  const shapes = lists.map((elements) => ({ elements, reply: expansion.replyOf(elements, cases) }));
  return [...new Set(Object.values(cases))].flatMap((text) => shapes.filter((shape) => shape.reply === text));
}

/** Without shapes that repeat an earlier one, or are the narrower form of a list of anything. */
function unique(shapes: readonly Shape[]): Shape[] {
  const seen = new Set<string>();
  const isNew = (text: string) => !seen.has(text) && seen.add(text);
  return shapes.filter(({ elements }) => {
    const parts = elements.map((element) => ({ ...element, label: "" }));
    const widest = parts.map((part) => (part.kind === "rest" ? { ...part, type: FREE_LIST } : part));
    return !seen.has(JSON.stringify(widest)) && isNew(JSON.stringify(parts));
  });
}

class Expansion {
  constructor(private readonly keys: readonly string[]) {}

  lists(node: Node): Element[][] {
    switch (node.kind) {
      case NodeKind.Word:
        return [
          [{ kind: "one", label: node.label ?? camelCase(node.word), type: JSON.stringify(node.word) }],
        ];
      case NodeKind.Value:
        return [[valueElement(node.name, node.verbatim ?? typeOf(node.name, node.type))]];
      case NodeKind.Sequence:
        return product(node.children.map((child) => this.lists(child)));
      case NodeKind.Choice:
        return this.merged(
          node.name,
          node.children.flatMap((child) => this.lists(child)),
        );
      case NodeKind.Repeated:
        return [repeated(this.lists(node.child))];
      case NodeKind.Optional:
        return this.optional(this.lists(node.child));
    }
  }

  /** The reply of the first case whose word or argument is present. */
  replyOf(elements: readonly Element[], cases: Readonly<Record<string, string>>): string {
    for (const [key, text] of Object.entries(cases)) {
      if (key === "else" || elements.some((element) => mentions(element, key))) return text;
    }
    throw new Error("a reply has no `else`");
  }

  private optional(forms: Element[][]): Element[][] {
    const isSplit = forms.some((form) =>
      form.some((element) => this.keys.some((key) => mentions(element, key))),
    );
    const [only] = forms;
    const rest = forms.length === 1 && only?.length === 1 ? only[0] : undefined;
    if (rest?.kind === "rest") return [[{ ...rest, isOptional: true }]];
    if (isSplit || forms.some((form) => form.some(({ kind }) => kind === "rest"))) return [...forms, []];
    return [[{ kind: "maybe", label: only?.[0]?.label ?? "option", forms }]];
  }

  /** One list for all that differ in their first word only and have the same reply. */
  private merged(name: string, lists: Element[][]): Element[][] {
    const groups = new Map<string, Element[][]>();
    lists.forEach((list, index) => {
      const [head, ...tail] = list;
      const isMergeable =
        head?.kind === "one" && head.type.startsWith('"') && tail.every(({ kind }) => kind === "one");
      const split = list.flatMap((element) => this.keys.filter((key) => mentions(element, key)));
      const types = tail.map((element) => ("type" in element ? element.type : ""));
      const key = isMergeable ? JSON.stringify([types, split]) : `alone ${index}`;
      groups.set(key, [...(groups.get(key) ?? []), list]);
    });
    return [...groups.values()].map((group) => mergeGroup(camelCase(name), group));
  }
}

function valueElement(name: string, type: string): Element {
  return { kind: "one", label: camelCase(name), type };
}

/** Names for choices that have none in the notation, by their first word. */
const CHOICE_NAMES: Readonly<Record<string, string>> = {
  NX: "condition",
  SILENT: "mode",
  GT: "comparison",
  EX: "expiry",
  ASC: "order",
  M: "unit",
  LEFT: "side",
  ON: "enabled",
  COUNT: "limit",
  OBO: "style",
  KEEPREF: "references",
  MAXLEN: "strategy",
  "=": "operator",
  IFEQ: "condition",
  NORMAL: "type",
};

function choiceName(name: string, first: Element | undefined): string {
  if (name !== "option" || first?.kind !== "one") return name;
  return CHOICE_NAMES[JSON.parse(first.type)] ?? name;
}

function mergeGroup(choice: string, group: Element[][]): Element[] {
  const [first = []] = group;
  if (group.length === 1) return first;
  const name = choiceName(choice, first[0]);
  return first.map((element, index) => {
    const same = group.map((list) => list[index]).filter((other) => other?.kind === "one");
    const types = [...new Set(same.map((other) => other.type))];
    const labels = new Set(same.map((other) => other.label));
    const label = index === 0 ? name : labels.size === 1 ? element.label : "value";
    return { kind: "one", label, type: types.join(" | ") };
  });
}

function mentions(element: Element, key: string): boolean {
  if (element.kind === "maybe") return element.forms.some((form) => form.some((part) => mentions(part, key)));
  if (element.type.startsWith('"')) return element.type.split(" | ").includes(JSON.stringify(key));
  return element.label === key;
}

/** A choice that begins with a word is written out once (`GET`), so that the word can decide about the reply. */
function repeated(forms: Element[][]): Element[] {
  const [first = []] = forms;
  const [head] = first;
  const hasWord = forms.length === 1 && head?.kind === "one" && head.type.startsWith('"');
  return hasWord ? [head, repetition(forms)] : [repetition(forms)];
}

function repetition(forms: readonly Element[][]): Element {
  const parts = forms.flat().filter((element) => element.kind !== "maybe");
  const types = [...new Set(parts.flatMap(({ type }) => type.split(" | ")))];
  const values = types.filter((type) => !type.startsWith('"'));
  const [first] = parts;
  if (first === undefined) throw new Error("nothing is repeated");
  if (forms.flat().length > 1) return { kind: "rest", label: "args", type: simplified(values) };
  return { kind: "rest", label: plural(first.label), type: simplified(types) };
}

function plural(label: string): string {
  if (label.endsWith("s")) return label;
  return label.endsWith("y") && label !== "key" ? `${label.slice(0, -1)}ies` : `${label}s`;
}

function simplified(types: readonly string[]): string {
  if (types.includes("RedisValue") || (types.includes("Buffer") && types.includes("number")))
    return "RedisValue";
  if (types.includes("RedisKey") && types.includes("number")) return "RedisValue";
  if (types.includes("RedisKey")) return "RedisKey";
  return types.join(" | ");
}

function product(parts: readonly Element[][][]): Element[][] {
  return parts.reduce<Element[][]>(
    (lists, part) => lists.flatMap((list) => part.map((more) => [...list, ...more])),
    [[]],
  );
}

/** Whether a call may do without the element. */
function isLeftOut(element: Element): boolean {
  return element.kind === "maybe" || (element.kind === "rest" && (element.isOptional ?? false));
}

/** Everything from the first to the last rest element becomes one. */
function withOneRest(elements: readonly Element[]): Element[] {
  const first = elements.findIndex(({ kind }) => kind === "rest");
  const last = elements.findLastIndex(({ kind }) => kind === "rest");
  if (first === last) return [...elements];
  const isOptional = elements.slice(first, last + 1).every(isLeftOut);
  const rest: Element = { kind: "rest", label: "args", type: FREE_LIST, isOptional };
  return [...elements.slice(0, first), rest, ...elements.slice(last + 1)];
}

/** Eight overloads at most; beyond that tuples, and a free tail where even those grow too many. */
function limited(shapes: readonly Shape[]): Shape[] {
  const total = shapes.reduce((sum, { elements }) => sum + formCount(elements) * overloadsOf(elements), 0);
  if (total <= MOST_OVERLOADS) return unique(shapes.flatMap(expanded));
  return unique(
    shapes.map((shape) => (formCount(shape.elements) > MOST_FORMS_OF_A_TUPLE ? withFreeTail(shape) : shape)),
  );
}

/** A list is accepted with a callback behind it and without; one that may be empty also without itself. */
function overloadsOf(elements: readonly Element[]): number {
  const list = elements.find(({ kind }) => kind === "rest");
  if (list === undefined) return 1;
  return mayBeEmpty(list) ? 3 : 2;
}

export function mayBeEmpty(element: Element | undefined): boolean {
  return element?.kind === "rest" && element.isOptional === true;
}

function formCount(elements: readonly Element[]): number {
  return elements.reduce((count, element) => {
    if (element.kind !== "maybe") return count;
    return count * (1 + element.forms.reduce((sum, form) => sum + formCount(form), 0));
  }, 1);
}

function expanded({ elements, reply }: Shape): Shape[] {
  const parts = elements.map((element): Element[][] => {
    if (element.kind !== "maybe") return [[element]];
    return [
      ...element.forms.flatMap((form) =>
        expanded({ elements: form, reply }).map((shape) => [...shape.elements]),
      ),
      [],
    ];
  });
  return product(parts).map((list) => ({ elements: list, reply }));
}

function withFreeTail({ elements, reply }: Shape): Shape {
  const first = elements.findIndex(({ kind }) => kind === "maybe");
  const isOptional = elements.slice(first).every(isLeftOut);
  return {
    elements: [...elements.slice(0, first), { kind: "rest", label: "args", type: FREE_LIST, isOptional }],
    reply,
  };
}
