/**
 * One connection over one socket; never reused. Takes commands in order, matches each reply to the oldest
 * unanswered command, and hands back unanswered commands when it closes. The link implements reconnecting,
 * offline queues and retry policies. The `Writer` of the connection decides when commands are encoded and
 * written.
 */

import type { Duplex } from "node:stream";
import { batchOf, type Command, markAnswered } from "../command/command";
import { CommandFlag, type ReplyShape } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { type ParserError, SocketTimeoutError, UnexpectedReplyError } from "../errors";
import { hideBytes } from "../observability/redact";
import { type Message, Parser, type ReplySink } from "../protocol/parser";
import { Decode, type Reply } from "../protocol/resp-types";
import { LatePart } from "../util/late-part";
import { atTurnEnd, clockMs, dateMs, nextTick, startTimer, stopTimer } from "../util/scheduling";
import { toError } from "../util/user-code";
import { CommandQueue } from "./command-queue";
import { CONNECTION_DEFAULTS } from "./connection-defaults";
import { ConnectionState } from "./connection-state";
import type { WriteListener } from "./flush-encoder";
import { FlushMeter } from "./flush-meter";
import { type PushDeps, PushRouter } from "./push-router";
import { ScriptMemory } from "./script-memory";
import type { SocketTimeout } from "./socket-timeout";
import { Writer, type WriterOptions, type WriterSource } from "./writer";

export const socketTimeouts = new LatePart(
  "timeouts",
  () => require("./socket-timeout") as typeof import("./socket-timeout"),
);

/** The options of the client that a connection reads, with their names there. */
export interface ConnectionOptions extends WriterOptions {
  /** In ms: the time that a half-closed socket has to close before it is destroyed. */
  readonly disconnectTimeout?: number | undefined;
  readonly replyMapping?: "legacy" | "resp3" | undefined;
  readonly stringNumbers?: boolean | undefined;
  /** In ms: how long a connection with unanswered commands may receive no byte; 0 = unlimited. */
  readonly socketTimeout?: number | undefined;
}

export interface ConnectionLife {
  /** The socket is connected; the handshake may begin. */
  onOpen(): void;
  /** A socket or protocol error; `onClose` follows. */
  onConnectionError?(error: Error): void;
  onClose(): void;
}

/** Watches whether the connection is alive. */
export interface SilenceListener {
  /** No command is queued, so it does not run; the next command wakes it. */
  readonly isAsleep: boolean;
  wake(): void;
  /** The shortest silence that counts. */
  readonly doubtAfterMs: number;
  /** `first` is about to be queued on an idle connection. */
  onSilence(silentMs: number, first: Command | undefined): void;
}

/** Handles replies that do more than settle their command. */
export interface ReplyRules {
  /** Judges an error reply. Returns true when the command was taken over; otherwise it fails with the error. */
  judge(command: Command, error: Error): boolean;
  follow(command: Command, reply: Reply): void;
}

export interface ConnectionDeps extends PushDeps {
  readonly life: ConnectionLife;
  /** Null: error replies fail their commands, and no command changes the state. */
  readonly replies: ReplyRules | null;
  readonly tracer: WriteListener | null;
  /** The counters of its link; undefined: not counted. */
  readonly counts?: FlushMeter["counts"];
}

/** Commands whose replies need more than settling. */
const STATE_FLAGS =
  CommandFlag.Select |
  CommandFlag.Watch |
  CommandFlag.Unwatch |
  CommandFlag.Multi |
  CommandFlag.Exec |
  CommandFlag.Discard |
  CommandFlag.Quit |
  CommandFlag.Reset |
  CommandFlag.Handshake |
  CommandFlag.Monitor;

const SUBSCRIBING = CommandFlag.EnterSubscriber | CommandFlag.ExitSubscriber;

/** The time after which reading continues in the next turn of the event loop. */
const READ_BURST_MS = 5;

