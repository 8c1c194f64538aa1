/**
 * Reads requests from bytes split anywhere: arrays of bulk strings, and inline commands. A request
 * is taken when it is all there. Arguments are byte strings (see reply.ts).
 */

const MAX_INLINE_BYTES = 64 * 1024;
const MAX_ARGUMENTS = 1024 * 1024;
const MAX_BULK_BYTES = 512 * 1024 * 1024;
const STAR = 42;
const DOLLAR = 36;
const CR = 13;

/** The bytes are no request; the server says so and closes the connection. */
export class RequestError extends Error {
  override readonly name = "RequestError";
}

export class RequestParser {
  private text = "";
  private at = 0;
  /** The bytes that came after `text`, not joined to it before a request can be complete. */
  private waiting: string[] = [];
  private waitingBytes = 0;
  /** `text` must be this long before it is worth looking at again. */
  private neededBytes = 0;

  push(chunk: Buffer): void {
    this.waiting.push(chunk.toString("latin1"));
    this.waitingBytes += chunk.length;
  }

  get isEmpty(): boolean {
    return this.at === this.text.length && this.waitingBytes === 0;
  }

  /** The next whole request, or null. An empty array is a request without words: skip it. */
  next(): string[] | null {
    if (this.waitingBytes > 0) {
      const rest = this.text.length - this.at;
      if (rest + this.waitingBytes < this.neededBytes) return null;
      this.join();
    }
    this.neededBytes = 0;
    if (this.at >= this.text.length) return null;
    return this.text.charCodeAt(this.at) === STAR ? this.readArray() : this.readInline();
  }

  private join(): void {
    const rest = this.at === this.text.length ? "" : this.text.slice(this.at);
    this.text =
      rest === "" && this.waiting.length === 1 ? (this.waiting[0] ?? "") : rest + this.waiting.join("");
    this.at = 0;
    this.waiting = [];
    this.waitingBytes = 0;
  }

  private readArray(): string[] | null {
    const { text } = this;
    let end = text.indexOf("\r\n", this.at);
    if (end < 0) return this.awaitLine("too big mbulk count string");
    const count = readCount(text, this.at + 1, end);
    if (count === null || count > MAX_ARGUMENTS) throw new RequestError("invalid multibulk length");
    let at = end + 2;
    const args: string[] = [];
    for (let index = 0; index < count; index++) {
      if (at >= text.length) return null;
      if (text.charCodeAt(at) !== DOLLAR) throw new RequestError(`expected '$', got '${text[at]}'`);
      end = text.indexOf("\r\n", at);
      if (end < 0) return this.awaitLine("too big bulk count string");
      const length = readCount(text, at + 1, end);
      if (length === null || length < 0 || length > MAX_BULK_BYTES)
        throw new RequestError("invalid bulk length");
      const start = end + 2;
      at = start + length + 2;
      if (at > text.length) {
        this.neededBytes = at - this.at;
        return null;
      }
      args.push(text.slice(start, start + length));
    }
    this.at = at;
    return args;
  }

  private readInline(): string[] | null {
    const end = this.text.indexOf("\n", this.at);
    if (end < 0) return this.awaitLine("too big inline request");
    const stop = this.text.charCodeAt(end - 1) === CR && end > this.at ? end - 1 : end;
    const words = splitInline(this.text.slice(this.at, stop));
    if (words === null) throw new RequestError("unbalanced quotes in request");
    this.at = end + 1;
    return words;
  }

  private awaitLine(complaint: string): null {
    if (this.text.length - this.at > MAX_INLINE_BYTES) throw new RequestError(complaint);
    return null;
  }
}

/** Decimal digits with a sign, or null. Short counts come with every argument. */
function readCount(text: string, start: number, end: number): number | null {
  if (end - start === 1) {
    const digit = text.charCodeAt(start) - 48;
    return digit >= 0 && digit <= 9 ? digit : null;
  }
  const digits = text.slice(start, end);
  return /^[+-]?\d{1,18}$/.test(digits) ? Number(digits) : null;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", a: "\x07" };
const SPACE = /\s/;

/** Words of an inline command, with quotes and escapes as servers read them; null if a quote stays open. */
function splitInline(line: string): string[] | null {
  const words: string[] = [];
  let at = 0;
  while (true) {
    while (at < line.length && SPACE.test(line[at] ?? "")) at++;
    if (at >= line.length) return words;
    const word = readWord(line, at);
    if (word === null) return null;
    words.push(word.text);
    at = word.end;
  }
}

function readWord(line: string, start: number): { text: string; end: number } | null {
  let text = "";
  let at = start;
  while (at < line.length && !SPACE.test(line[at] ?? "")) {
    const char = line[at] ?? "";
    if (char !== '"' && char !== "'") {
      text += char;
      at++;
      continue;
    }
    const quoted = readQuoted(line, at + 1, char);
    if (quoted === null) return null;
    text += quoted.text;
    at = quoted.end;
    // A closing quote ends the word.
    return at < line.length && !SPACE.test(line[at] ?? "") ? null : { text, end: at };
  }
  return { text, end: at };
}

function readQuoted(line: string, start: number, quote: string): { text: string; end: number } | null {
  let text = "";
  let at = start;
  while (at < line.length) {
    const char = line[at] ?? "";
    if (char === quote) return { text, end: at + 1 };
    if (char !== "\\") {
      text += char;
      at++;
    } else if (quote === "'") {
      const isEscaped = line[at + 1] === "'";
      text += isEscaped ? "'" : "\\";
      at += isEscaped ? 2 : 1;
    } else {
      const hex = /^\\x([0-9a-fA-F]{2})/.exec(line.slice(at, at + 4))?.[1];
      const next = line[at + 1] ?? "";
      text += hex === undefined ? (ESCAPES[next] ?? next) : String.fromCharCode(Number.parseInt(hex, 16));
      at += hex === undefined ? 2 : 4;
    }
  }
  return null;
}
