/**
 * Creates commands from the caller's arguments: flattens, transforms and encodes them, and adds the key prefix.
 * An argument that cannot be sent throws an `ArgumentError`; a command that would desynchronize the connection
 * throws an `UnansweredCommandError`. The caller of this module rejects only that command.
 */

import { ArgumentError, SluiceError } from "../errors";
import type { Argument } from "../protocol/resp-types";
import { maskName } from "../util/credentials";
import { toError } from "../util/user-code";
import { toArgument } from "./argument-mappers";
import { Command, type Completion } from "./command";
import { CommandFlag, type CommandSpec, TRANSACTION_END } from "./command-spec";
import { refuseUnanswered } from "./unanswered";
import { presentUser, watchingUser } from "./watch-user";

export { prepareArguments } from "./argument-mappers";
export { prefixKeys } from "./key-positions";
export { largeCopies, recycleArguments } from "./recycled-arguments";
export { refuseLooseArguments } from "./strict-arguments";

/** The prefix from `options.keyPrefix`; none when empty or undefined. */
export type KeyPrefix = string | Buffer;

/** Creates a command from prepared arguments, and keeps their array. */
export function makeCommand(
  spec: CommandSpec,
  args: Argument[],
  wantsBuffers: boolean,
  completion: Completion,
): Command {
  if ((spec.flags & CommandFlag.Unanswered) !== 0) refuseUnanswered(spec, args);
  const command = new Command(spec, args, wantsBuffers, completion);
  if ((spec.flags & GUARDING) !== 0) noteCaller(command);
  return command;
}

const GUARDING = CommandFlag.Watch | CommandFlag.Unwatch | TRANSACTION_END;

function noteCaller(command: Command): void {
  const isWatch = (command.spec.flags & CommandFlag.Watch) !== 0;
  const user = isWatch ? watchingUser() : presentUser();
  if (user !== undefined) command.ensureExtra().watchUser = user;
}

/** The error for `call()` without a command name. */
export function nameError(): ArgumentError {
  return new ArgumentError("call", 1, "the name of a command must be a string");
}

/** The error for `sendCommand()` with an argument that is not a command. */
export function commandError(): ArgumentError {
  return new ArgumentError("sendCommand", 1, "it is not a Command; call() sends a command by its name");
}

/** The reason why a command that was built by hand cannot be sent, or null. It may have any content. */
export function refusalByHand(command: Command): Error | null {
  const { args, name, spec } = command;
  if (command.isSettled) return new ArgumentError("sendCommand", 1, "this command has already settled");
  try {
    for (let i = 0; i < args.length; i++) args[i] = toArgument(args[i], i, name);
    refuseUnanswered(spec, args);
    return null;
  } catch (error) {
    return toError(error);
  }
}

/** The error of a call that did not become a command. Its arguments may be of any type and are not included. */
export function refusalOf(thrown: unknown, name: string): Error {
  const error = toError(thrown);
  if (error instanceof SluiceError) error.command ??= { name: maskName(name, []), args: [] };
  return error;
}