export class Connection implements Dispatcher, ReplySink, WriterSource {
  readonly queue = new CommandQueue();
  readonly scripts = new ScriptMemory();
  state: ConnectionState = ConnectionState.Dialing;
  /** The shape of this connection's replies; `protocol` follows the handshake. */
  shape: ReplyShape;
  /** When bytes last arrived, or when a write last began with nothing in flight. */
  lastActivityMs = 0;
  lastArrivalMs = 0;
  readyAtMs = 0;
  /** The time from the open socket to the end of the handshake: a few round trips. */
  handshakeMs = 0;
  /** Null: silence is ignored. */
  silenceListener: SilenceListener | null = null;
  /** The fault in the received bytes or replies, if that closed the connection. */
  protocolError: Error | null = null;
  bytesRead = 0;
  socket: Duplex | null = null;
  /** The ID of this connection on the server, if the handshake returned it. */
  clientId: number | null = null;
  /** `standalone`, `cluster` or `sentinel`, if the handshake returned it. */
  serverMode: string | null = null;
  /** The name and version of the server, as in `redis 8.2.1`, if the handshake returned it. */
  serverVersion: string | null = null;
  /** Identifies one run of one server, if the handshake returned it. */
  serverRunId: string | null = null;
  isMonitoring = false;
  /** Commands queued now are written at the end of the task, with any policy. */
  writesAtTaskEnd = false;
  /** Null: the server may stay silent without limit. */
  socketTimeout: SocketTimeout | null = null;

