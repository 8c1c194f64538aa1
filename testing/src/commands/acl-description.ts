/**
 * The commands of a user in the words of ACL SETUSER. Redis 7.0 keeps which commands are allowed and
 * not the rules that said so: it looks for the categories that describe them best and names the rest
 * one by one. The others keep the rules.
 */

import { CATEGORIES, isIn } from "../server/acl-categories";
import { mayRun } from "../server/acl-check";
import type { Caller, CommandEntry } from "../server/model";
import type { Permissions } from "../server/user";

/** Commands and subcommands. */
export function allCommands({ engine }: Caller): CommandEntry[] {
  return [...engine.commands.values()].flatMap((entry) => [entry, ...(entry.subcommands?.values() ?? [])]);
}

export function commandText(caller: Caller, permissions: Permissions): string {
  if (!caller.engine.version.isModern) return bestFit(allCommands(caller), permissions);
  return permissions.commandRules
    .map(
      ({ isAllowed, category, command }) =>
        `${isAllowed ? "+" : "-"}${category === null ? command : `@${category}`}`,
    )
    .join(" ");
}

/**
 * Starts with all commands allowed, or with all denied, and changes whole categories and then single commands.
 */
function bestFit(commands: readonly CommandEntry[], permissions: Permissions): string {
  const startsWithAll = permissions.commandRules[0]?.isAllowed === true;
  const [toBase, fromBase] = startsWithAll ? ["+", "-"] : ["-", "+"];
  /** The differences from the base. */
  const wanted = new Set(commands.filter((entry) => mayRun(permissions, entry) !== startsWithAll));
  const words = [`${toBase}@all`];
  const left = new Set(wanted);
  const covered = new Set<CommandEntry>();
  const categories = new Set(CATEGORIES);
  for (let best = bestCategory(commands, left, categories); best !== null; ) {
    for (const entry of commands.filter((one) => isIn(one, best as string))) {
      covered.add(entry);
      left.delete(entry);
    }
    words.push(`${fromBase}@${best}`);
    categories.delete(best);
    best = bestCategory(commands, left, categories);
  }
  for (const entry of commands) {
    if (wanted.has(entry) === covered.has(entry)) continue;
    words.push(`${wanted.has(entry) ? fromBase : toBase}${entry.name}`);
    for (const one of [entry, ...(entry.subcommands?.values() ?? [])]) {
      if (wanted.has(entry)) covered.add(one);
      else covered.delete(one);
    }
  }
  return words.join(" ");
}

/** The category with the fewest unwanted commands, among those with mostly wanted ones. */
function bestCategory(
  commands: readonly CommandEntry[],
  wanted: ReadonlySet<CommandEntry>,
  categories: ReadonlySet<string>,
): string | null {
  let best: { readonly name: string; readonly others: number; readonly fitting: number } | null = null;
  for (const name of categories) {
    const inside = commands.filter((entry) => isIn(entry, name));
    const fitting = inside.filter((entry) => wanted.has(entry)).length;
    const others = inside.length - fitting;
    if (fitting <= others) continue;
    if (best === null || others < best.others || (others === best.others && fitting > best.fitting))
      best = { name, others, fitting };
  }
  return best?.name ?? null;
}
