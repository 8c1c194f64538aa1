/**
 * The error classes of the client (those of the cluster are in its room). Each has a constant `code` and an explicit `name`, both on
 * the prototype so that an error serialises to its own data only. Texts and names that the API
 * fixes stay verbatim (some of those classes are therefore named plainly "Error"); all other
 * messages say what happened, where, and what to do. docs/errors.md lists what to do about each.
 */

import { maskName } from "./util/credentials";

/** Gives a class its name and its code, both on the prototype. */
export function label(prototype: Error, name: string, code: string): void {
  Object.defineProperty(prototype, "name", { value: name, configurable: true, writable: true });
  Object.defineProperty(prototype, "code", { value: code, configurable: true, writable: true });
}

/** Base of the errors made by this client. */
export class SluiceError extends Error {
  /** Constant of the class; says what kind of failure it was. */
  declare readonly code: string;
  static {
    label(SluiceError.prototype, "SluiceError", "SLUICE");
  }
}

/** The command that an error belongs to; credentials among the arguments are masked. */
export interface ErrorCommand {
  readonly name: string;
  readonly args: readonly (string | Buffer)[];
}

/** An error reply of the server. The message is its whole line. */
export class ReplyError extends Error {
  /** `"REPLY"`; what the server complains about is the first word of the message. */
  declare readonly code: string;
  /** The command that it answers, `{ name, args }`; credentials among the arguments are masked. */
  declare command?: ErrorCommand;
  /** On a discarded transaction: the errors that made the server discard it, in order. */
  declare previousErrors?: Error[];
  static {
    label(ReplyError.prototype, "ReplyError", "REPLY");
  }
}

/** The bytes that arrived are not RESP, or break one of the documented limits. The connection is over. */
export class ParserError extends SluiceError {
  static {
    label(ParserError.prototype, "ParserError", "PROTOCOL");
  }
}

/** A value longer than the longest string of the engine. Its command fails alone; ask for a Buffer instead. */
export class ReplyTooLongError extends SluiceError {
  declare command?: ErrorCommand;
  constructor(size: string) {
    super(
      `The reply holds a value of ${size}, which is more than a string can hold; use the Buffer form of the command`,
    );
  }
  static {
    label(ReplyTooLongError.prototype, "ReplyTooLongError", "REPLY_TOO_LONG");
  }
}

/** A reply arrived that no command waits for. The connection is over. */
export class UnexpectedReplyError extends SluiceError {
  constructor(kind: string) {
    super(`Command queue state error. If you can reproduce this, please report it. Last reply: ${kind}`);
  }
  static {
    label(UnexpectedReplyError.prototype, "UnexpectedReplyError", "UNEXPECTED_REPLY");
  }
}

/** The connection closed before the command was answered. */
export class AbortError extends SluiceError {
  declare command?: ErrorCommand;
  declare previousErrors?: Error[];
  constructor(message = "Command aborted due to connection close", options?: ErrorOptions) {
    super(message, options);
  }
  static {
    label(AbortError.prototype, "AbortError", "ABORTED");
  }
}

/** The command was written, its answer never came, and it was not sent again: it may have run. */
export class OutcomeUnknownError extends AbortError {
  static {
    label(OutcomeUnknownError.prototype, "AbortError", "OUTCOME_UNKNOWN");
  }
}

/** The keys that WATCH guarded are unguarded since the connection was lost, so EXEC was not sent. */
export class WatchLostError extends AbortError {
  constructor() {
    super(
      "The connection was lost after WATCH, so the watched keys may have changed unseen and EXEC was not sent; read them again under a new WATCH and retry",
    );
  }
  static {
    label(WatchLostError.prototype, "AbortError", "WATCH_LOST");
  }
}

/** Given up after the connection was lost again and again while this command was the oldest unanswered one. */
export class CommandLossError extends AbortError {
  constructor(name: string, losses: number, options?: ErrorOptions) {
    super(
      `Gave up on "${name}": the connection was lost ${losses} times while it was the oldest unanswered command; it may have run (see maxLossesPerCommand)`,
      options,
    );
  }
  static {
    label(CommandLossError.prototype, "AbortError", "COMMAND_LOST");
  }
}

/** The retry limit was reached while the command waited for a connection. */
export class MaxRetriesPerRequestError extends AbortError {
  constructor(
    readonly limit: number,
    options?: ErrorOptions,
  ) {
    super(
      `Reached the max retries per request limit (which is ${limit}). Refer to "maxRetriesPerRequest" option for details.`,
      options,
    );
  }
  static {
    label(MaxRetriesPerRequestError.prototype, "MaxRetriesPerRequestError", "MAX_RETRIES");
  }
}

/** As `MaxRetriesPerRequestError`, for a command that had been written before: it may have run. */
export class MaxRetriesOutcomeUnknownError extends MaxRetriesPerRequestError {
  static {
    label(MaxRetriesOutcomeUnknownError.prototype, "MaxRetriesPerRequestError", "OUTCOME_UNKNOWN");
  }
}

