/** Checks and copies the `himportFieldsets` option, so that later changes to the caller's lists have no effect. */

import type { HimportFieldset } from "./common-options";

type Text = string | Buffer;

export function copyFieldsets(value: unknown): readonly HimportFieldset[] {
  if (!Array.isArray(value)) throw new TypeError("himportFieldsets must be an array");
  const names = new Set<string>();
  return Object.freeze(value.map((entry: unknown) => copyFieldset(entry, names)));
}

function copyFieldset(entry: unknown, names: Set<string>): HimportFieldset {
  if (typeof entry !== "object" || entry === null) {
    throw new TypeError("Each HIMPORT fieldset must be an object");
  }
  const { name, fields } = entry as { name?: unknown; fields?: unknown };
  if (!isText(name)) throw new TypeError("Each HIMPORT fieldset name must be a string or Buffer");
  if (!Array.isArray(fields)) throw new TypeError("Each HIMPORT fieldset fields value must be an array");
  if (!fields.every(isText)) throw new TypeError("Each HIMPORT field must be a string or Buffer");
  const key = Buffer.from(name).toString("latin1");
  if (names.has(key)) throw new TypeError("Duplicate HIMPORT fieldset name");
  names.add(key);
  return Object.freeze({ name: copyText(name), fields: Object.freeze(fields.map(copyText)) });
}

function isText(value: unknown): value is Text {
  return typeof value === "string" || Buffer.isBuffer(value);
}

function copyText(text: Text): Text {
  return typeof text === "string" ? text : Buffer.from(text);
}
