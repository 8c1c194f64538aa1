/**
 * Field lists that HIMPORT SET refers to by name. A connection forgets them when it closes or is
 * reset, so each new one prepares them in its handshake, before any command of the user; a SET
 * that the server refuses all the same is repaired once.
 */

import type { Command } from "../command/command";
import { isWord } from "../command/key-positions";
import type { Argument } from "../protocol/resp-types";

export interface Fieldset {
  readonly name: string | Buffer;
  readonly fields: readonly (string | Buffer)[];
}

/** HIMPORT SET key name value ... */
const NAME_POSITION = 2;

/** The arguments of HIMPORT that make the server know a fieldset. */
export function prepareArgumentsOf(fieldset: Fieldset): Argument[] {
  return ["PREPARE", fieldset.name, ...fieldset.fields];
}

/** The fieldset that a refused HIMPORT SET needs, if it is one of ours. */
export function missingFieldset(
  fieldsets: readonly Fieldset[],
  command: Command,
  error: Error,
): Fieldset | undefined {
  if (!/no such fieldset/i.test(error.message) || command.spec.lowerName !== "himport") return undefined;
  const [subcommand, , name] = command.args;
  if (command.args.length <= NAME_POSITION || !isWord(subcommand, "SET")) return undefined;
  const wanted = Buffer.from(name as Argument);
  return fieldsets.find((one) => wanted.equals(Buffer.from(one.name)));
}
