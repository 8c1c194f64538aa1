/**
 * Adds the families of module commands to a class: `redis.json`, `redis.ft` ... Their code is loaded on first
 * use. A program may replace a family by its own value, because ioredis has no such properties.
 */

import { attachOwn, type Commander } from "../command/commander";
import { MODULE_KEYS } from "../command/generated/table";
import { LatePart } from "../util/late-part";

export const moduleMethods = new LatePart(
  "modules",
  () => require("./methods") as typeof import("./methods"),
);

const FAMILIES = Object.keys(MODULE_KEYS).flatMap((name) => /^(\w+)\.$/.exec(name)?.[1] ?? []);

export function attachFamilies(prototype: object): void {
  for (const name of FAMILIES) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: Commander) {
        return moduleMethods.get().openFamily(this, name);
      },
      set(this: object, value: unknown) {
        attachOwn(this, name, value);
      },
    });
  }
}
