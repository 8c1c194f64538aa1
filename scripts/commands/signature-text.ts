/**
 * Writes shapes as TypeScript method signatures. Fixed arguments are parameters with an optional
 * callback behind them; a list takes single values and arrays of them, with and without a callback.
 */

import { type Element, mayBeEmpty, type Shape } from "./signature-shapes";

/** Names that are no parameter names. */
const RESERVED = new Set(["function", "default", "delete", "new", "in", "with", "arguments", "eval", "this"]);

export interface Method {
  readonly name: string;
  readonly wantsBuffers: boolean;
  /** Its reply has one form in all contexts. */
  readonly hasOwnForm?: boolean;
}

/** The overloads of one shape, a line each. */
export function signatureLines(method: Method, shape: Shape): string[] {
  const name = /^\w+$/.test(method.name) ? method.name : JSON.stringify(method.name);
  const reply = replyType(shape.reply, method.wantsBuffers);
  const callback = method.hasOwnForm ? `Callback<${reply}>` : `Callback<${reply}, Context>`;
  const result = `${method.hasOwnForm ? "OwnResult" : "Result"}<${reply}, Context>`;
  const elements = withUniqueLabels(shape.elements);
  const forms = elements.some(({ kind }) => kind === "rest")
    ? listForms(elements, callback)
    : [parameters([...elements], `callback?: ${callback}`)];
  return forms.map((form) => `${name}(${form}): ${result};`);
}

function listForms(elements: readonly Element[], callback: string): string[] {
  return [
    asTuple(elements, [`callback: ${callback}`]),
    ...(mayBeEmpty(elements.at(-1)) ? [parameters(elements.slice(0, -1), `callback?: ${callback}`)] : []),
    parameters([...elements], null),
  ];
}

/** A parameter list; one rest parameter with a tuple type where plain parameters cannot say it. */
function parameters(elements: readonly Element[], callback: string | null): string {
  const isPlain = elements.every(({ kind }, index) => {
    return kind === "one" || (kind === "rest" && index === elements.length - 1 && callback === null);
  });
  // Under exactOptionalPropertyTypes an optional place of a tuple takes `undefined` only where it says so.
  const last = callback === null ? [] : [isPlain ? callback : `${callback} | undefined`];
  return isPlain ? [...elements.map(parameterPart), ...last].join(", ") : asTuple(elements, last);
}

/**
 * One rest parameter with a tuple type. Where options make that a union of tuples, what stands in front of the first
 * option is parameters: of a rest parameter with a union the compiler compares only the first place when it calls a
 * method of `Redis | Cluster`, and would take all overloads that begin with a key for the same.
 */
function asTuple(elements: readonly Element[], last: readonly string[]): string {
  const firstList = elements.findIndex(({ kind }) => kind !== "one");
  const fixed = elements.some(({ kind }) => kind === "maybe") ? elements.slice(0, firstList) : [];
  const tuple = [...elements.slice(fixed.length).map(tuplePart), ...last].join(", ");
  return [...fixed.map(parameterPart), `...args: [${tuple}]`].join(", ");
}

function parameterPart(element: Element): string {
  const part = tuplePart(element);
  return RESERVED.has(element.label) ? part.replace(element.label, `${element.label}Name`) : part;
}

function tuplePart(element: Element): string {
  if (element.kind === "one") return `${element.label}: ${element.type.replaceAll(/,(?! )/g, ", ")}`;
  if (element.kind === "rest") return `...${element.label}: OneOrMany<${element.type}>[]`;
  const forms = element.forms.map((form) => `[${withUniqueLabels(form).map(tuplePart).join(", ")}]`);
  return `...${element.label}: [] | ${forms.join(" | ")}`;
}

/** `countToken: "COUNT", count: number`; what is still the same is numbered. */
function withUniqueLabels(elements: readonly Element[]): Element[] {
  return numbered(
    elements.map((element, index) => {
      const isWord = element.kind === "one" && /^"[^"]*"$/.test(element.type);
      const isTaken = elements.some((other, place) => place !== index && other.label === element.label);
      return isWord && isTaken ? { ...element, label: `${element.label}Token` } : element;
    }),
  );
}

function numbered(elements: readonly Element[]): Element[] {
  const seen = new Map<string, number>([["callback", 1]]);
  return elements.map((element) => {
    const count = seen.get(element.label) ?? 0;
    seen.set(element.label, count + 1);
    return count === 0 ? element : { ...element, label: `${element.label}${count + 1}` };
  });
}

export function replyType(reply: string, wantsBuffers: boolean): string {
  const { legacy, resp3, maps } = replyTypes(reply, wantsBuffers);
  if (legacy === resp3) return legacy;
  return `ReplyShape<${[legacy, resp3, `Context["mapping"]`, ...maps].join(", ")}>`;
}

/** A line of `replies.ts` as TypeScript types. */
export function replyTypes(
  reply: string,
  wantsBuffers: boolean,
): { legacy: string; resp3: string; maps: readonly string[] } {
  const types = reply.split(" => ").map((text) => inEncoding(text, wantsBuffers));
  const [legacy = "", resp3 = legacy, ...maps] = types;
  return { legacy, resp3, maps };
}

function inEncoding(text: string, wantsBuffers: boolean): string {
  if (!wantsBuffers) return text.replace(/\bV\b/g, "string");
  return text.replace(/\bV\b|"[A-Z]+"/g, "Buffer").replace(/Buffer( \| Buffer)+/g, "Buffer");
}
