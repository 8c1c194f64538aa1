/**
 * Makes commands from what callers pass: flattens, transforms and encodes the arguments, puts
 * the key prefix on. An argument that cannot be sent throws an `ArgumentError`, a command that
 * would put the connection out of step an `UnansweredCommandError`; whoever made the call
 * rejects that command alone with it.
 */

import { ArgumentError, SluiceError } from "../errors";
import type { Argument } from "../protocol/resp-types";
import { maskName } from "../util/credentials";
import { toError } from "../util/user-code";
import { prepareArguments, toArgument } from "./argument-mappers";
import { presentCaller, watchingCaller } from "./caller";
import { Command, type Completion } from "./command";
import { CommandFlag, type CommandSpec, TRANSACTION_END } from "./command-spec";
import { prefixKeys } from "./key-positions";
import { unansweredRefusal } from "./unanswered";

export { largeCopies, recycleArguments } from "./recycled-arguments";
export { refuseLooseArguments } from "./strict-arguments";

/** The prefix that `options.keyPrefix` asks for; none when empty or undefined. */
export type KeyPrefix = string | Buffer;

/** Makes a command. `args` is the callee's own array; it may become the command's. Bytes are copied. */
export function makeCommand(
  spec: CommandSpec,
  args: unknown[],
  wantsBuffers: boolean,
  completion: Completion,
): Command {
  return assemble(spec, prepareArguments(spec, args), wantsBuffers, completion);
}

/** As `makeCommand`, for a pipeline: bytes stay the caller's until `captureArguments` is called. */
export function makeQueuedCommand(
  spec: CommandSpec,
  args: unknown[],
  wantsBuffers: boolean,
  completion: Completion,
): Command {
  return assemble(spec, prepareArguments(spec, args, false), wantsBuffers, completion);
}

function assemble(
  spec: CommandSpec,
  args: Argument[],
  wantsBuffers: boolean,
  completion: Completion,
): Command {
  if ((spec.flags & SPECIAL) === 0) return new Command(spec, args, wantsBuffers, completion);
  if ((spec.flags & CommandFlag.Unanswered) !== 0) refuseUnanswered(spec, args);
  const command = new Command(spec, args, wantsBuffers, completion);
  if ((spec.flags & GUARDING) !== 0) noteCaller(command);
  return command;
}

/** WATCH, and what ends it. */
const GUARDING = CommandFlag.Watch | CommandFlag.Unwatch | TRANSACTION_END;
const SPECIAL = CommandFlag.Unanswered | GUARDING;

function noteCaller(command: Command): void {
  const isWatch = (command.spec.flags & CommandFlag.Watch) !== 0;
  const caller = isWatch ? watchingCaller() : presentCaller();
  if (caller !== undefined) command.ensureExtra().caller = caller;
}

/** The arguments of a call as they would be sent. `args` is the callee's own array. */
export function prepareCall(
  spec: CommandSpec,
  args: unknown[],
  prefix: KeyPrefix | undefined,
  copies: boolean,
): Argument[] {
  const encodable = prepareArguments(spec, args, copies);
  if (prefix !== undefined && prefix.length > 0) prefixKeys(spec, encodable, prefix);
  return encodable;
}

/** The error for `call()` without the name of a command. */
export function nameError(): ArgumentError {
  return new ArgumentError("call", 1, "the name of a command is a string");
}

/** Why a command that was built by hand, and may hold anything by now, cannot be sent. Null if it can. */
export function refusalByHand(command: Command): Error | null {
  const { args, name, spec } = command;
  if (command.isSettled) return new ArgumentError("sendCommand", 1, "this command has its outcome already");
  try {
    for (let i = 0; i < args.length; i++) args[i] = toArgument(args[i], i, name);
  } catch (error) {
    return toError(error);
  }
  return unansweredRefusal(spec, args);
}

function refuseUnanswered(spec: CommandSpec, args: readonly Argument[]): void {
  const refusal = unansweredRefusal(spec, args);
  if (refusal !== null) throw refusal;
}

/** Puts the key prefix on the keys of a command. */
export function applyPrefix(command: Command, prefix: KeyPrefix | undefined): Command {
  if (prefix !== undefined && prefix.length > 0) prefixKeys(command.spec, command.args, prefix);
  return command;
}

/** The error of a call that did not become a command. Its arguments may be of any kind and are left out. */
export function refusalOf(thrown: unknown, name: string): Error {
  const error = toError(thrown);
  if (error instanceof SluiceError) error.command ??= { name: maskName(name, []), args: [] };
  return error;
}
