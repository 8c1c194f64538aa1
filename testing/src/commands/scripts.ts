/**
 * EVAL, EVALSHA, SCRIPT.
 */

import { integerOf } from "../protocol/numbers";
import { ErrorReply, OK, type ReplyValue } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import { at, syntaxError, word } from "./arguments";

/** Hexadecimal digits of a SHA-1 digest. */
const SHA_LENGTH = 40;

function evaluate(isSha: boolean, isReadonly: boolean): Handler {
  return (caller, args) => {
    // A text that is no digest is told before the other arguments are looked at.
    if (isSha && at(args, 1).length !== SHA_LENGTH) throw caller.engine.scripting.noScript();
    const count = integerOf(at(args, 2));
    if (count > args.length - 3)
      throw new ErrorReply("ERR Number of keys can't be greater than number of args");
    if (count < 0) throw new ErrorReply("ERR Number of keys can't be negative");
    const { scripting } = caller.engine;
    const sha = isSha ? at(args, 1) : scripting.define(at(args, 1));
    return scripting.run(caller, {
      sha,
      keys: args.slice(3, 3 + count),
      args: args.slice(3 + count),
      isReadonly,
    });
  };
}

function flush(caller: Caller, args: readonly string[]): ReplyValue {
  const mode = word(args, 2);
  if (args.length > 3 || (args.length === 3 && mode !== "ASYNC" && mode !== "SYNC")) {
    if (args.length > 3) throw syntaxError();
    throw new ErrorReply("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  }
  caller.engine.scripting.flush();
  return OK;
}

export const scriptHandlers: Handlers = {
  eval: evaluate(false, false),
  evalsha: evaluate(true, false),
  eval_ro: evaluate(false, true),
  evalsha_ro: evaluate(true, true),
  "script|load": (caller, args) => caller.engine.scripting.define(at(args, 2)),
  "script|exists": (caller, args) => args.slice(2).map((sha) => (caller.engine.scripting.has(sha) ? 1 : 0)),
  "script|flush": flush,
  "script|kill"() {
    throw new ErrorReply("NOTBUSY No scripts in execution right now.");
  },
};
