/**
 * Fills one flush: takes unsent commands in order, asks `command/fate.ts` whether each is still written, and
 * encodes it, until the flush has enough bytes. It never writes to the socket.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import { CommandFlag, encodeName } from "../command/command-spec";
import { specOf } from "../command/command-table";
import { endingError } from "../command/ending-errors";
import { type FateEvent, fateOf } from "../command/fate";
import { writeWatch } from "../command/write-watch";
import { commandChannel, type ServerContext } from "../observability/channels";
import { encodeCommand } from "../protocol/encoder";
import { type OutputBuffer, REFERENCE_FROM_BYTES } from "../protocol/output-buffer";
import { userClockMs } from "../util/scheduling";
import { toError } from "../util/user-code";
import type { CommandQueue } from "./command-queue";
import type { ScriptMemory } from "./script-memory";

/**
 * Up to this many large commands share one flush of up to this many times the usual size. Commands are large
 * if their mean size is at least `REFERENCE_FROM_BYTES`.
 */
const FEW = 16;

const WRITING: FateEvent = { kind: "writing" };

/** A faked clock may return 0, which would mean that the command was not written. */
const JUST_STARTED_MS = Number.EPSILON;

export interface WriteListener {
  /** Called for each command as it is encoded, while `isTraced` returns true. */
  onWrite(command: Command): void;
  readonly isLogging: boolean;
  /** The address of the server, for subscribers. */
  server?(): ServerContext;
}

const NOWHERE: ServerContext = { serverAddress: "", serverPort: undefined };

/** The address of the server, as a client's tracer reports it. */
export function serverFor(tracer: Pick<WriteListener, "server"> | null): ServerContext {
  return tracer?.server?.() ?? NOWHERE;
}

/** Whether each written command must be reported. */
export function isTraced(listener: WriteListener | null): listener is WriteListener {
  return listener !== null && (listener.isLogging || writeWatch.watcher !== null || commandChannel.isHeard);
}

export interface Flush {
  readonly output: OutputBuffer;
  /** It ends at the first command that reaches this many bytes, unless the commands are few and large. */
  readonly fullBytes: number;
  readonly tracer: WriteListener | null;
}

/**
 * Encodes unsent commands until the flush has enough bytes. Returns the error if a command could not be
 * encoded: a part of that command is in the buffer, so the flush must not be written.
 * @param unsent The number of unsent commands in the queue, at least one.
 */
export function fillFlush(
  { queue, scripts }: { readonly queue: CommandQueue; readonly scripts: ScriptMemory },
  { output, fullBytes, tracer }: Flush,
  unsent: number,
): Error | null {
  const listener = isTraced(tracer) ? tracer : null;
  let count = 0;
  do {
    const command = queue.takeUnsent();
    if (command === undefined) break;
    if (!beginWriting(command, queue)) {
      queue.drop(command);
      continue;
    }
    const { extra } = command;
    if (extra !== null && extra.script !== null) scripts.choose(command);
    if (listener !== null) listener.onWrite(command);
    try {
      encodeCommand(output, command.spec.encodedName ?? encodeName(command.spec), command.args);
    } catch (error) {
      const cause = toError(error);
      command.fail(cause);
      return cause;
    }
  } while (++count < unsent && (output.length < fullBytes || isLarge(count, output.length, fullBytes)));
  return null;
}

/** Whether `count` commands of this total length are few and large, so that more may follow in this flush. */
function isLarge(count: number, length: number, fullBytes: number): boolean {
  return count < FEW && length >= count * REFERENCE_FROM_BYTES && length < fullBytes * FEW;
}

/**
 * Returns true if the command must be encoded now, and records the time and place of its write.
 * @param order The queue in which the command is the last one in flight.
 */
export function beginWriting(command: Command, order: Pick<CommandQueue, "answered" | "inFlight">): boolean {
  const { extra } = command;
  const group = extra === null ? command.batch : command.group;
  // Most commands are not given up, and no other command depends on them.
  const isOrdinary =
    command.state < CommandState.Settled && (group === null || group.kind !== BatchKind.Transaction);
  if (!isOrdinary) {
    if (!goesOn(command)) return false;
    if (command.isSettled) return true;
  }
  if (group !== null && !group.isStarted) group.start();
  if (extra !== null) {
    extra.sentAtMs = userClockMs() || JUST_STARTED_MS;
    extra.place = order.answered + order.inFlight - 1;
  }
  command.state = CommandState.Sent;
  return true;
}

function goesOn(command: Command): boolean {
  const { does, ending, endsBatch } = fateOf(command, WRITING);
  if (does === "goes on") return true;
  if (endsBatch) command.group?.refuse();
  if (ending !== null && !command.isSettled) command.fail(endingError(ending, command));
  if (does === "is closed by DISCARD") {
    if ((command.spec.flags & CommandFlag.Exec) !== 0) command.spec = specOf("discard");
    return true;
  }
  return false;
}
