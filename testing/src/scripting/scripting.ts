/**
 * Scripts and functions of a server: compiled once, run as one command. The interpreter is loaded
 * when the first script comes, and a connection waits for it meanwhile.
 */

import { createHash } from "node:crypto";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, FunctionRun, ScriptHost, ScriptRun } from "../server/model";
import { BIT_OPERATIONS, bitOperation } from "./bit-operations";
import { decodeJson, encodeJson } from "./cjson";
import { packValue, unpackValues } from "./cmsgpack";
import { fromLua, toLua } from "./conversions";
import { FunctionLibraries } from "./function-libraries";
import { loadedLua, loadLua } from "./lua-module";
import { type Host, LuaState, type Outcome } from "./lua-state";
import { LUA_NULL, LuaProblem, LuaTable, type LuaValue, RaisedReply } from "./lua-values";
import { PRELUDE } from "./prelude";
import { NO_ARGUMENTS, ScriptCaller } from "./script-caller";
import { packStruct, sizeOfStruct, unpackStruct } from "./struct";

const SCRIPT_NAME = "@user_script";
const FUNCTION_NAME = "@user_function";
/** Calls a function that redis.register_function has stored. */
const CALL_FUNCTION = "local id, keys, args = ...; return __functions[id](keys, args)";
const NO_SCRIPT = "NOSCRIPT No matching script. Please use EVAL.";

interface Compiled {
  readonly chunk: number;
  readonly isReadonly: boolean;
}

function sha1(text: string): string {
  return createHash("sha1").update(Buffer.from(text, "latin1")).digest("hex");
}

export class Scripting implements ScriptHost {
  private state: LuaState | null = null;
  private readonly compiled = new Map<string, Compiled>();
  private running: ScriptCaller | null = null;
  readonly libraries: FunctionLibraries;

  constructor(private readonly isValkey: boolean) {
    this.libraries = new FunctionLibraries({
      isValkey,
      compile: (code) => this.interpreter().load(code, FUNCTION_NAME),
      run: (chunk, args) => this.interpreter().call(chunk, args),
    });
  }

  get isLoaded(): boolean {
    return loadedLua() !== null;
  }

  async load(): Promise<void> {
    await loadLua();
  }

  /** Compiles a script, if it is new; its SHA-1. Throws the error reply. */
  define(code: string): string {
    const sha = sha1(code);
    if (this.compiled.has(sha)) return sha;
    const { body, isReadonly } = withoutShebang(code);
    const chunk = this.interpreter().load(body, SCRIPT_NAME);
    if (typeof chunk !== "number") {
      throw new ErrorReply(`ERR Error compiling script (new function): ${String(chunk.value)}`);
    }
    this.compiled.set(sha, { chunk, isReadonly });
    return sha;
  }

  has(sha: string): boolean {
    return this.compiled.has(sha.toLowerCase());
  }

  flush(): void {
    this.compiled.clear();
  }

  /** The error for an unknown script. */
  noScript(): ErrorReply {
    return new ErrorReply(this.isValkey ? "NOSCRIPT No matching script." : NO_SCRIPT);
  }

  run(caller: Caller, { sha, keys, args, isReadonly }: ScriptRun): ReplyValue {
    const script = this.compiled.get(sha.toLowerCase());
    if (script === undefined) throw this.noScript();
    const state = this.interpreter();
    state.setGlobalValue("KEYS", LuaTable.ofArray(keys));
    state.setGlobalValue("ARGV", LuaTable.ofArray(args));
    const run = new ScriptCaller(caller, isReadonly || script.isReadonly);
    return this.replyOf(run, sha.toLowerCase(), () => state.call(script.chunk, []));
  }

  /** Runs a function of a library. Throws the error reply if there is none, or it may not run so. */
  callFunction(caller: Caller, { name, keys, args, isReadonly }: FunctionRun): ReplyValue {
    const found = this.libraries.find(name);
    if (found === undefined) throw new ErrorReply("ERR Function not found");
    const mayNotWrite = found.flags.includes("no-writes");
    if (isReadonly && !mayNotWrite) {
      throw new ErrorReply("ERR Can not execute a script with write flag using *_ro command.");
    }
    const state = this.interpreter();
    this.functionCall ??= state.load(CALL_FUNCTION, "@call") as number;
    const chunk = this.functionCall;
    const words = [found.id, LuaTable.ofArray(keys), LuaTable.ofArray(args)];
    return this.replyOf(new ScriptCaller(caller, mayNotWrite), found.name, () => state.call(chunk, words));
  }

  private replyOf(run: ScriptCaller, name: string, call: () => Outcome): ReplyValue {
    const before = this.running;
    this.running = run;
    try {
      const outcome = call();
      if (outcome.isGood)
        return fromLua(outcome.value, { script: run.protocol, connection: run.origin.protocol });
      return new ErrorReply(failureText(outcome, this.isValkey ? "" : `${name}, `));
    } finally {
      this.running = before;
    }
  }

