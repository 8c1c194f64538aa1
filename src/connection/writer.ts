/**
 * Writes the unsent commands of one connection when the rules in `flush-scheduler.ts` allow it.
 *
 *   queued --- mayWriteEarly ------------------> written immediately
 *      '--> scheduled --- end of task or turn --> written in one flush
 *              '--------- mayWriteEarly --------> written before
 *
 * Commands are encoded when they are written, so the number of unsent ones is exact. The writer never settles a
 * command, and never writes to a socket that has asked it to wait (`drain`).
 */

import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type FlushBytes, keptSegments, OutputBuffer, releaseFlush } from "../protocol/output-buffer";
import { clockMs } from "../util/scheduling";
import { toError } from "../util/user-code";
import type { CommandQueue } from "./command-queue";
import { CONNECTION_DEFAULTS } from "./connection-defaults";
import { ConnectionState } from "./connection-state";
import { type Flush, fillFlush, type WriteListener } from "./flush-encoder";
import type { FlushMeter } from "./flush-meter";
import { type Flushable, schedulerOfConnection } from "./flush-scheduler";
import type { ScriptMemory } from "./script-memory";

/** `adaptive`: commands may be written before the end of the task that issues them; `turn`: only afterwards. */
export type FlushPolicy = "adaptive" | "turn";

/** The members of its connection that a writer needs. */
export interface WriterSource {
  readonly queue: CommandQueue;
  readonly scripts: ScriptMemory;
  readonly state: ConnectionState;
  lastActivityMs: number;
  readonly writesAtTaskEnd: boolean;
  /** Started after a write. */
  readonly socketTimeout: { windUp(): void } | null;
  /** A part of a command is in the buffer, or the socket has thrown: the connection cannot continue. */
  destroy(error: Error): void;
}

export interface WriterOptions {
  /** A flush ends at the first command that reaches this many bytes; the rest is written in the next turn. */
  readonly highWaterBytes?: number | undefined;
  /** Whether commands may be written before the end of the task that issues them. */
  readonly flushPolicy?: FlushPolicy | undefined;
}

/** The number of unsent commands that are written before the end of the task, to free their memory. */
const EARLY_FLUSH_COMMANDS = 8192;

const SOCKET_WRITE = Socket.prototype.write;

export class Writer implements Flushable, Flush {
  isScheduled = false;
  /** The socket belongs to the runtime, which does not read written memory again. */
  isOwnSocket = false;
  readonly output = new OutputBuffer();
  readonly fullBytes: number;

  private readonly scheduler = schedulerOfConnection();
  private readonly queue: CommandQueue;
  private socket: Duplex | null = null;
  /** The socket accepts no more bytes before it drains. */
  private isBlocked = false;
  /** Unsent commands wait for the reply to a command that was written ahead. */
  private waitsForAhead = false;
  /** Commands are being encoded; a notified tracer may issue others meanwhile. */
  private isFlushing = false;
  /** Commands may be written before the end of the task. */
  private isEager = false;
  /** The last command was written while nothing was in flight, and no flush has been scheduled since. */
  private hasLeftIdle = false;
  /** Called once when no command is unsent any more. */
  private onFinished: (() => void) | null = null;

  constructor(
    private readonly source: WriterSource,
    private readonly options: WriterOptions,
    private readonly meter: FlushMeter,
    readonly tracer: WriteListener | null,
  ) {
    this.queue = source.queue;
    this.fullBytes = options.highWaterBytes ?? CONNECTION_DEFAULTS.highWaterBytes;
  }

  attach(socket: Duplex): void {
    this.socket = socket;
    this.isOwnSocket = isSocketOfRuntime(socket);
    // A custom stream may answer within `write`, in the middle of the caller's code or of other replies.
    const policy = this.options.flushPolicy ?? CONNECTION_DEFAULTS.flushPolicy;
    this.isEager = policy === "adaptive" && this.isOwnSocket;
    socket.on("drain", () => this.onDrain());
  }

  /** A command was put into the queue. */
  onQueued(): void {
    if (!this.isScheduled) this.writeOrSchedule();
    else this.flushIfDue();
  }

  /** Commands that were dispatched together were put into the queue. */
  onBatchQueued(): void {
    if (!this.isScheduled) this.writeOrSchedule();
  }

  /** Writes all commands, and calls back once the socket has accepted all of them. */
  finish(onFinished: () => void): void {
    this.onFinished = onFinished;
    this.meter.cause = "closing";
    this.scheduler.flushBefore(this);
    this.flushWhole();
    this.tellFinished();
  }

  /** Writes the unsent commands immediately. Later ones wait until `goOn`, unless the connection is closing. */
  writeAhead(): void {
    this.scheduler.flushBefore(this);
    this.writeUnsent();
    this.waitsForAhead = this.queue.inFlight > 0;
  }

  goOn(): void {
    this.waitsForAhead = false;
    if (this.queue.unsent > 0 && !this.isScheduled) this.writeOrSchedule();
  }

