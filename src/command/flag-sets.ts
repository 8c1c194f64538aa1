/**
 * The public lists of commands by property (`Command.FLAGS`) and the membership test (`Command.checkFlag`),
 * both derived from the command table. Built on first access; membership ignores letter case.
 */

import { CommandFlag } from "./command-spec";
import { additionalCommandNames, commandNames, specOf } from "./command-table";

const BITS = {
  VALID_IN_SUBSCRIBER_MODE: CommandFlag.ValidInSubscriber,
  VALID_IN_MONITOR_MODE: CommandFlag.ValidInMonitor,
  ENTER_SUBSCRIBER_MODE: CommandFlag.EnterSubscriber,
  EXIT_SUBSCRIBER_MODE: CommandFlag.ExitSubscriber,
  // SHUTDOWN also ends the connection, but the API lists only QUIT, because a client reconnects after SHUTDOWN.
  WILL_DISCONNECT: CommandFlag.Quit,
  HANDSHAKE_COMMANDS: CommandFlag.Handshake,
  IGNORE_RECONNECT_ON_ERROR: CommandFlag.IgnoresReconnectOnError,
  BLOCKING_COMMANDS: CommandFlag.Blocking,
  LAST_ARG_TIMEOUT_COMMANDS: CommandFlag.TimeoutLast,
  FIRST_ARG_TIMEOUT_COMMANDS: CommandFlag.TimeoutFirst,
  BLOCK_OPTION_COMMANDS: CommandFlag.BlockOption,
};

export type FlagSetName = keyof typeof BITS;
export type FlagSets = Record<FlagSetName, string[]>;

let built: FlagSets | null = null;

/** All lists, each sorted. The application may change the lists: `isInFlagSet` reads them. */
export function flagSets(): FlagSets {
  if (built !== null) return built;
  const names = [...commandNames, ...additionalCommandNames].sort();
  built = {} as FlagSets;
  for (const flag of Object.keys(BITS) as FlagSetName[])
    built[flag] = names.filter((name) => hasFlag(flag, name));
  return built;
}

/** False for a list or a command that does not exist. */
export function isInFlagSet(flag: FlagSetName, word: string): boolean {
  if (!Object.hasOwn(BITS, flag)) return false;
  return flagSets()[flag].includes(String(word).toLowerCase());
}

function hasFlag(flag: FlagSetName, word: string): boolean {
  const { flags } = specOf(word);
  // WAIT also blocks, but only for the time in its argument and never for data.
  if (flag === "BLOCKING_COMMANDS" && (flags & CommandFlag.Waits) !== 0) return false;
  return (flags & BITS[flag]) !== 0;
}