  private functionCall: number | null = null;

  close(): void {
    this.state?.close();
    this.state = null;
    this.functionCall = null;
    this.libraries.flush();
    this.compiled.clear();
  }

  private interpreter(): LuaState {
    if (this.state !== null) return this.state;
    const lua = loadedLua();
    if (lua === null) throw new ErrorReply("ERR The interpreter is not loaded");
    const state = new LuaState(lua, this.host, Object.keys(this.operations));
    state.setGlobalValue("__null", LUA_NULL);
    state.setGlobalValue("__is_valkey", this.isValkey);
    const made = state.run(PRELUDE, "@prelude");
    if (!made.isGood) throw new Error(`The prelude of scripts does not run: ${JSON.stringify(made.value)}`);
    this.state = state;
    return state;
  }

  /** The functions of the host that scripts can call, by the names under which they find it. */
  private readonly operations: Readonly<Record<string, (args: readonly LuaValue[]) => readonly LuaValue[]>> =
    {
      call: (args) => [raised(this.callCommand(args))],
      pcall: (args) => [this.callCommand(args)],
      sha1hex: ([text]) => [sha1(String(text ?? ""))],
      error_reply: ([text]) => [LuaTable.ofFields({ err: String(text ?? "").replace(/^-/, "") })],
      status_reply: ([text]) => [LuaTable.ofFields({ ok: String(text ?? "") })],
      setresp: ([version]) => this.setProtocol(version ?? null),
      acl_check_cmd: (args) => [this.mayRun(args)],
      register_function: (args) => [this.libraries.register(args)],
      "cjson.encode": ([value]) => [encodeJson(value ?? null)],
      "cjson.decode": ([text]) => [decodeJson(text ?? null)],
      "cmsgpack.pack": (args) => [args.map((value) => packValue(value)).join("")],
      "cmsgpack.unpack": ([text]) => unpackValues(text ?? null),
      "struct.pack": (args) => [packStruct(args)],
      "struct.unpack": (args) => unpackStruct(args),
      "struct.size": (args) => [sizeOfStruct(args)],
      ...Object.fromEntries(
        BIT_OPERATIONS.map((name) => [
          `bit.${name}`,
          (args: readonly LuaValue[]) => [bitOperation(name, args)],
        ]),
      ),
    };

  private readonly host: Host = (operation, args) => {
    const run = this.operations[operation];
    if (run === undefined) throw new LuaProblem(`TestServer does not support ${operation} in scripts`);
    return run(args);
  };

  private callCommand(args: readonly LuaValue[]): LuaValue {
    const { running } = this;
    if (running === null) throw new LuaProblem("redis.call can only be called inside a script invocation");
    return toLua(running.callCommand(args), running.protocol);
  }

  private mayRun(args: readonly LuaValue[]): boolean {
    if (this.running === null)
      throw new LuaProblem("redis.acl_check_cmd can only be called inside a script invocation");
    if (args.length === 0) throw new RaisedReply(NO_ARGUMENTS[this.running.engine.version.product]);
    return this.running.mayRun(args);
  }

  private setProtocol(value: LuaValue): LuaValue[] {
    if (value !== 2 && value !== 3) throw new LuaProblem("RESP version must be 2 or 3.");
    if (this.running !== null) this.running.protocol = value;
    return [];
  }
}

/** redis.call raises the error that redis.pcall would return. */
function raised(value: LuaValue): LuaValue {
  const problem = value instanceof LuaTable ? value.get("err") : null;
  if (typeof problem === "string") throw new RaisedReply(problem);
  return value;
}

/** `#!lua flags=no-writes` in front of a script; the lines keep their numbers. */
function withoutShebang(code: string): { body: string; isReadonly: boolean } {
  if (!code.startsWith("#!")) return { body: code, isReadonly: false };
  const end = code.indexOf("\n");
  if (end < 0) throw new ErrorReply("ERR Invalid script shebang");
  const [engine = "", ...words] = code.slice(2, end).trim().split(/\s+/);
  if (engine !== "lua") throw new ErrorReply(`ERR Unexpected engine in script shebang: ${engine}`);
  const flags =
    words
      .find((word) => word.startsWith("flags="))
      ?.slice("flags=".length)
      .split(",") ?? [];
  return { body: code.slice(end), isReadonly: flags.includes("no-writes") };
}

function failureText({ value }: Outcome, script: string): string {
  if (!(value instanceof LuaTable)) return `ERR ${String(value)} script: ${script}on @user_script:1.`;
  const text = String(value.get("err") ?? "ERR unknown error");
  const source = value.get("source");
  if (source === null) return text;
  return `${text} script: ${script}on ${String(source)}:${String(value.get("line"))}.`;
}