  flush(): void {
    this.writeUnsent();
    this.tellFinished();
  }

  flushWhole(): void {
    const { socket, queue } = this;
    if (socket === null || this.isFlushing) return;
    let before: number;
    do {
      before = queue.unsent;
      this.writeUnsent(true);
    } while (queue.unsent < before && socket.writableLength === 0);
  }

  /** Writes immediately if the policy allows it, and schedules a flush otherwise. */
  private writeOrSchedule(): void {
    const { inFlight } = this.queue;
    if (this.mayWriteEarly && this.mayWriteNow && this.scheduler.mayWriteEarly(1, inFlight)) {
      this.hasLeftIdle = inFlight === 0;
      this.scheduler.flushBefore(this);
      this.meter.cause = "early";
      this.writeUnsent();
      return;
    }
    // A command after one that was written immediately still belongs to the task that found nothing in flight.
    this.scheduler.request(this, this.hasLeftIdle ? 0 : inFlight);
    this.hasLeftIdle = false;
  }

  /** Writes the collected commands if they are due or too many. */
  private flushIfDue(): void {
    const { unsent, inFlight } = this.queue;
    const isDue = this.mayWriteEarly && this.scheduler.mayWriteEarly(unsent, inFlight);
    if (!(isDue || unsent >= EARLY_FLUSH_COMMANDS) || !this.mayWriteNow) return;
    this.meter.cause = isDue ? "early" : "size";
    this.scheduler.flushThrough(this);
  }

  /** Commands may be written before the end of the task. */
  private get mayWriteEarly(): boolean {
    return this.isEager && !this.source.writesAtTaskEnd;
  }

  /** Not while commands are encoded, because a notified tracer may issue others. */
  private get mayWriteNow(): boolean {
    return (
      !this.isFlushing &&
      !this.isBlocked &&
      !this.waitsForAhead &&
      this.source.state === ConnectionState.Ready
    );
  }

  /** @param isLast The connection or the process is about to end: no command waits. */
  private writeUnsent(isLast = false): void {
    const { queue, output, socket, source } = this;
    if (
      this.isBlocked ||
      (this.waitsForAhead && !isLast) ||
      socket === null ||
      source.state === ConnectionState.Closed
    )
      return;
    const { unsent } = queue;
    if (unsent === 0 || !socket.writable) return;
    if (queue.inFlight === 0) source.lastActivityMs = clockMs();
    this.meter.begin(source.lastActivityMs);
    let trouble: Error | null;
    this.isFlushing = true;
    try {
      trouble = fillFlush(source, this, unsent);
    } finally {
      this.isFlushing = false;
    }
    if (trouble !== null) {
      source.destroy(trouble);
      return;
    }
    const bytes = output.take();
    if (bytes.segments.length === 0) return;
    try {
      this.write(socket, bytes);
    } catch (error) {
      source.destroy(toError(error));
      return;
    }
    if (source.socketTimeout !== null) source.socketTimeout.windUp();
    if (queue.unsent > 0 && !this.isBlocked) this.scheduler.requestNextTurn(this);
  }

  private write(socket: Duplex, flush: FlushBytes): void {
    // A custom stream may hold written memory for any length of time.
    const canRecycle = this.isOwnSocket && socket.write === SOCKET_WRITE;
    const segments = canRecycle ? flush.segments : keptSegments(flush);
    const onWritten = canRecycle ? (): void => releaseFlush(flush) : undefined;
    const last = segments.length - 1;
    const startMs = clockMs();
    let bytes = 0;
    if (last > 0) socket.cork();
    for (let i = 0; i <= last; i++) {
      const segment = segments[i] as Buffer;
      bytes += segment.length;
      if (!socket.write(segment, i === last ? onWritten : undefined)) this.isBlocked = true;
    }
    if (last > 0) socket.uncork();
    this.scheduler.noteWrite(startMs);
    // The kernel has accepted all bytes. The stream reports this in the next tick, or never with faked ticks.
    if (this.isBlocked && socket.writableLength === 0) this.isBlocked = false;
    this.meter.end(bytes, this.isBlocked);
  }

  private onDrain(): void {
    this.isBlocked = false;
    this.meter.drained();
    if (this.queue.unsent > 0) this.scheduler.requestNextTurn(this);
  }

  private tellFinished(): void {
    const { onFinished } = this;
    if (onFinished === null || this.queue.unsent > 0) return;
    this.onFinished = null;
    onFinished();
  }
}

/** A plain or TLS socket created by the runtime, not a custom or derived stream. */
function isSocketOfRuntime(socket: Duplex & { encrypted?: boolean }): boolean {
  const prototype: unknown = Object.getPrototypeOf(socket);
  if (socket.encrypted !== true) return prototype === Socket.prototype;
  // Loaded already, because this socket was created with it.
  const { TLSSocket } = require("node:tls") as typeof import("node:tls");
  return prototype === TLSSocket.prototype;
}
