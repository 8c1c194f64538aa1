/** The rows of a pipeline, and how the reply of EXEC maps to them. */

import type { Command } from "../command/command";
import { CommandFlag, type ReplyShape } from "../command/command-spec";
import { mapReply, withText } from "../command/reply-mappers";
import { AbortError, ReplyError } from "../errors";
import { attachCommand } from "../observability/redact";
import type { Reply } from "../protocol/resp-types";
import { toError } from "../util/user-code";

/** One row of the result: `[null, reply]` or `[error]`. */
export type Row = [error: null, result: unknown] | [error: Error];
export type Rows = Row[];

/** Maps the elements of an EXEC reply like the replies to single commands. Null (of a lost WATCH) stays null. */
export function mapExecReply(
  members: readonly Command[],
  exec: Command,
  reply: Reply,
  shape: ReplyShape,
): Reply {
  if (!Array.isArray(reply)) return reply;
  return reply.map((element, i) => {
    const member = members[i];
    return member === undefined ? element : mapElement(member, element, exec.wantsBuffers, shape);
  });
}

/**
 * The commands that EXEC has run. Commands that the server refused before (WATCH, a second MULTI) were not
 * queued; a reply transformer that threw at QUEUED does not count as a refusal.
 */
export function membersOf(commands: readonly Command[], rows: Rows, exec: Command): readonly Command[] {
  const members: Command[] = [];
  for (let i = exec.index - 1; i >= 0; i--) {
    if (rows[i]?.[0] instanceof ReplyError) continue;
    const command = commands[i] as Command;
    if ((command.spec.flags & CommandFlag.Multi) !== 0) break;
    members.push(command);
  }
  return members.reverse();
}

function mapElement(member: Command, element: Reply, isBuffers: boolean, shape: ReplyShape): Reply {
  if (element instanceof ReplyError) attachCommand(element, member.spec.name, member.args);
  if (element instanceof Error) return element;
  const value = isBuffers && !member.wantsBuffers ? withText(element) : element;
  try {
    return mapReply(member, value, shape);
  } catch (error) {
    return toError(error);
  }
}

/** The outcome of a pipeline that is one transaction: rows, null, or the error with which it rejects. */
export function transactionOutcome(rows: Rows): Rows | null | Error {
  const exec = rows[rows.length - 1] as Row;
  if (exec[0] !== null) {
    const error = exec[0] as ReplyError;
    error.previousErrors = rows.slice(0, -1).flatMap((row) => (row[0] === null ? [] : [row[0]]));
    return error;
  }
  return wrapExecReply(exec[1]);
}

/** Turns the mapped reply of EXEC into rows. */
export function wrapExecReply(reply: Reply): Rows | null {
  if (!Array.isArray(reply)) return null;
  return reply.map((element): Row => (element instanceof Error ? [element] : [null, element]));
}

/** The error that ends the commands of a transaction if one of them could not be sent. */
export function abortedTransaction(): AbortError {
  return new AbortError("EXECABORT Transaction discarded because of previous errors.");
}
