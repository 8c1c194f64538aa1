/**
 * Finds the keys of commands that the built-in table does not know (private modules) by asking the server. The
 * client asks once for each command name, when it is first used. Until the reply arrives, the commands go to
 * any node and follow the redirect. The reply affects only routing: a key prefix must not depend on whether a
 * reply has arrived.
 */

import { type Command, Origin } from "../command/command";
import { firstKeyPosition, type KeyRule, NO_KEYS, parseKeyRule } from "../command/key-positions";
import { completionOf, ownCommand } from "../command/own-command";
import { NO_SLOT, slotOfKey } from "../command/slot";
import { MOST_NAMES } from "../util/bounds";
import type { NodePool } from "./node-pool";

/**
 * Longer or other text is a whole command line used as a name. It may contain a secret, and no server knows it.
 */
const COMMAND_WORD = /^[\w.|-]{1,64}$/;

export class CommandGuide {
  private readonly rules = new Map<string, KeyRule>();

  constructor(private readonly pool: NodePool) {}

  /** The slot of a command whose keys the table does not know. */
  slotOf({ spec, args }: Command): number {
    const { lowerName } = spec;
    const rule = this.rules.get(lowerName);
    if (rule === undefined) {
      if (COMMAND_WORD.test(lowerName)) this.ask(lowerName);
      return NO_SLOT;
    }
    const key = args[firstKeyPosition({ keys: rule }, args)];
    return key === undefined ? NO_SLOT : slotOfKey(key);
  }

  private ask(lowerName: string): void {
    const node = this.pool.isSealed ? null : this.pool.sample("all");
    if (this.rules.size >= MOST_NAMES || node === null) return;
    this.rules.set(lowerName, NO_KEYS);
    const completion = completionOf((error, reply) => {
      if (error === null) this.rules.set(lowerName, ruleOf(reply));
      // Without a reply (no permission, or a lost connection), the next command asks again.
      else this.rules.delete(lowerName);
    });
    const question = ownCommand(Origin.Question, "command", ["INFO", lowerName], completion);
    this.pool.clientOf(node).link.dispatch(question);
  }
}

/** COMMAND INFO: a list of one row, [name, arity, flags, first key, last key, step, ...], or null. */
function ruleOf(reply: unknown): KeyRule {
  const row: unknown = Array.isArray(reply) ? reply[0] : null;
  if (!Array.isArray(row)) return NO_KEYS;
  const [first, last, step] = row.slice(3, 6).map(Number) as [number, number, number];
  if (!(first >= 1 && step >= 1)) return NO_KEYS;
  return parseKeyRule(`r${first - 1}.${last < 0 ? last : last - 1}.${step}`);
}
