/**
 * Lua values on this side: texts are byte strings, a table is a map with number and text keys.
 */

export type LuaKey = string | number | boolean;
/** `cjson.null`: a pointer to nothing. */
export class LuaNull {
  readonly isNull = true;
}
export const LUA_NULL = new LuaNull();

export type LuaValue = null | boolean | number | string | LuaTable | LuaNull;

export class LuaTable {
  readonly entries = new Map<LuaKey, LuaValue>();

  static ofArray(items: readonly LuaValue[]): LuaTable {
    const table = new LuaTable();
    items.forEach((item, index) => {
      if (item !== null) table.entries.set(index + 1, item);
    });
    return table;
  }

  static ofFields(fields: Readonly<Record<string, LuaValue>>): LuaTable {
    const table = new LuaTable();
    for (const [name, value] of Object.entries(fields)) table.entries.set(name, value);
    return table;
  }

  get(key: LuaKey): LuaValue {
    return this.entries.get(key) ?? null;
  }

  /** The items 1, 2, 3 … up to the first that is missing. */
  items(): LuaValue[] {
    const found: LuaValue[] = [];
    for (let index = 1; this.entries.has(index); index++) found.push(this.get(index));
    return found;
  }
}

/** Deeper tables are refused. */
export const MAX_DEPTH = 1_000;

/** An error that a script sees as a message with the place in front of it. */
export class LuaProblem extends Error {
  override readonly name = "LuaProblem";
}

/** An error that a script sees as a table with the field `err`. */
export class RaisedReply extends Error {
  override readonly name = "RaisedReply";
}
