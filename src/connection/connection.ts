/**
 * One socket, one life. Takes commands in the order in which they came, matches each reply to the
 * oldest unanswered one, and hands back what was never answered when it closes; never reused.
 * It knows nothing of reconnecting, queues while offline or retry policies: that is the link's.
 * When commands are encoded and leave is the affair of its `Writer`.
 */

import type { Duplex } from "node:stream";
import { batchOf, type Command, markAnswered } from "../command/command";
import { CommandFlag, type ReplyShape } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { ConnectionClosedError, type ParserError, SocketTimeoutError, UnexpectedReplyError } from "../errors";
import { hideBytes } from "../observability/redact";
import { type Message, Parser, type ReplySink } from "../protocol/parser";
import { Decode, type Reply } from "../protocol/resp-types";
import { atTurnEnd, clockMs, dateMs, nextTick, startTimer, stopTimer } from "../util/scheduling";
import { toError } from "../util/user-code";
import { CommandQueue } from "./command-queue";
import { ConnectionState, move } from "./connection-state";
import type { WriteListener } from "./flush-encoder";
import { FlushMeter } from "./flush-meter";
import { type PushDeps, PushRouter } from "./push-router";
import { ScriptMemory } from "./script-memory";
import type { SocketTimeout } from "./socket-timeout";
import { Writer, type WriterOptions, type WriterSource } from "./writer";

export interface ConnectionOptions extends WriterOptions {
  /** Time that a half-closed socket has to close before it is destroyed. */
  readonly disconnectTimeoutMs: number;
  readonly replyMapping: "legacy" | "resp3";
  readonly stringNumbers: boolean;
  /** Time without a byte after which a connection with unanswered commands ends; 0 = never. */
  readonly socketTimeoutMs: number;
}

/** Is told how the life of a connection goes. */
export interface ConnectionLife {
  /** The socket is connected; the handshake may begin. */
  onOpen(): void;
  /** A socket or protocol error; `onClose` follows. */
  onConnectionError?(error: Error): void;
  /** Something is about to be written, after nobody has looked after it for a while. */
  onAwake?(): void;
  /** `first` is about to be queued on an idle connection that was silent for longer than `doubtAfterMs`. */
  onSilence?(silentMs: number, first: Command | undefined): void;
  onClose(): void;
}

/** Judges error replies. True when the command was taken over; otherwise it fails with the error. */
export interface ErrorJudge {
  judge(command: Command, error: Error): boolean;
}

/** Follows replies without error to commands that change the state of the connection. */
export interface StateFollower {
  follow(command: Command, reply: Reply): void;
}

/** Those that a connection works for. Each part goes to the place that needs it. */
export interface ConnectionDeps extends PushDeps {
  readonly life: ConnectionLife;
  /** Null: error replies fail their commands. */
  readonly errorReplies: ErrorJudge | null;
  /** Null: no command changes the state. */
  readonly stateReplies: StateFollower | null;
  readonly tracer: WriteListener | null;
  /** Those of its link; without them it counts for nobody. */
  readonly counts?: FlushMeter["counts"];
}

/** Replies to these need more than settling the command. */
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

/** Time after which reading goes on in the next turn of the event loop. */
const READ_BURST_MS = 5;

export class Connection implements Dispatcher, ReplySink, WriterSource {
  readonly queue = new CommandQueue();
  readonly scripts = new ScriptMemory();
  state: ConnectionState = ConnectionState.Dialing;
  /** Shape of the replies of this connection; `protocol` follows the handshake. */
  shape: ReplyShape;
  /** When bytes last arrived, and when the socket was last written with nothing in flight. */
  lastActivityMs = 0;
  /** When the last bytes came. */
  lastArrivalMs = 0;
  readyAtMs = 0;
  /** Time from the open socket to the end of the handshake: a few round trips. */
  handshakeMs = 0;
  /** Silence after which the next command is announced by `onSilence`; 0: never. */
  doubtAfterMs = 0;
  /** The fault of the bytes or replies that arrived, if that is why it closed. */
  protocolError: Error | null = null;
  bytesRead = 0;
  socket: Duplex | null = null;
  /** Number of this connection on the server, when the handshake told it. */
  clientId: number | null = null;
  /** `standalone`, `cluster` or `sentinel`, when the handshake told it. */
  serverMode: string | null = null;
  /** Name and version of the server, as in `redis 8.2.1`, when the handshake told it. */
  serverVersion: string | null = null;
  /** Tells one run of one server from all others, when the handshake told it. */
  serverRunId: string | null = null;
  isMonitoring = false;
  /** The watchdog rests while nothing is due; the next write calls `onAwake`. */
  isUnwatched = false;
  /** Commands that are handed over now leave at the end of the run, whatever the policy. */
  isGathering = false;
  /** Null: it may be silent for ever. */
  socketTimeout: SocketTimeout | null = null;

