/**
 * Finds identical reads in one batch. A read joins an earlier one unless a command in between may have changed one of
 * its keys or has unknown effects. Its reply is then as old as that of the earlier read, but no command of the
 * client in between could reveal the difference.
 */

import type { Command } from "../command/command";
import type { Argument } from "../command/command-spec";
import { Effect, effectOf } from "../command/effects";
import { keyPositions } from "../command/key-positions";
import { policyOf } from "./runs";

/** Printable ASCII has the same bytes in every encoding. */
const PLAIN_TEXT = /^[\x20-\x7e]*$/;

export interface DuplicateReads {
  /** The commands that are sent, in order. */
  readonly sent: readonly Command[];
  /** Maps each sent read to the identical reads behind it. */
  readonly equal: ReadonlyMap<Command, readonly Command[]>;
}

export function findDuplicateReads(
  commands: readonly Command[],
  isFree: (command: Command) => boolean,
): DuplicateReads {
  const sent: Command[] = [];
  const equal = new Map<Command, Command[]>();
  /** The last sent read of each text, and its position. */
  const leaders = new Map<string, { command: Command; at: number }>();
  /** The position of the last command that may have changed a key. */
  const changedAt = new Map<string, number>();
  for (const [at, command] of commands.entries()) {
    const effect = effectOf(command.spec, command.args);
    if (effect === Effect.Cacheable) {
      if (isFree(command)) {
        const text = textOf(command);
        const leader = leaders.get(text);
        const isOpen = (key: string): boolean => (changedAt.get(key) ?? -1) < (leader?.at ?? 0);
        if (leader !== undefined && keyNames(command).every(isOpen)) {
          const reads = equal.get(leader.command);
          if (reads === undefined) equal.set(leader.command, [leader.command, command]);
          else reads.push(command);
          continue;
        }
        leaders.set(text, { command, at });
      }
    } else if (effect === Effect.Keys) for (const key of keyNames(command)) changedAt.set(key, at);
    else if (effect !== Effect.None) leaders.clear();
    sent.push(command);
  }
  return { sent, equal };
}

/** A text that is equal for identical reads with the same retry policy. */
function textOf(command: Command): string {
  let text = `${command.spec.lowerName} ${policyOf(command) ?? ""} `;
  for (const arg of command.args) {
    const bytes = bytesOf(arg);
    text += `${bytes.length}:${bytes}`;
  }
  return text;
}

/** The keys as strings that are equal for equal bytes. */
function keyNames({ spec, args }: Command): string[] {
  return keyPositions(spec, args).map((position) => bytesOf(args[position] as Argument));
}

/** The bytes as a string that is equal for equal bytes. */
function bytesOf(arg: Argument): string {
  if (typeof arg !== "string") return arg.toString("latin1");
  return PLAIN_TEXT.test(arg) ? arg : Buffer.from(arg).toString("latin1");
}

/**
 * Whether a command must not be sent again behind the others: a read if one of them may change its keys, a
 * write if one uses its keys.
 */
export function isOvertaken(member: Command, isWrite: boolean, behind: readonly Command[]): boolean {
  const keys = new Set(keyNames(member));
  return behind.some((other) => {
    const effect = effectOf(other.spec, other.args);
    // Scripts, transactions and changes of the session may concern any key.
    if (effect > Effect.Keys) return true;
    return (isWrite || effect === Effect.Keys) && keyNames(other).some((key) => keys.has(key));
  });
}
