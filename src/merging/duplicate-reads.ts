/**
 * Identical reads of one batch. A read joins an earlier one unless a command in between may have changed one of
 * its keys or has unknown effects. Its reply is then as old as that of the earlier read, but no command of the
 * client in between could reveal the difference.
 */

import type { Command } from "../command/command";
import type { Argument } from "../command/command-spec";
import { Effect, effectOf } from "../command/effects";
import { keyPositions } from "../command/key-positions";
import { isSame, policyOf } from "./runs";

/** A read that others may join. */
interface Leader {
  readonly command: Command;
  isOpen: boolean;
}

/** Printable ASCII has the same bytes in every encoding. */
const PLAIN_TEXT = /^[\x20-\x7e]*$/;

export interface DuplicateReads {
  /** The commands that are sent, in order. */
  readonly sent: readonly Command[];
  /** Reads that are not sent, by the read whose reply they share. */
  readonly joined: ReadonlyMap<Command, readonly Command[]>;
}

/** Null without identical reads. */
export function findDuplicateReads(
  commands: readonly Command[],
  isFree: (command: Command) => boolean,
): DuplicateReads | null {
  const sent: Command[] = [];
  const joined = new Map<Command, Command[]>();
  const leaders = new Map<string, Leader[]>();
  for (const command of commands) {
    const effect = effectOf(command.spec, command.args);
    if (effect === Effect.Cacheable) {
      const leader = isFree(command) ? leaderOf(command, leaders) : null;
      if (leader !== null && leader !== command) {
        const duplicates = joined.get(leader);
        if (duplicates === undefined) joined.set(leader, [command]);
        else duplicates.push(command);
        continue;
      }
    } else if (effect === Effect.Keys) close(command, leaders);
    else if (effect !== Effect.None) leaders.clear();
    sent.push(command);
  }
  return joined.size > 0 ? { sent, joined } : null;
}

/** The read whose reply this one may share: itself without an earlier one. Null if it has no key. */
function leaderOf(command: Command, leaders: Map<string, Leader[]>): Command | null {
  const keys = keyNames(command);
  const [first] = keys;
  if (first === undefined) return null;
  for (const leader of leaders.get(first) ?? []) {
    if (leader.isOpen && asksTheSame(leader.command, command)) return leader.command;
  }
  const leader = { command, isOpen: true };
  for (const key of keys) {
    const readers = leaders.get(key);
    if (readers === undefined) leaders.set(key, [leader]);
    else readers.push(leader);
  }
  return command;
}

/** Later reads of these keys no longer join the earlier ones. */
function close(command: Command, leaders: Map<string, Leader[]>): void {
  for (const key of keyNames(command)) {
    for (const leader of leaders.get(key) ?? []) leader.isOpen = false;
    leaders.delete(key);
  }
}

function asksTheSame(one: Command, other: Command): boolean {
  return (
    one.spec.lowerName === other.spec.lowerName &&
    one.args.length === other.args.length &&
    policyOf(one) === policyOf(other) &&
    one.args.every((arg, index) => isSame(arg, other.args[index] as Argument))
  );
}

/** The keys as strings that are equal for equal bytes. */
function keyNames({ spec, args }: Command): string[] {
  return keyPositions(spec, args).map((position) => {
    const key = args[position] as Argument;
    if (typeof key === "string") return PLAIN_TEXT.test(key) ? key : Buffer.from(key).toString("latin1");
    return key.toString("latin1");
  });
}
