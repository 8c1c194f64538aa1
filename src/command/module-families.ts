/**
 * Gives a class the families of module commands: `redis.json`, `redis.ft` ... Their code is loaded on first use. A
 * program may put a value of its own in the place of a family, because the API of ioredis has none of them.
 */

import { attachOwn, type Commander } from "./commander";

const FAMILIES = ["json", "ft", "ts", "bf", "cf", "cms", "topk", "tdigest"];

export function attachFamilies(prototype: object): void {
  for (const name of FAMILIES) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: Commander) {
        const parts = require("./module-methods") as typeof import("./module-methods");
        return parts.openFamily(this, name);
      },
      set(this: object, value: unknown) {
        attachOwn(this, name, value);
      },
    });
  }
}
