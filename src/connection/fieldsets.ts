/**
 * Field lists that HIMPORT SET refers to by name. A connection loses them when it closes or is reset, so each
 * new one prepares them in its handshake, before any command of the user. The link's managed-fieldsets handles
 * a SET whose fieldset the server does not know.
 */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { isWord } from "../command/key-positions";
import type { Argument } from "../protocol/resp-types";

export interface Fieldset {
  readonly name: string | Buffer;
  readonly fields: readonly (string | Buffer)[];
}

/** HIMPORT SET key name value ... */
const NAME_POSITION = 2;

/** The arguments of the HIMPORT that prepares a fieldset. */
export function prepareArgumentsOf(fieldset: Fieldset): Argument[] {
  return ["PREPARE", fieldset.name, ...fieldset.fields];
}

/** The fieldset that a HIMPORT SET needs, if it is a managed one. */
export function fieldsetOf(fieldsets: readonly Fieldset[], command: Command): Fieldset | undefined {
  if (fieldsets.length === 0 || (command.spec.flags & CommandFlag.Fieldsets) === 0) return undefined;
  const [subcommand, , name] = command.args;
  if (command.args.length <= NAME_POSITION || !isWord(subcommand, "SET")) return undefined;
  const wanted = Buffer.from(name as Argument);
  return fieldsets.find((one) => wanted.equals(Buffer.from(one.name)));
}