/** The client was closed, or the connection ended for good. */
export class ConnectionClosedError extends SluiceError {
  declare command?: ErrorCommand;
  constructor(options?: ErrorOptions) {
    super("Connection is closed.", options);
  }
  static {
    label(ConnectionClosedError.prototype, "Error", "CONNECTION_CLOSED");
  }
}

/** As `ConnectionClosedError`, for a command that had been written: it may have run. */
export class ClosedOutcomeUnknownError extends ConnectionClosedError {
  static {
    label(ClosedOutcomeUnknownError.prototype, "Error", "OUTCOME_UNKNOWN");
  }
}

/** `connect()` on a client that is connected or connecting. */
export class AlreadyConnectingError extends SluiceError {
  constructor() {
    super("Redis is already connecting/connected");
  }
  static {
    label(AlreadyConnectingError.prototype, "Error", "ALREADY_CONNECTING");
  }
}

/** A command would have to wait for a connection although the offline queue is switched off. */
export class OfflineQueueDisabledError extends SluiceError {
  constructor() {
    super("Stream isn't writeable and enableOfflineQueue options is false");
  }
  static {
    label(OfflineQueueDisabledError.prototype, "Error", "OFFLINE_QUEUE_DISABLED");
  }
}

/** Only subscriber commands may be used on a RESP2 connection that has subscriptions. */
export class SubscriberModeError extends SluiceError {
  constructor() {
    super("Connection in subscriber mode, only subscriber commands may be used");
  }
  static {
    label(SubscriberModeError.prototype, "Error", "SUBSCRIBER_MODE");
  }
}

/** A connection under MONITOR takes no commands. */
export class MonitorModeError extends SluiceError {
  constructor() {
    super("Connection is in monitoring mode, can't process commands.");
  }
  static {
    label(MonitorModeError.prototype, "Error", "MONITOR_MODE");
  }
}

/** `exec()` was called a second time on the same pipeline. */
export class PipelineUsedError extends SluiceError {
  constructor() {
    super("Pipeline cannot be used to send any commands when the `exec()` has been called on it.");
  }
  static {
    label(PipelineUsedError.prototype, "Error", "PIPELINE_USED");
  }
}

/** Where a command was when its time was up. */
export interface TimeoutDetails {
  /**
   * `queued`: not written yet; `sent`: written, but the socket has not taken all bytes;
   * `waiting`: on the wire, the answer is due.
   */
  readonly phase: "queued" | "sent" | "waiting";
  /** It was written: now, or earlier to a connection that was lost. */
  readonly mayHaveRun: boolean;
  /** Milliseconds since the call. */
  readonly elapsedMs: number;
  /** Milliseconds of these until it was written. */
  readonly queuedMs: number;
  /** Commands before it on the same connection that are not answered either. */
  readonly commandsAhead: number;
  /** Bytes that the socket still has to take. */
  readonly bytesAhead: number;
  /** `host:port` or path of the server. */
  readonly server: string;
}

function whereItWas(details: TimeoutDetails): string {
  const { elapsedMs, queuedMs, commandsAhead, bytesAhead, server } = details;
  const ahead = `${commandsAhead} ${commandsAhead === 1 ? "command" : "commands"} ahead of it`;
  const fate = details.mayHaveRun
    ? "it was written before, to a line that was lost, and may have run"
    : "it was not sent";
  switch (details.phase) {
    case "queued":
      return `after ${elapsedMs} ms in the queue for ${server} with ${ahead}; ${fate}`;
    case "sent":
      return `after ${queuedMs} ms in the queue and ${elapsedMs - queuedMs} ms on the way to ${server} with ${ahead} and ${bytesAhead} bytes to go; it may still run`;
    case "waiting":
      return `after ${queuedMs} ms in the queue and ${elapsedMs - queuedMs} ms of waiting for ${server} with ${ahead}; it may still run`;
  }
}

/** The time limit of the command passed before its reply came. A written command may still run. */
export class CommandTimeoutError extends SluiceError {
  declare command?: ErrorCommand;
  constructor(
    readonly details: TimeoutDetails,
    isTelling = true,
  ) {
    super(isTelling ? `Command timed out ${whereItWas(details)}` : "Command timed out");
  }
  static {
    label(CommandTimeoutError.prototype, "Error", "COMMAND_TIMEOUT");
  }
}

/** The signal of the call was aborted; its reason is the `cause`. A written command may still run. */
export class CommandAbortedError extends AbortError {
  constructor(
    readonly details: TimeoutDetails,
    reason: unknown,
  ) {
    super(`Command aborted by its signal ${whereItWas(details)}`, { cause: reason });
  }
  static {
    label(CommandAbortedError.prototype, "AbortError", "ABORTED_BY_SIGNAL");
  }
}

