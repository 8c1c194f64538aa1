/**
 * Compares values with the types that the generated signatures give them: finds the overload that
 * a call takes, as the compiler would, and checks a reply against the text of a type. Knows just the
 * part of TypeScript that `scripts/commands/replies.ts` is written in.
 */

import type { Element, Shape } from "../../scripts/commands/signature-shapes";

/** The reply of the first shape that takes these arguments; undefined if none does. */
export function replyOfCall(shapes: readonly Shape[], args: readonly string[]): string | undefined {
  return shapes.find(({ elements }) => takes(elements, args))?.reply;
}

function takes(elements: readonly Element[], args: readonly string[]): boolean {
  const [element, ...others] = elements;
  if (element === undefined) return args.length === 0;
  if (element.kind === "one") {
    const [arg, ...left] = args;
    return arg !== undefined && fits(element.type, arg) && takes(others, left);
  }
  if (element.kind === "maybe") {
    return [[], ...element.forms].some((form) => takes([...form, ...others], args));
  }
  return args.concat("").some((_, count) => takes(others, args.slice(count)));
}

function fits(type: string, arg: string): boolean {
  if (!type.startsWith('"')) return type !== "object" && !type.startsWith("Map<");
  // The corpus writes some words in small letters, which servers take as well.
  return type.split(" | ").includes(JSON.stringify(arg.toUpperCase()));
}

type Check = (value: unknown) => boolean;

/** Whether a value belongs to a type. */
export function isOfType(text: string, value: unknown): boolean {
  const words = text.match(/"[^"]*"|\.\.\.|\w+|[^\s\w]/g) ?? [];
  const reader = new TypeReader(words);
  return reader.union()(value);
}

class TypeReader {
  private position = 0;

  constructor(private readonly words: readonly string[]) {}

  union(): Check {
    const checks = [this.list()];
    while (this.take("|")) checks.push(this.list());
    return (value) => checks.some((check) => check(value));
  }

  private list(): Check {
    let check = this.plain();
    while (this.words[this.position] === "[" && this.words[this.position + 1] === "]") {
      this.position += 2;
      const element = check;
      check = (value) => Array.isArray(value) && value.every(element);
    }
    return check;
  }

  private plain(): Check {
    const word = this.words[this.position++] ?? "";
    if (word === "(") return this.until(")");
    if (word === "[") return this.tuple();
    if (word === "Record") return this.record();
    if (word.startsWith('"')) return (value) => JSON.stringify(value) === word;
    if (word === "Buffer") return (value) => Buffer.isBuffer(value);
    if (word === "null") return (value) => value === null;
    if (word === "unknown") return () => true;
    return (value) => typeof value === word;
  }

  private until(end: string): Check {
    const check = this.union();
    if (!this.take(end)) throw new Error(`missing ${end} in a type`);
    return check;
  }

  private tuple(): Check {
    const checks: Check[] = [];
    let rest: Check | null = null;
    while (!this.take("]")) {
      const isRest = this.take("...");
      if (this.words[this.position + 1] === ":") this.position += 2;
      const check = this.union();
      if (isRest) rest = check;
      else checks.push(check);
      this.take(",");
    }
    return (value) => {
      if (!Array.isArray(value) || value.length < checks.length) return false;
      const others = value.slice(checks.length);
      if (rest === null ? others.length > 0 : !rest(others)) return false;
      return checks.every((check, index) => check(value[index]));
    };
  }

  private record(): Check {
    this.position += 3;
    const check = this.until(">");
    return (value) => {
      const isPlain = typeof value === "object" && value !== null && !Array.isArray(value);
      return isPlain && Object.values(value).every(check);
    };
  }

  private take(word: string): boolean {
    if (this.words[this.position] !== word) return false;
    this.position++;
    return true;
  }
}
