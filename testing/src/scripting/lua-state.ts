/**
 * One state of the interpreter: moves values to and from its stack as bytes, loads and runs chunks. All host
 * functions are one C function, with the operation in its upvalue. They are not Lua functions, because an error
 * must have the position of the calling script, also in a tail call.
 */

import type { LuaModule } from "./lua-module";
import {
  LUA_NULL,
  type LuaKey,
  LuaNull,
  LuaProblem,
  LuaTable,
  type LuaValue,
  MAX_DEPTH,
  RaisedReply,
} from "./lua-values";

const Type = { Nil: 0, Boolean: 1, LightPointer: 2, Number: 3, String: 4, Table: 5, Function: 6 } as const;
const GLOBALS = -10002;
const REGISTRY = -10000;
const FIRST_UPVALUE = -10003;
const STACK_ROOM = 40;

/** Runs an operation for a script and returns the results. Throws `LuaProblem`. */
export type Host = (operation: string, args: readonly LuaValue[]) => readonly LuaValue[];

export interface Outcome {
  readonly isGood: boolean;
  /** The result, or the raised value. */
  readonly value: LuaValue;
}

export class LuaState {
  private readonly state: number;
  private readonly sizeAt: number;
  private nextChunk = 1;

  constructor(
    private readonly lua: LuaModule,
    private readonly host: Host,
    operations: readonly string[],
  ) {
    this.state = lua._luaL_newstate();
    this.sizeAt = lua._malloc(8);
    lua._luaL_openlibs(this.state);
    const callback = lua.addFunction((state) => this.answer(state), "ii");
    lua._lua_createtable(this.state, 0, operations.length);
    for (const operation of operations) {
      this.pushText(operation, this.state);
      this.pushText(operation, this.state);
      lua._lua_pushcclosure(this.state, callback, 1);
      lua._lua_rawset(this.state, -3);
    }
    this.setGlobal("__host");
  }

  close(): void {
    this.lua._lua_close(this.state);
    this.lua._free(this.sizeAt);
  }

  /** Runs a chunk now. */
  run(code: string, name: string): Outcome {
    const loaded = this.load(code, name);
    return typeof loaded === "number" ? this.call(loaded, []) : loaded;
  }

  /** Compiles a chunk; its number, or why it cannot be. */
  load(code: string, name: string): number | Outcome {
    const { lua, state } = this;
    const text = this.copyIn(code);
    const label = this.copyIn(`${name}\0`);
    const status = lua._luaL_loadbuffer(state, text, code.length, label);
    lua._free(text);
    lua._free(label);
    if (status !== 0) return { isGood: false, value: this.takeTop() };
    const chunk = this.nextChunk++;
    lua._lua_rawseti(state, REGISTRY, chunk);
    return chunk;
  }

  /** Calls a chunk; an error goes through the global `__handler`. */
  call(chunk: number, args: readonly LuaValue[]): Outcome {
    const { lua, state } = this;
    const base = lua._lua_gettop(state);
    this.pushGlobal("__handler");
    const handler = lua._lua_type(state, -1) === Type.Function ? base + 1 : 0;
    lua._lua_rawgeti(state, REGISTRY, chunk);
    for (const arg of args) this.push(arg);
    const status = lua._lua_pcall(state, args.length, 1, handler);
    const value = this.read(-1);
    lua._lua_settop(state, base);
    return { isGood: status === 0, value };
  }

  setGlobalValue(name: string, value: LuaValue): void {
    this.push(value);
    this.setGlobal(name);
  }

  /** A script has called a host function. */
  private answer(state: number): number {
    const { lua } = this;
    const count = lua._lua_gettop(state);
    let results: readonly LuaValue[] | null = null;
    try {
      const values = Array.from({ length: count }, (_, index) => this.read(index + 1, state));
      results = this.host(this.readText(FIRST_UPVALUE, state), values);
    } catch (error) {
      lua._lua_settop(state, 0);
      this.pushProblem(error, state);
    }
    // Raised by the interpreter: its own jump passes through here, and nothing must catch it.
    if (results === null) return lua._lua_error(state);
    lua._lua_settop(state, 0);
    lua._lua_checkstack(state, results.length + STACK_ROOM);
    for (const value of results) this.push(value, state);
    return results.length;
  }