/** No byte arrived for `socketTimeout` although commands were waiting. */
export class SocketTimeoutError extends SluiceError {
  constructor(timeoutMs: number) {
    super(`Socket timeout. Expecting data, but didn't receive any in ${timeoutMs}ms.`);
  }
  static {
    label(SocketTimeoutError.prototype, "Error", "SOCKET_TIMEOUT");
  }
}

/** The connection was not ready within `connectTimeout`. */
export class ConnectTimeoutError extends SluiceError {
  readonly errno = "ETIMEDOUT";
  readonly errorno = "ETIMEDOUT";
  readonly syscall = "connect";
  constructor() {
    super("connect ETIMEDOUT");
  }
  static {
    label(ConnectTimeoutError.prototype, "Error", "ETIMEDOUT");
  }
}

/** No sentinel knew the address of the server; `cause` is what the last failing one said. */
export class SentinelsUnreachableError extends SluiceError {
  constructor(retryDelayMs: number | null, lastError?: Error) {
    const outlook =
      retryDelayMs === null ? " and retry is disabled." : `. Retrying from scratch after ${retryDelayMs}ms.`;
    const reason = lastError === undefined ? "" : ` Last error: ${lastError.message}`;
    super(`All sentinels are unreachable${outlook}${reason}`, { cause: lastError });
  }
  static {
    label(SentinelsUnreachableError.prototype, "Error", "SENTINELS_UNREACHABLE");
  }
}

/** An argument that cannot be sent. Only its command is rejected; nothing of it was written. */
export class ArgumentError extends SluiceError {
  constructor(commandName: string, position: number, reason: string, options?: ErrorOptions) {
    super(`Argument ${position} of "${maskName(commandName, [])}" cannot be sent: ${reason}`, options);
  }
  static {
    label(ArgumentError.prototype, "ArgumentError", "INVALID_ARGUMENT");
  }
}

/** A script or an added command has a name that the client itself needs. */
export class ReservedNameError extends SluiceError {
  constructor(name: string) {
    super(
      `"${name}" cannot be the name of a script or command: the client itself needs it; choose another name`,
    );
  }
  static {
    label(ReservedNameError.prototype, "ReservedNameError", "RESERVED_NAME");
  }
}

/** Its replies could not be told from those of other commands, so it was not sent. */
export class UnansweredCommandError extends SluiceError {
  constructor(commandName: string, advice: string) {
    super(
      `"${maskName(commandName, [])}" cannot be sent on a shared connection: it brings no reply, or replies without end${advice}`,
    );
  }
  static {
    label(UnansweredCommandError.prototype, "UnansweredCommandError", "UNANSWERED_COMMAND");
  }
}

/** A bulk was ended by its signal; the commands of unfinished batches may have run. */
export class BulkAbortedError extends SluiceError {
  constructor(settled: number, options?: ErrorOptions) {
    super(`The bulk was aborted after ${settled} commands had settled; later ones may have run`, options);
  }
  static {
    label(BulkAbortedError.prototype, "AbortError", "BULK_ABORTED");
  }
}

/** More commands or bytes than `bounds` allows are waiting, and its policy is to reject. */
export class BoundsExceededError extends SluiceError {
  constructor(what: string, limit: number) {
    super(
      `Too much is waiting for the server: the limit of ${limit} ${what} is reached, so the command was not sent; slow down, raise "bounds", or set its policy to "wait"`,
    );
  }
  static {
    label(BoundsExceededError.prototype, "BoundsExceededError", "BOUNDS_EXCEEDED");
  }
}

/** The server does not answer on this connection although it answers on a fresh one, or cannot be reached at all. */
export class DeadConnectionError extends SluiceError {
  constructor(server: string, silentMs: number, isReachable = true) {
    const other = isReachable
      ? "the server answers on another connection"
      : "another connection could not be made";
    super(
      `The connection to ${server} is dead: no byte arrived for ${Math.round(silentMs)} ms while commands waited, and ${other}; reconnecting`,
    );
  }
  static {
    label(DeadConnectionError.prototype, "DeadConnectionError", "DEAD_CONNECTION");
  }
}

/** The server accepts connections and does not answer: it is at work or paused. Only reported. */
export class ServerBusyError extends SluiceError {
  constructor(server: string, silentMs: number) {
    super(
      `${server} has not answered for ${Math.round(silentMs)} ms although it is reachable: a slow command, script or pause; waiting`,
    );
  }
  static {
    label(ServerBusyError.prototype, "ServerBusyError", "SERVER_BUSY");
  }
}

/** A constructor argument or an option that has no meaning. */
export class OptionError extends SluiceError {
  static {
    label(OptionError.prototype, "Error", "INVALID_OPTION");
  }
}

/** The address of a server cannot be read. `input` shows it without its password. */
export class InvalidUrlError extends TypeError {
  declare readonly code: string;
  constructor(readonly input: string) {
    super("Invalid URL: check the port, and percent-encode special characters of the password");
  }
  static {
    label(InvalidUrlError.prototype, "TypeError", "ERR_INVALID_URL");
  }
}
