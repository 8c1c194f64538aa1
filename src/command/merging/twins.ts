/**
 * Identical reads of one batch. A read joins an earlier one unless a command in between may have
 * changed one of its keys, or nobody knows what that command does: its answer is then as old as that
 * of the earlier one, and no command of the client stands between the two that could tell them apart.
 */

import type { Command } from "../command";
import type { Argument } from "../command-spec";
import { Effect, effectOf } from "../effects";
import { keyPositions } from "../key-positions";
import { isSame } from "./rows";

/** A read that others may join. */
interface Leader {
  readonly command: Command;
  isOpen: boolean;
}

/** Letters, digits and the like are the same bytes in every reading. */
const PLAIN_TEXT = /^[\x20-\x7e]*$/;

/** Reads that need not be sent, by the one whose answer they get; null if there are none. */
export function findTwins(
  commands: readonly Command[],
  isFree: (command: Command) => boolean,
): Map<Command, Command[]> | null {
  const found = new Map<Command, Command[]>();
  const leaders = new Map<string, Leader[]>();
  for (const command of commands) {
    switch (effectOf(command.spec, command.args)) {
      case Effect.None:
        break;
      case Effect.Cacheable:
        if (isFree(command)) join(command, leaders, found);
        break;
      case Effect.Keys:
        close(command, leaders);
        break;
      default:
        leaders.clear();
    }
  }
  return found.size > 0 ? found : null;
}

function join(command: Command, leaders: Map<string, Leader[]>, found: Map<Command, Command[]>): void {
  const keys = keyNames(command);
  const [first] = keys;
  if (first === undefined) return;
  const known = leaders.get(first)?.find((leader) => leader.isOpen && asksTheSame(leader.command, command));
  if (known !== undefined) {
    const twins = found.get(known.command);
    if (twins === undefined) found.set(known.command, [command]);
    else twins.push(command);
    return;
  }
  const leader = { command, isOpen: true };
  for (const key of keys) {
    const readers = leaders.get(key);
    if (readers === undefined) leaders.set(key, [leader]);
    else readers.push(leader);
  }
}

/** The reads of these keys are joined no more. */
function close(command: Command, leaders: Map<string, Leader[]>): void {
  const keys = keyNames(command);
  // A script without keys may change any.
  if (keys.length === 0) leaders.clear();
  for (const key of keys) {
    for (const leader of leaders.get(key) ?? []) leader.isOpen = false;
    leaders.delete(key);
  }
}

function asksTheSame(one: Command, other: Command): boolean {
  return (
    one.spec.lowerName === other.spec.lowerName &&
    one.args.length === other.args.length &&
    one.args.every((arg, index) => isSame(arg, other.args[index] as Argument))
  );
}

/** The keys as texts that are the same for the same bytes. */
function keyNames({ spec, args }: Command): string[] {
  return keyPositions(spec, args).map((position) => {
    const key = args[position] as Argument;
    if (typeof key === "string") return PLAIN_TEXT.test(key) ? key : Buffer.from(key).toString("latin1");
    return key.toString("latin1");
  });
}