  private readonly parser = new Parser(this);
  private readonly pushes: PushRouter;
  private readonly decoding: number;
  private socketEnd: Duplex["end"] | null = null;
  private readonly meter: FlushMeter;
  private readonly writer: Writer;
  /** The reply that is being read belongs to the oldest command, and is not subscriber traffic. */
  private isUsualReply = false;
  private roomBytes = 0;
  private burstStartMs = 0;
  private openedAtMs = 0;
  /** The date minus `clockMs`: it grows while the system is suspended. */
  private offsetMs = 0;
  private destroyTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: ConnectionOptions,
    private readonly deps: ConnectionDeps,
  ) {
    this.shape = { protocol: 2, replyMapping: "legacy" };
    this.decoding =
      (options.stringNumbers ? Decode.StringNumbers : 0) |
      (options.replyMapping === "resp3" ? Decode.Resp3Shapes : 0);
    this.limitSilence(options.socketTimeout ?? 0);
    this.meter = new FlushMeter(this.queue, deps.counts, deps.tracer);
    this.writer = new Writer(this, options, this.meter, deps.tracer);
    this.pushes = new PushRouter(this.queue, deps, this.decoding);
  }

  /** Sets how long it may be silent while commands are outstanding; 0 or less: unlimited. */
  limitSilence(limitMs: number): void {
    this.socketTimeout?.stop();
    this.socketTimeout = null;
    if (!(limitMs > 0)) return;
    const { SocketTimeout } = socketTimeouts.get();
    this.socketTimeout = new SocketTimeout(this, limitMs, () =>
      this.destroy(new SocketTimeoutError(limitMs)),
    );
    if (this.queue.inFlight > 0) this.socketTimeout.windUp();
  }

  /** Read hooks for `net.connect({ onread })`: reads go directly into the parser's memory. */
  readonly onread = {
    buffer: (): Uint8Array => {
      const room = this.parser.reserve();
      this.roomBytes = room.length;
      return room;
    },
    callback: (size: number): boolean => {
      this.receive(size, null);
      return this.mayReadOn(size === this.roomBytes);
    },
  };

  /** Attaches a socket, connecting or open. `firstError` is the reason if it is destroyed without an error. */
  attach(socket: Duplex & { connecting?: boolean; encrypted?: boolean }, firstError?: Error): void {
    this.socket = socket;
    hideBytes(socket);
    this.writer.attach(socket);
    this.interceptEnd(socket);
    socket.on("data", (chunk: Buffer) => this.receive(chunk.length, chunk));
    socket.on("error", (error: Error) => {
      if (this.state !== ConnectionState.Closed) this.deps.life.onConnectionError?.(error);
    });
    socket.on("end", () => socket.destroy());
    socket.once("close", () => this.onSocketClose());
    if (socket.destroyed) {
      const error = socket.errored ?? firstError;
      if (error !== undefined) this.deps.life.onConnectionError?.(error);
      this.onSocketClose();
    } else if (socket.connecting === true) {
      socket.once(socket.encrypted === true ? "secureConnect" : "connect", () => this.onOpen());
    } else nextTick(() => this.onOpen());
  }

  setProtocol(protocol: 2 | 3): void {
    const isResp3Shaped = (this.decoding & Decode.Resp3Shapes) !== 0;
    this.shape = { protocol, replyMapping: protocol === 3 && isResp3Shaped ? "resp3" : "legacy" };
  }

  markReady(): void {
    this.state = ConnectionState.Ready;
    this.readyAtMs = clockMs();
    this.handshakeMs = this.readyAtMs - this.openedAtMs;
    this.offsetMs = dateMs() - this.readyAtMs;
  }

  /** The socket belongs to the runtime: its replies arrive in tasks of their own. */
  get isOwnSocket(): boolean {
    return this.writer.isOwnSocket;
  }

  get isWritable(): boolean {
    return this.state === ConnectionState.Ready && this.socket?.writable === true;
  }

  dispatch(command: Command): void {
    if (this.queue.inFlight === 0) this.endSilence(command);
    this.queue.push(command);
    this.writer.onQueued();
  }

  dispatchBatch(commands: readonly Command[]): void {
    if (this.queue.inFlight === 0) this.endSilence(commands[0]);
    if (batchOf(commands)?.isHeld === true) this.meter.isHeld = true;
    this.queue.pushBatch(commands);
    this.writer.onBatchQueued();
  }

  /** Writes a command immediately. Later commands wait until `goOn`, unless the connection is closing. */
  sendAhead(command: Command): void {
    this.queue.push(command);
    this.writer.writeAhead();
  }

  /** Writes the commands that wait behind `sendAhead`. */
  goOn(): void {
    this.writer.goOn();
  }

  /** Half-closes: replies in flight still arrive, then the socket closes. */
  end(): void {
    if (this.beginToDrain()) this.halfClose();
  }

  /** Like `end`, after all queued commands have been written. */
  writeAllAndEnd(): void {
    if (!this.beginToDrain()) return;
    this.writer.finish(() => this.halfClose());
  }

  /** Closes immediately; `error` is reported first. */
  destroy(error?: Error): void {
    if (this.state === ConnectionState.Closed) return;
    this.parser.stop();
    if (error !== undefined) this.deps.life.onConnectionError?.(error);
    this.socket?.destroy();
  }

  // --- ReplySink -------------------------------------------------------------------------

  nextDecoding(): number {
    const command = this.queue.head();
    const isResp2 = this.shape.protocol === 2;
    const isUsual =
      command !== undefined &&
      (command.spec.flags & SUBSCRIBING) === 0 &&
      !(isResp2 && !this.deps.subscriptions.isEmpty);
    this.isUsualReply = isUsual;
    if (!isUsual) return isResp2 ? Decode.Buffers | Decode.Messages : Decode.Buffers;
    return command.decodingOn(this.decoding);
  }

  onReply(value: Reply): void {
    if (!this.isUsualReply && this.takesUnusual(value)) return;
    const command = this.queue.shift() as Command;
    markAnswered(command);
    if ((command.spec.flags & STATE_FLAGS) !== 0) this.deps.replies?.follow(command, value);
    const isDecoded = this.isUsualReply || (command.decodingOn(0) & Decode.Buffers) !== 0;
    command.fulfil(isDecoded ? value : toText(value), this.shape);
  }

  onErrorReply(error: Error): void {
    const command = this.queue.shift();
    if (command === undefined) {
      // A server that rejects a client sends this error before any request.
      if (this.state < ConnectionState.Ready) this.destroy(error);
      else this.breakOff(new UnexpectedReplyError(`error reply "${error.message}"`));
      return;
    }
    markAnswered(command);
    if (this.deps.replies?.judge(command, error) !== true) command.fail(error);
  }

  onMessage(message: Message): void {
    this.deps.messages?.onMessage(message);
  }

  onPush(message: Reply[]): void {
    if (!this.pushes.route(message, this.shape)) this.deps.messages?.onOtherPush(String(message[0]), message);
  }

  onParserError(error: ParserError): void {
    this.breakOff(error);
  }

  /** Returns false if the connection cannot drain. */
  private beginToDrain(): boolean {
    const { state, socket } = this;
    if (state >= ConnectionState.Draining) return false;
    this.state = ConnectionState.Draining;
    if (socket === null) return false;
    if (state === ConnectionState.Dialing) {
      socket.destroy();
      return false;
    }
    const limitMs = this.options.disconnectTimeout ?? CONNECTION_DEFAULTS.disconnectTimeout;
    this.destroyTimer = startTimer(() => socket.destroy(), limitMs);
    return true;
  }

  private halfClose(): void {
    if (this.socketEnd !== null) Reflect.apply(this.socketEnd, this.socket, []);
  }

  /** Takes RESP2 subscriber traffic, lines of MONITOR, and unrequested replies; false: the reply of a command. */
  private takesUnusual(value: Reply): boolean {
    if (Array.isArray(value) && this.shape.protocol === 2 && this.pushes.route(value, this.shape))
      return true;
    if (this.queue.head() !== undefined) return false;
    if (this.isMonitoring) this.deps.messages?.onMonitorLine(String(value));
    else {
      const found = Array.isArray(value) ? "an array" : `"${String(value).slice(0, 64)}"`;
      this.breakOff(new UnexpectedReplyError(found));
    }
    return true;
  }

  /** While reads fill the buffer, the runtime reads up to 32 times in a turn. After a while, the next turn follows. */
  private mayReadOn(isMoreWaiting: boolean): boolean {
    if (!isMoreWaiting) this.burstStartMs = 0;
    else if (this.burstStartMs === 0) this.burstStartMs = this.lastActivityMs;
    if (!isMoreWaiting || clockMs() - this.burstStartMs < READ_BURST_MS) return true;
    this.burstStartMs = 0;
    atTurnEnd(() => this.socket?.resume());
    return false;
  }

  /** Nothing is in flight, and a command is about to be queued. */
  private endSilence(first?: Command): void {
    const { silenceListener } = this;
    if (silenceListener === null || this.queue.unsent > 0) return;
    if (silenceListener.isAsleep) silenceListener.wake();
    const nowMs = clockMs();
    const offsetMs = dateMs() - nowMs;
    const silentMs = nowMs - this.lastActivityMs + Math.max(0, offsetMs - this.offsetMs);
    this.offsetMs = offsetMs;
    if (silentMs >= silenceListener.doubtAfterMs) silenceListener.onSilence(silentMs, first);
  }

  /** @param chunk The bytes, or null if the socket has read them into the memory of the parser. */
  private receive(size: number, chunk: Buffer | null): void {
    this.bytesRead += size;
    this.lastActivityMs = this.lastArrivalMs = clockMs();
    try {
      if (chunk === null) this.parser.commit(size);
      else this.parser.push(chunk);
    } catch (error) {
      this.breakOff(toError(error));
    }
    this.meter.arrived(size, this.lastActivityMs);
  }

  /** The stream of replies is no longer reliable. */
  private breakOff(error: Error): void {
    this.protocolError = error;
    this.destroy(error);
  }

  private onOpen(): void {
    if (this.state !== ConnectionState.Dialing) return;
    this.state = ConnectionState.Handshaking;
    this.openedAtMs = clockMs();
    this.lastActivityMs = this.openedAtMs;
    this.deps.life.onOpen();
  }

  /** A user who ends the stream expects the issued commands to be written first. */
  private interceptEnd(socket: Duplex): void {
    const { end } = socket;
    this.socketEnd = end;
    socket.end = ((...args: unknown[]) => {
      // A peer that has closed reads no more bytes: unsent commands are sent on the next connection.
      if (this.state < ConnectionState.Draining && !socket.readableEnded) this.writer.flushWhole();
      return Reflect.apply(end, socket, args);
    }) as Duplex["end"];
  }

  private onSocketClose(): void {
    if (this.state === ConnectionState.Closed) return;
    this.state = ConnectionState.Closed;
    this.parser.stop();
    this.meter.close();
    stopTimer(this.destroyTimer);
    this.socketTimeout?.stop();
    this.deps.life.onClose();
  }
}

function toText(value: Reply): Reply {
  if (Buffer.isBuffer(value)) return value.toString();
  return Array.isArray(value) ? value.map(toText) : value;
}