  private readonly parser = new Parser(this);
  private readonly pushes: PushRouter;
  private readonly decoding: number;
  /** The way in which the stream itself ends. */
  private socketEnd: Duplex["end"] | null = null;
  private readonly meter: FlushMeter;
  private readonly writer: Writer;
  private roomBytes = 0;
  private burstStartMs = 0;
  private openedAtMs = 0;
  /** The date less `clockMs`: it grows while the system sleeps. */
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
    this.limitSilence(options.socketTimeoutMs);
    this.meter = new FlushMeter(this.queue, deps.counts, deps.tracer);
    this.writer = new Writer(this, options, this.meter, deps.tracer);
    this.pushes = new PushRouter(this.queue, deps, options.stringNumbers);
  }

  /** Sets how long it may be silent while commands are outstanding; 0 or less: for ever. */
  limitSilence(limitMs: number): void {
    this.socketTimeout?.stop();
    this.socketTimeout = null;
    if (!(limitMs > 0)) return;
    const parts = require("./socket-timeout") as typeof import("./socket-timeout");
    this.socketTimeout = new parts.SocketTimeout(this, limitMs, () =>
      this.destroy(new SocketTimeoutError(limitMs)),
    );
    if (this.queue.inFlight > 0) this.socketTimeout.windUp();
  }

  /** Read hooks for `net.connect({ onread })`: reads land where the parser needs them. */
  readonly onread = {
    buffer: (): Uint8Array => {
      const room = this.parser.reserve();
      this.roomBytes = room.length;
      return room;
    },
    callback: (size: number): boolean => {
      this.noteArrival(size);
      try {
        this.parser.commit(size);
      } catch (error) {
        this.breakOff(toError(error));
      }
      this.meter.arrived(size, this.lastActivityMs);
      return this.mayReadOn(size === this.roomBytes);
    },
  };

  /** Takes the socket over. It may still be connecting, or be destroyed already: by `firstError`, if it knows none. */
  attach(socket: Duplex & { connecting?: boolean; encrypted?: boolean }, firstError?: Error): void {
    this.socket = socket;
    hideBytes(socket);
    this.writer.attach(socket);
    this.interceptEnd(socket);
    socket.on("data", (chunk: Buffer) => {
      this.noteArrival(chunk.length);
      try {
        this.parser.push(chunk);
      } catch (error) {
        this.breakOff(toError(error));
      }
      this.meter.arrived(chunk.length, this.lastActivityMs);
    });
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
    this.shape = { protocol, replyMapping: protocol === 3 ? this.options.replyMapping : "legacy" };
  }

  markReady(): void {
    this.state = move(this.state, ConnectionState.Ready);
    this.readyAtMs = clockMs();
    this.handshakeMs = this.readyAtMs - this.openedAtMs;
    this.offsetMs = dateMs() - this.readyAtMs;
    this.parser.forgetFrames();
  }

  /** For how long it has been ready. */
  get livedMs(): number {
    return clockMs() - this.readyAtMs;
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
    const batch = batchOf(commands);
    const merging = batch === null ? null : batch.merging;
    if (batch?.isHeld === true) this.meter.isHeld = true;
    this.queue.pushBatch(merging === null ? commands : (merging.plan(commands, this) as readonly Command[]));
    this.writer.onBatchQueued();
  }

  /** Writes a command at once. Those behind it wait until `goOn`, unless the connection is closing. */
  sendAhead(command: Command): void {
    this.queue.push(command);
    this.writer.writeAhead();
  }

  /** Writes what waits behind `sendAhead`. */
  goOn(): void {
    this.writer.goOn();
  }

  /** Half-closes: replies that are on their way still arrive, then the socket closes. */
  end(): void {
    if (this.beginToDrain()) this.halfClose();
  }

  /** As `end`, behind everything that was handed over before, which is written first. */
  finish(): void {
    if (!this.beginToDrain()) return;
    this.writer.finish(() => this.halfClose());
  }

  /** Closes at once; `error` is reported first. */
  destroy(error?: Error): void {
    if (this.state === ConnectionState.Closed) return;
    this.parser.stop();
    if (error !== undefined) this.deps.life.onConnectionError?.(error);
    this.socket?.destroy();
  }

  // --- ReplySink -------------------------------------------------------------------------

  nextDecoding(): number {
    const command = this.queue.head();
    if (command === undefined || (command.spec.flags & SUBSCRIBING) !== 0 || this.isInSubscriberMode)
      return this.decodingOfSubscriber;
    return command.isReadAsBuffers ? this.decoding | Decode.Buffers : this.decoding;
  }

  onReply(value: Reply): void {
    const command = this.queue.head();
    if (command === undefined || (command.spec.flags & SUBSCRIBING) !== 0 || this.isInSubscriberMode) {
      this.onUnusualReply(command, value);
      return;
    }
    this.queue.takeHead();
    markAnswered(command);
    if ((command.spec.flags & STATE_FLAGS) !== 0) this.deps.stateReplies?.follow(command, value);
    command.fulfil(value, this.shape);
  }

  onErrorReply(error: Error): void {
    const command = this.queue.shift();
    if (command === undefined) {
      // A server that turns a client away says so before it is asked anything.
      if (this.state < ConnectionState.Ready) this.destroy(error);
      else this.breakOff(new UnexpectedReplyError(`error reply "${error.message}"`));
      return;
    }
    markAnswered(command);
    if (this.deps.errorReplies?.judge(command, error) !== true) command.fail(error);
  }

  onMessage(message: Message): void {
    this.pushes.message(message);
  }

  onPush(message: Reply[]): void {
    if (!this.pushes.route(message, this.shape)) this.pushes.other(message);
  }

  onParserError(error: ParserError): void {
    this.breakOff(error);
  }

  // --- WriterSource ----------------------------------------------------------------------

  onAwake(): void {
    this.isUnwatched = false;
    this.deps.life.onAwake?.();
  }

  // --- inside ----------------------------------------------------------------------------

  /** False if there is nothing that could drain. */
  private beginToDrain(): boolean {
    const { state, socket } = this;
    if (state >= ConnectionState.Draining) return false;
    this.state = move(state, ConnectionState.Draining);
    if (socket === null) return false;
    if (state === ConnectionState.Dialing) {
      socket.destroy();
      return false;
    }
    this.destroyTimer = startTimer(() => socket.destroy(), this.options.disconnectTimeoutMs);
    return true;
  }

  private halfClose(): void {
    if (this.socketEnd !== null) Reflect.apply(this.socketEnd, this.socket, []);
  }

  private get isInSubscriberMode(): boolean {
    return this.shape.protocol === 2 && !this.deps.subscriptions.isEmpty;
  }

  private get decodingOfSubscriber(): number {
    return this.shape.protocol === 2 ? Decode.Buffers | Decode.Messages : Decode.Buffers;
  }

  /** RESP2 subscriber traffic, lines of MONITOR, and replies that nobody asked for. */
  private onUnusualReply(command: Command | undefined, value: Reply): void {
    if (Array.isArray(value) && this.shape.protocol === 2 && this.pushes.route(value, this.shape)) {
      return;
    }
    if (this.isMonitoring && command === undefined) {
      this.deps.messages?.onMonitorLine(String(value));
      return;
    }
    if (command === undefined) {
      this.breakOff(
        new UnexpectedReplyError(Array.isArray(value) ? "an array" : `"${String(value).slice(0, 64)}"`),
      );
      return;
    }
    this.queue.shift();
    markAnswered(command);
    if ((command.spec.flags & STATE_FLAGS) !== 0) this.deps.stateReplies?.follow(command, value);
    command.fulfil(command.isReadAsBuffers ? value : toText(value), this.shape);
  }

  /**
   * The runtime reads on, up to 32 times in a turn, while reads fill their room, and so would hold
   * the event loop for long. After a while the rest is left to the next turn.
   */
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
    if (this.doubtAfterMs === 0 || this.queue.unsent > 0) return;
    const nowMs = clockMs();
    const offsetMs = dateMs() - nowMs;
    const silentMs = nowMs - this.lastActivityMs + Math.max(0, offsetMs - this.offsetMs);
    this.offsetMs = offsetMs;
    if (silentMs >= this.doubtAfterMs) this.deps.life.onSilence?.(silentMs, first);
  }

  private noteArrival(size: number): void {
    this.bytesRead += size;
    this.lastActivityMs = this.lastArrivalMs = clockMs();
  }

  /** The stream of replies cannot be trusted any more. */
  private breakOff(error: Error): void {
    this.protocolError = error;
    this.destroy(error);
  }

  private onOpen(): void {
    if (this.state !== ConnectionState.Dialing) return;
    this.state = move(this.state, ConnectionState.Handshaking);
    this.openedAtMs = clockMs();
    this.lastActivityMs = this.openedAtMs;
    this.deps.life.onOpen();
  }

  /** A user who ends the stream means the end behind what was issued before. */
  private interceptEnd(socket: Duplex): void {
    const { end } = socket;
    this.socketEnd = end;
    socket.end = ((...args: unknown[]) => {
      // A peer that has closed takes nothing more: what is unsent goes to the next connection.
      if (this.state < ConnectionState.Draining && !socket.readableEnded) this.writer.flushWhole();
      return Reflect.apply(end, socket, args);
    }) as Duplex["end"];
  }

  private onSocketClose(): void {
    if (this.state === ConnectionState.Closed) return;
    this.state = move(this.state, ConnectionState.Closed);
    this.parser.stop();
    this.meter.close(() => new ConnectionClosedError());
    stopTimer(this.destroyTimer);
    this.socketTimeout?.stop();
    this.deps.life.onClose();
  }
}

function toText(value: Reply): Reply {
  if (Buffer.isBuffer(value)) return value.toString();
  return Array.isArray(value) ? value.map(toText) : value;
}
