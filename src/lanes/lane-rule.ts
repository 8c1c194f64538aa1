/**
 * Which commands belong to a lane, and which stand between all lanes. Read from the command table
 * alone; knows no lane, no socket and nothing of what is under way. docs/decisions/0015-lanes.md
 * has the rule in words and its proof.
 *
 *   Keyed    reads or writes keys that it names, and nothing else: goes by their slots
 *   Free     neither reads nor changes data, nor the connection: goes at any time
 *   Barrier  everything else: all that was issued before it is done, and nothing issued after it
 *            is begun, when the server runs it
 */

import type { Command } from "../command/command";
import { CommandFlag, type CommandSpec } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import { isWord, KeyWalk, keyPositions, lowerWord, UNKNOWN_KEYS } from "../command/key-positions";
import { slotOfKey } from "../command/slot";
import type { Argument } from "../protocol/resp-types";

export const Placement = { Keyed: 0, Free: 1, Barrier: 2 } as const;
export type Placement = (typeof Placement)[keyof typeof Placement];

/** Commands that change or read the state of their connection, whatever keys they name. */
const OF_THE_CONNECTION =
  CommandFlag.Select |
  CommandFlag.Multi |
  CommandFlag.Exec |
  CommandFlag.Discard |
  CommandFlag.Watch |
  CommandFlag.Unwatch |
  CommandFlag.EnterSubscriber |
  CommandFlag.ExitSubscriber |
  CommandFlag.Monitor |
  CommandFlag.Reset |
  CommandFlag.Quit |
  CommandFlag.WillDisconnect |
  CommandFlag.Waits |
  CommandFlag.Fieldsets;

/** Their answers say nothing of data, and nothing that they do lasts. */
const FREE: ReadonlySet<string> = new Set(["ping", "echo", "time", "lastsave", "info", "command", "slowlog"]);

/** Subcommands of `CLIENT` that only ask. */
const CLIENT_QUESTIONS: ReadonlySet<string> = new Set([
  "id",
  "info",
  "list",
  "getname",
  "getredir",
  "help",
  "trackinginfo",
]);

/** Where a command belongs; `slots` is emptied and gets the slots of its keys if it is keyed. */
export function placementOf(command: Command, slots: number[]): Placement {
  slots.length = 0;
  const { spec, args, slot } = command;
  if ((spec.flags & OF_THE_CONNECTION) !== 0) return Placement.Barrier;
  if (!isOfKeys(spec, args)) return isFree(spec, args) ? Placement.Free : Placement.Barrier;
  // A cluster has computed it, and all keys share it there.
  if (slot >= 0) slots.push(slot);
  else addSlots(spec, args, slots);
  return slots.length > 0 ? Placement.Keyed : Placement.Barrier;
}

function isOfKeys(spec: CommandSpec, args: readonly Argument[]): boolean {
  const { keys, flags } = spec;
  if (keys.walk === KeyWalk.None || keys === UNKNOWN_KEYS) return false;
  // The keys that its patterns lead to are known to the server alone.
  if (keys.walk === KeyWalk.Sort) return !hasPatterns(args);
  // Of module commands, and of those that a program has added, only the keys are known.
  if ((flags & CommandFlag.Known) === 0) return true;
  return (flagsFor(spec, args) & (CommandFlag.Readonly | CommandFlag.Write)) !== 0;
}

function addSlots(spec: CommandSpec, args: readonly Argument[], slots: number[]): void {
  const { walk, first, last } = spec.keys;
  if (walk === KeyWalk.Range && first === last) {
    const key = args[first];
    if (key !== undefined) slots.push(slotOfKey(key));
    return;
  }
  for (const position of keyPositions(spec, args)) {
    const slot = slotOfKey(args[position] as Argument);
    if (!slots.includes(slot)) slots.push(slot);
  }
}

/** SORT key BY pattern GET pattern. A word that is given as bytes may be any of them. */
function hasPatterns(args: readonly Argument[]): boolean {
  return args.some((arg, index) => index > 0 && (isWord(arg, "BY") || isWord(arg, "GET")));
}

function isFree({ lowerName }: CommandSpec, args: readonly Argument[]): boolean {
  if (FREE.has(lowerName)) return true;
  const word = args[0];
  return lowerName === "client" && word !== undefined && CLIENT_QUESTIONS.has(lowerWord(word));
}

const OF_EACH_CONNECTION: ReadonlySet<string> = new Set(["auth", "hello", "reset", "readonly", "readwrite"]);
const CLIENT_SETTINGS: ReadonlySet<string> = new Set(["setname", "setinfo", "no-evict", "no-touch"]);

/** A setting of the connection that every connection of the client is to have. */
export function isForAll({ spec, args }: Command): boolean {
  if (OF_EACH_CONNECTION.has(spec.lowerName)) return true;
  const word = args[0];
  return spec.lowerName === "client" && word !== undefined && CLIENT_SETTINGS.has(lowerWord(word));
}

/** The state that other CLIENT commands set up on their connection (TRACKING, CACHING ...) is of use to commands on it alone. */
export function bindsToMain({ spec, args }: Command): boolean {
  if ((spec.flags & CommandFlag.Monitor) !== 0) return true;
  const word = args[0];
  if (spec.lowerName !== "client" || word === undefined) return false;
  const subcommand = lowerWord(word);
  return subcommand === "tracking" || subcommand === "caching" || subcommand === "reply";
}
