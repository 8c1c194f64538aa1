/**
 * Fills one flush: takes unsent commands in order, passes each through the write filter and encodes it, until
 * the flush has enough bytes. It never writes to the socket.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import { encodeName } from "../command/command-spec";
import { writeWatch } from "../command/write-watch";
import { isCommandTraced, type ServerContext } from "../observability/channels";
import { encodeCommand } from "../protocol/encoder";
import { type OutputBuffer, REFERENCE_FROM_BYTES } from "../protocol/output-buffer";
import { toError } from "../util/user-code";
import type { CommandQueue } from "./command-queue";
import type { ScriptMemory } from "./script-memory";
import { beginWriting } from "./write-filter";

/**
 * If at most this many commands are large, which means that they are sent by reference on average, they share one
 * flush of up to this many times the usual bytes.
 */
const FEW = 16;

export interface WriteListener {
  /**
   * Called for each command as it is encoded, while `isLogging` is true, commands are watched or commands have
   * a subscriber.
   */
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
  return listener !== null && (listener.isLogging || writeWatch.watcher !== null || isCommandTraced());
}

export class FlushEncoder {
  private readonly queue: CommandQueue;
  private readonly scripts: ScriptMemory;

  constructor(
    source: { readonly queue: CommandQueue; readonly scripts: ScriptMemory },
    private readonly output: OutputBuffer,
    /**
     * A flush ends at the first command that reaches this many bytes, unless the commands are few and large.
     */
    private readonly highWaterBytes: number,
    private readonly listener: WriteListener | null,
  ) {
    this.queue = source.queue;
    this.scripts = source.scripts;
  }

  /**
   * Returns why a command could not be encoded: a part of it is in the buffer, so the flush must not be
   * written.
   * @param unsent The number of unsent commands in the queue, at least one.
   */
  fill(unsent: number): Error | null {
    const { queue } = this;
    const listener = isTraced(this.listener) ? this.listener : null;
    let count = 0;
    do {
      const command = queue.advance();
      if (command === undefined) break;
      const trouble = this.encodeOne(command, listener);
      if (trouble !== null) return trouble;
    } while (++count < unsent && !this.isFull(count));
    return null;
  }

  private encodeOne(command: Command, listener: WriteListener | null): Error | null {
    const { queue } = this;
    if (command.state === CommandState.Queued && mayPass(command)) {
      command.state = CommandState.Sent;
    } else if (!beginWriting(command, queue.answered + queue.inFlight)) return null;
    if (command.extra !== null && command.extra.script !== null) this.scripts.choose(command);
    if (listener !== null) listener.onWrite(command);
    queue.wroteCommand();
    try {
      encodeCommand(this.output, command.spec.encodedName ?? encodeName(command.spec), command.args);
      return null;
    } catch (error) {
      return failWith(command, error);
    }
  }

  private isFull(count: number): boolean {
    const { length } = this.output;
    if (length < this.highWaterBytes) return false;
    return count >= FEW || length < count * REFERENCE_FROM_BYTES || length >= this.highWaterBytes * FEW;
  }
}

/** No check and no record is needed before it is written, as for nearly all commands. */
function mayPass({ batch, extra }: Command): boolean {
  if (extra !== null) return false;
  return (
    batch === null ||
    (batch.kind === BatchKind.Automatic && batch.trace === null) ||
    (batch.isStarted && batch.kind !== BatchKind.Transaction)
  );
}

function failWith(command: Command, error: unknown): Error {
  const cause = toError(error);
  command.fail(cause);
  return cause;
}
