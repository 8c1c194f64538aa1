/**
 * The interpreter: Lua 5.1 itself, compiled to WebAssembly (docs/decisions/0013-lua-interpreter.md). Loaded
 * with the first script; users who run scripts install the package.
 */

import { runInThisContext } from "node:vm";

/** The interpreter's C interface, as the package exports it; pointers are numbers. */
export interface LuaModule {
  readonly HEAPU8: Uint8Array;
  _malloc(size: number): number;
  _free(pointer: number): void;
  addFunction(callback: (state: number) => number, signature: string): number;
  _luaL_newstate(): number;
  _luaL_openlibs(state: number): void;
  _luaL_loadbuffer(state: number, code: number, size: number, name: number): number;
  _lua_close(state: number): void;
  _lua_pcall(state: number, argumentCount: number, resultCount: number, handler: number): number;
  _lua_gettop(state: number): number;
  _lua_settop(state: number, index: number): void;
  _lua_type(state: number, index: number): number;
  _lua_pushnil(state: number): void;
  _lua_pushboolean(state: number, value: number): void;
  _lua_pushnumber(state: number, value: number): void;
  _lua_pushlstring(state: number, text: number, size: number): void;
  _lua_pushcclosure(state: number, callback: number, upvalues: number): void;
  _lua_pushvalue(state: number, index: number): void;
  _lua_createtable(state: number, items: number, fields: number): void;
  _lua_rawget(state: number, index: number): void;
  _lua_rawgeti(state: number, index: number, item: number): void;
  _lua_rawset(state: number, index: number): void;
  _lua_rawseti(state: number, index: number, item: number): void;
  _lua_next(state: number, index: number): number;
  _lua_objlen(state: number, index: number): number;
  _lua_toboolean(state: number, index: number): number;
  _lua_tonumber(state: number, index: number): number;
  _lua_tolstring(state: number, index: number, size: number): number;
  _lua_pushlightuserdata(state: number, pointer: number): void;
  _lua_error(state: number): number;
  _luaL_where(state: number, level: number): void;
  _lua_concat(state: number, count: number): void;
  _lua_checkstack(state: number, extra: number): number;
}

const PACKAGE = "wasmoon-lua5.1";
const MISSING = `TestServer runs scripts with the package ${PACKAGE}, which is not installed: npm install --save-dev ${PACKAGE}`;
/** Codes of Node for a module that is not there. */
const NOT_FOUND: readonly unknown[] = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"];

const OUTER_LOADER = "process.getBuiltinModule('node:module').createRequire";

type LuaPackage = typeof import("wasmoon-lua5.1");

let loading: Promise<LuaModule> | null = null;
let loaded: LuaModule | null = null;

export function loadedLua(): LuaModule | null {
  return loaded;
}

/**
 * Jest runs tests in a separate context in which late imports fail, both of this package and of its
 * dependencies. The loader of Node, which is outside that context, still works.
 */
function requireOutside(): LuaPackage {
  const createRequire = runInThisContext(OUTER_LOADER) as typeof import("node:module").createRequire;
  return createRequire(__filename)(PACKAGE) as LuaPackage;
}

async function initialize(): Promise<LuaModule> {
  const { LuaApi } = await import("wasmoon-lua5.1").catch(requireOutside);
  const { module } = await LuaApi.initialize();
  return module as unknown as LuaModule;
}

function failureOf(error: NodeJS.ErrnoException): Error {
  const message = NOT_FOUND.includes(error.code)
    ? MISSING
    : `TestServer could not load the package ${PACKAGE}, which runs scripts: ${error.message}`;
  return new Error(message, { cause: error });
}

/** Loads it once in a process. Rejects with installation advice. */
export function loadLua(): Promise<LuaModule> {
  loading ??= initialize().then(
    (module) => {
      loaded = module;
      return module;
    },
    (error: NodeJS.ErrnoException) => {
      loading = null;
      throw failureOf(error);
    },
  );
  return loading;
}
