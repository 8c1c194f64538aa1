/**
 * Functions: FUNCTION and its kind, FCALL.
 */

import { matchesGlob } from "../protocol/glob";
import { parseInteger } from "../protocol/numbers";
import { ErrorReply, MapReply, OK, type ReplyValue, SetReply, Status } from "../protocol/reply";
import type { Caller, Handler, Handlers, Library } from "../server/model";
import { at, word, wrongWords } from "./arguments";

function call(isReadonly: boolean): Handler {
  return (caller, args) => {
    const { scripting } = caller.engine;
    if (!scripting.libraries.has(at(args, 1))) throw new ErrorReply("ERR Function not found");
    const count = parseInteger(at(args, 2));
    if (count === null) throw new ErrorReply("ERR Bad number of keys provided");
    if (count > args.length - 3)
      throw new ErrorReply("ERR Number of keys can't be greater than number of args");
    if (count < 0) throw new ErrorReply("ERR Number of keys can't be negative");
    const end = 3 + Number(count);
    return scripting.callFunction(caller, {
      name: at(args, 1),
      keys: args.slice(3, end),
      args: args.slice(end),
      isReadonly,
    });
  };
}

function load(caller: Caller, args: readonly string[]): ReplyValue {
  let replaces = false;
  for (let index = 2; index < args.length - 1; index++) {
    if (word(args, index) !== "REPLACE") throw new ErrorReply(`ERR Unknown option given: ${at(args, index)}`);
    replaces = true;
  }
  return caller.engine.scripting.libraries.load(at(args, args.length - 1), replaces);
}

function describe({ name, code, functions }: Library, withCode: boolean): ReplyValue {
  const listed = functions.map(
    (one) =>
      new MapReply([
        "name",
        one.name,
        "description",
        one.description,
        "flags",
        new SetReply(one.flags.map((flag) => new Status(flag))),
      ]),
  );
  const rest = withCode ? ["library_code", code] : [];
  return new MapReply(["library_name", name, "engine", "LUA", "functions", listed, ...rest]);
}

function list(caller: Caller, args: readonly string[]): ReplyValue {
  let withCode = false;
  let pattern: string | null = null;
  for (let index = 2; index < args.length; index++) {
    const name = word(args, index);
    if (name === "WITHCODE" && !withCode) withCode = true;
    else if (name === "LIBRARYNAME" && pattern === null) {
      pattern = args[++index] ?? null;
      if (pattern === null) throw new ErrorReply("ERR library name argument was not given");
    } else throw new ErrorReply(`ERR Unknown argument ${at(args, index)}`);
  }
  return caller.engine.scripting.libraries.all
    .filter(({ name }) => pattern === null || matchesGlob(pattern, name, true))
    .map((library) => describe(library, withCode));
}

function stats(caller: Caller): ReplyValue {
  const { all } = caller.engine.scripting.libraries;
  const functions = all.reduce((sum, library) => sum + library.functions.length, 0);
  const lua = new MapReply(["libraries_count", all.length, "functions_count", functions]);
  return new MapReply(["running_script", null, "engines", new MapReply(["LUA", lua])]);
}

function flush(caller: Caller, args: readonly string[]): ReplyValue {
  const mode = word(args, 2);
  if (args.length > 3) throw new ErrorReply(wrongWords("FUNCTION", "flush"));
  if (args.length === 3 && mode !== "ASYNC" && mode !== "SYNC") {
    throw new ErrorReply("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  }
  caller.engine.scripting.libraries.flush();
  return OK;
}

export const functionHandlers: Handlers = {
  fcall: call(false),
  fcall_ro: call(true),
  "function|load": load,
  "function|list": list,
  "function|stats": stats,
  "function|flush": flush,
  "function|delete"(caller, args) {
    if (caller.engine.scripting.libraries.delete(at(args, 2))) return OK;
    throw new ErrorReply("ERR Library not found");
  },
  "function|kill"() {
    throw new ErrorReply("NOTBUSY No scripts in execution right now.");
  },
};
