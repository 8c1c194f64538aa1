/**
 * Libraries of functions (FUNCTION LOAD): their code runs once and registers functions, which the
 * interpreter keeps under ids that are given here.
 */

import { ErrorReply } from "../protocol/reply";
import type { Library, LibraryFunction, LibraryStore } from "../server/model";
import type { Outcome } from "./lua-state";
import { LuaTable, type LuaValue, RaisedReply } from "./lua-values";

const NAME = /^\w+$/;
const FLAGS: ReadonlySet<string> = new Set([
  "no-writes",
  "allow-oom",
  "allow-stale",
  "no-cluster",
  "allow-cross-slot-keys",
]);
const BAD_LIBRARY_NAME =
  "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long";
const TAKEN = "ERR Function already exists in the library";
const VALKEY_BAD_NAME = BAD_LIBRARY_NAME.replace("Library", "Function");

interface Registered extends LibraryFunction {
  /** Under which the interpreter keeps it. */
  readonly id: string;
}

interface LoadedLibrary extends Library {
  readonly functions: Registered[];
}

/** The parts of the interpreter that libraries need. */
export interface Interpreter {
  readonly isValkey: boolean;
  compile(code: string): number | Outcome;
  run(chunk: number, args: readonly LuaValue[]): Outcome;
}

/** The name and the code of a library: `#!lua name=lib` and the following lines. */
function metadata(code: string): { name: string; body: string } {
  const end = code.indexOf("\n");
  if (!code.startsWith("#!")) throw new ErrorReply("ERR Missing library metadata");
  if (end < 0) throw new ErrorReply("ERR Invalid library metadata");
  const [engine = "", ...words] = code.slice(2, end).trim().split(/\s+/);
  let name: string | null = null;
  for (const text of words) {
    if (!text.startsWith("name=")) throw new ErrorReply(`ERR Invalid metadata value given: ${text}`);
    if (name !== null)
      throw new ErrorReply("ERR Invalid metadata value, name argument was given multiple times");
    name = text.slice("name=".length);
  }
  if (name === null) throw new ErrorReply("ERR Library name was not given");
  if (!NAME.test(name)) throw new ErrorReply(BAD_LIBRARY_NAME);
  if (engine.toLowerCase() !== "lua") throw new ErrorReply(`ERR Engine '${engine}' not found`);
  return { name, body: code.slice(end) };
}

function messageOf({ value }: Outcome): string {
  return value instanceof LuaTable ? String(value.get("err") ?? "") : String(value);
}

export class FunctionLibraries implements LibraryStore {
  private readonly libraries = new Map<string, LoadedLibrary>();
  /** The library that FUNCTION LOAD runs now. */
  private loading: LoadedLibrary | null = null;
  private nextId = 1;

  constructor(private readonly interpreter: Interpreter) {}

  get all(): readonly Library[] {
    return [...this.libraries.values()];
  }

  find(name: string): Registered | undefined {
    const wanted = name.toLowerCase();
    for (const { functions } of this.libraries.values()) {
      const found = functions.find((one) => one.name.toLowerCase() === wanted);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  has(name: string): boolean {
    return this.find(name) !== undefined;
  }

  load(code: string, replaces: boolean): string {
    const { name, body } = metadata(code);
    const old = this.libraries.get(name);
    if (old !== undefined && !replaces) throw new ErrorReply(`ERR Library '${name}' already exists`);
    const chunk = this.interpreter.compile(body);
    if (typeof chunk !== "number")
      throw new ErrorReply(`ERR Error compiling function: ${String(chunk.value)}`);
    const library: LoadedLibrary = { name, code, functions: [] };
    this.loading = library;
    let outcome: Outcome;
    try {
      outcome = this.interpreter.run(chunk, []);
    } finally {
      this.loading = null;
    }
    if (!outcome.isGood) throw new ErrorReply(this.failureText(messageOf(outcome)));
    if (library.functions.length === 0) throw new ErrorReply("ERR No functions registered");
    this.libraries.delete(name);
    const taken = library.functions.find((one) => this.find(one.name) !== undefined);
    if (taken === undefined) this.libraries.set(name, library);
    else if (old !== undefined) this.libraries.set(name, old);
    if (taken !== undefined) throw new ErrorReply(`ERR Function ${taken.name} already exists`);
    return name;
  }

  private failureText(message: string): string {
    if (this.interpreter.isValkey && (message === TAKEN || message === VALKEY_BAD_NAME)) return message;
    return `ERR Error registering functions: ${message}`;
  }

  delete(name: string): boolean {
    return this.libraries.delete(name);
  }

  flush(): void {
    this.libraries.clear();
  }

  /** redis.register_function: the id for the interpreter. */
  register([name = null, description = null, flags = null]: readonly LuaValue[]): string {
    const { loading } = this;
    if (loading === null) {
      throw new RaisedReply("ERR redis.register_function can only be called on FUNCTION LOAD command");
    }
    const text = String(name);
    if (!NAME.test(text))
      throw new RaisedReply(this.interpreter.isValkey ? VALKEY_BAD_NAME : BAD_LIBRARY_NAME);
    if (loading.functions.some((one) => one.name === text)) {
      throw new RaisedReply(TAKEN);
    }
    const words = flags instanceof LuaTable ? flags.items().map(String) : [];
    if (words.some((word) => !FLAGS.has(word))) throw new RaisedReply("ERR unknown flag given");
    const id = String(this.nextId++);
    loading.functions.push({
      id,
      name: text,
      description: typeof description === "string" ? description : null,
      flags: words,
    });
    return id;
  }
}
