/**
 * The key positions of the module families that servers ship: JSON, search, time series and the probabilistic
 * types. They are sent by `redis.json` and its siblings (module-methods.ts), and by `call`. Names of search indexes are
 * not keys: every node answers for all of them.
 */

import { type KeyRule, NO_KEYS, parseKeyRule } from "./key-positions";

/** The rule of a family, and of its members that differ. */
interface Family {
  readonly rule: string;
  readonly members: Readonly<Record<string, string>>;
}

const FIRST = "r0.0.1";
const NONE = "-";
/** DESTINATION numkeys source ... */
const MERGE = "d1.2.1";

const FAMILIES: ReadonlyMap<string, Family> = new Map<string, Family>([
  ["json", { rule: FIRST, members: { mget: "r0.-2.1", mset: "r0.-1.3" } }],
  [
    "ft",
    {
      rule: NONE,
      // Suggestion dictionaries are keys.
      members: { sugadd: FIRST, sugget: FIRST, sugdel: FIRST, suglen: FIRST },
    },
  ],
  [
    "ts",
    {
      rule: FIRST,
      members: {
        madd: "r0.-1.3",
        createrule: "r0.1.1",
        deleterule: "r0.1.1",
        // These commands select by labels.
        mget: NONE,
        mrange: NONE,
        mrevrange: NONE,
        queryindex: NONE,
      },
    },
  ],
  ["bf", { rule: FIRST, members: {} }],
  ["cf", { rule: FIRST, members: {} }],
  ["cms", { rule: FIRST, members: { merge: MERGE } }],
  ["topk", { rule: FIRST, members: {} }],
  ["tdigest", { rule: FIRST, members: { merge: MERGE } }],
]);

/** JSON.DEBUG MEMORY has a key, JSON.DEBUG HELP has none. */
const JSON_DEBUG = parseKeyRule("s", new Map([["memory", parseKeyRule("r1.1.1")]]));

/** The rule of a command in lower case, or null if its family is unknown. */
export function moduleKeyRule(lowerName: string): KeyRule | null {
  const dot = lowerName.indexOf(".");
  const family = dot < 0 ? undefined : FAMILIES.get(lowerName.slice(0, dot));
  if (family === undefined) return null;
  const member = lowerName.slice(dot + 1);
  if (lowerName === "json.debug") return JSON_DEBUG;
  const text = Object.hasOwn(family.members, member) ? family.members[member] : family.rule;
  return text === undefined || text === NONE ? NO_KEYS : parseKeyRule(text);
}
