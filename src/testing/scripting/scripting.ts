/**
 * Scripts and functions of a server: compiled once, run as one command. The interpreter is loaded
 * when the first script comes, and a connection waits for it meanwhile.
 */

import { createHash } from "node:crypto";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, CommandEntry, ScriptHost, ScriptRun } from "../server/model";
import { BIT_OPERATIONS, bitOperation } from "./bit-operations";
import { decodeJson, encodeJson } from "./cjson";
import { packValue, unpackValues } from "./cmsgpack";
import { fromLua, toLua } from "./conversions";
import { loadedLua, loadLua } from "./lua-module";
import { type Host, LuaState, type Outcome } from "./lua-state";
import { LUA_NULL, LuaProblem, LuaTable, type LuaValue, RaisedReply } from "./lua-values";
import { PRELUDE } from "./prelude";
import { ScriptCaller } from "./script-caller";
import { packStruct, sizeOfStruct, unpackStruct } from "./struct";

const SCRIPT_NAME = "@user_script";
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

  constructor(private readonly isValkey: boolean) {}

  mustLoad(entry: CommandEntry): boolean {
    return entry.group === "scripting" && loadedLua() === null;
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

  run(caller: Caller, { sha, keys, args, isReadonly }: ScriptRun): ReplyValue {
    const script = this.compiled.get(sha.toLowerCase());
    if (script === undefined)
      throw new ErrorReply(this.isValkey ? "NOSCRIPT No matching script." : NO_SCRIPT);
    const state = this.interpreter();
    state.setGlobalValue("KEYS", LuaTable.ofArray(keys));
    state.setGlobalValue("ARGV", LuaTable.ofArray(args));
    const run = new ScriptCaller(caller, isReadonly || script.isReadonly);
    const before = this.running;
    this.running = run;
    try {
      const outcome = state.call(script.chunk, []);
      if (outcome.isGood)
        return fromLua(outcome.value, { script: run.protocol, connection: caller.protocol });
      return new ErrorReply(failureText(outcome, this.isValkey ? "" : `${sha.toLowerCase()}, `));
    } finally {
      this.running = before;
    }
  }

  close(): void {
    this.state?.close();
    this.state = null;
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

  /** What scripts can ask of the host, by the names under which they find it. */
  private readonly operations: Readonly<Record<string, (args: readonly LuaValue[]) => readonly LuaValue[]>> =
    {
      call: (args) => [raised(this.callCommand(args))],
      pcall: (args) => [this.callCommand(args)],
      sha1hex: ([text]) => [sha1(String(text ?? ""))],
      error_reply: ([text]) => [LuaTable.ofFields({ err: String(text ?? "").replace(/^-/, "") })],
      status_reply: ([text]) => [LuaTable.ofFields({ ok: String(text ?? "") })],
      setresp: ([version]) => this.setProtocol(version ?? null),
      acl_check_cmd: () => [true],
      register_function() {
        throw new LuaProblem("redis.register_function can only be called on FUNCTION LOAD command");
      },
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

  private setProtocol(value: LuaValue): LuaValue[] {
    if (value !== 2 && value !== 3) throw new LuaProblem("RESP version must be 2 or 3.");
    if (this.running !== null) this.running.protocol = value;
    return [];
  }
}

/** redis.call raises what redis.pcall returns. */
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