  private pushProblem(error: unknown, state: number): void {
    if (error instanceof RaisedReply) {
      this.pushTable(LuaTable.ofFields({ err: error.message }), state);
      return;
    }
    if (!(error instanceof LuaProblem)) throw error;
    this.lua._luaL_where(state, 1);
    this.pushText(error.message, state);
    this.lua._lua_concat(state, 2);
  }

  private push(value: LuaValue, state = this.state): void {
    const { lua } = this;
    if (value === null) lua._lua_pushnil(state);
    else if (typeof value === "boolean") lua._lua_pushboolean(state, value ? 1 : 0);
    else if (typeof value === "number") lua._lua_pushnumber(state, value);
    else if (typeof value === "string") this.pushText(value, state);
    else if (value instanceof LuaNull) lua._lua_pushlightuserdata(state, 0);
    else this.pushTable(value, state);
  }

  private pushText(text: string, state: number): void {
    const pointer = this.copyIn(text);
    this.lua._lua_pushlstring(state, pointer, text.length);
    this.lua._free(pointer);
  }

  private pushTable(table: LuaTable, state: number): void {
    const { lua } = this;
    lua._lua_checkstack(state, STACK_ROOM);
    lua._lua_createtable(state, 0, table.entries.size);
    for (const [key, value] of table.entries) {
      if (value === null) continue;
      this.push(key, state);
      this.push(value, state);
      lua._lua_rawset(state, -3);
    }
  }

  private read(index: number, state = this.state, depth = 0): LuaValue {
    const { lua } = this;
    switch (lua._lua_type(state, index)) {
      case Type.Boolean:
        return lua._lua_toboolean(state, index) !== 0;
      case Type.Number:
        return lua._lua_tonumber(state, index);
      case Type.String:
        return this.readText(index, state);
      case Type.LightPointer:
        return LUA_NULL;
      case Type.Table:
        return this.readTable(index, state, depth);
      default:
        return null;
    }
  }

  private readText(index: number, state: number): string {
    const { lua, sizeAt } = this;
    const pointer = lua._lua_tolstring(state, index, sizeAt);
    const { buffer } = lua.HEAPU8;
    const size = new DataView(buffer).getUint32(sizeAt, true);
    return Buffer.from(buffer, pointer, size).toString("latin1");
  }

  private readTable(index: number, state: number, depth: number): LuaTable {
    if (depth > MAX_DEPTH) throw new LuaProblem("reached lua stack limit");
    const { lua } = this;
    const table = new LuaTable();
    lua._lua_checkstack(state, STACK_ROOM);
    const place = index > 0 ? index : lua._lua_gettop(state) + index + 1;
    lua._lua_pushnil(state);
    while (lua._lua_next(state, place) !== 0) {
      const key = this.read(-2, state, depth + 1);
      if (key !== null && typeof key !== "object")
        table.entries.set(key satisfies LuaKey, this.read(-1, state, depth + 1));
      lua._lua_settop(state, -2);
    }
    return table;
  }

  private takeTop(): LuaValue {
    const value = this.read(-1);
    this.lua._lua_settop(this.state, -2);
    return value;
  }

  private pushGlobal(name: string): void {
    this.pushText(name, this.state);
    this.lua._lua_rawget(this.state, GLOBALS);
  }

  /** The value on top of the stack becomes a global, past all protection. */
  private setGlobal(name: string): void {
    const { lua, state } = this;
    this.pushText(name, state);
    lua._lua_pushvalue(state, -2);
    lua._lua_rawset(state, GLOBALS);
    lua._lua_settop(state, -2);
  }

  private copyIn(text: string): number {
    const pointer = this.lua._malloc(text.length + 1);
    Buffer.from(this.lua.HEAPU8.buffer).write(text, pointer, "latin1");
    return pointer;
  }
}
