/**
 * The error classes of the client; those of a cluster are in cluster/cluster-errors.ts. Each has
 * a `code`, an own property so that logs show it, and an explicit `name`, on the prototype. Texts
 * and names that the API fixes stay verbatim (some of those classes are therefore named plainly
 * "Error"); all other messages say what happened, where, and what to do. docs/errors.md is
 * generated from the comments here: the text is what happened, `@advice` is what to do.
 */

import { maskName } from "./util/credentials";
import { label } from "./util/label";

/** The values of `code`. They do not change. */
export type ErrorCode =
  | "ABORTED"
  | "ABORTED_BY_SIGNAL"
  | "ALREADY_CONNECTING"
  | "ANSWERS_DIFFER"
  | "BOUNDS_EXCEEDED"
  | "BULK_ABORTED"
  | "CACHE_UNAVAILABLE"
  | "CLUSTER_ALL_FAILED"
  | "CLUSTER_ENDED"
  | "CLUSTER_UNAVAILABLE"
  | "COMMAND_LOST"
  | "COMMAND_TIMEOUT"
  | "CONNECTION_CLOSED"
  | "CONNECT_ABANDONED"
  | "CROSS_SLOT_TRANSACTION"
  | "DEAD_CONNECTION"
  | "ERR_INVALID_URL"
  | "ETIMEDOUT"
  | "INVALID_ARGUMENT"
  | "INVALID_OPTION"
  | "MAX_RETRIES"
  | "MONITOR_MODE"
  | "NO_SUBSCRIBER"
  | "OFFLINE_QUEUE_DISABLED"
  | "OPEN_TRANSACTION"
  | "OUTCOME_UNKNOWN"
  | "PIPELINE_USED"
  | "PROTOCOL"
  | "REFRESH_VOID"
  | "REPLY"
  | "REPLY_TOO_LONG"
  | "RESERVED_NAME"
  | "SELECT_ON_CLUSTER"
  | "SENTINELS_UNREACHABLE"
  | "SERVER_BUSY"
  | "SLUICE"
  | "SOCKET_TIMEOUT"
  | "SUBSCRIBER_MODE"
  | "TOO_MANY_REDIRECTIONS"
  | "TOPOLOGY"
  | "TOPOLOGY_TIMEOUT"
  | "UNANSWERED_COMMAND"
  | "UNEXPECTED_REPLY"
  | "WATCH_LOST";

/** Base of the errors made by this client; never thrown itself. */
export class SluiceError extends Error {
  /** Says what kind of failure it was. */
  readonly code: ErrorCode = "SLUICE";
  /** The command that failed with it, if it is the error of a command. */
  declare command?: ErrorCommand;
  static {
    label(SluiceError, "SluiceError", "SluiceError");
  }
}

/** The command that an error belongs to; credentials among the arguments are masked. */
export interface ErrorCommand {
  readonly name: string;
  readonly args: readonly (string | Buffer)[];
}

/**
 * An error reply of the server. The message is its whole line.
 *
 * @advice read the message; its first word says what kind it is (`WRONGTYPE`, `NOPERM`, `OOM`)
 * @section single commands
 */
export class ReplyError extends Error {
  /** `"REPLY"`; what the server complains about is the first word of the message. */
  readonly code: ErrorCode = "REPLY";
  /** The command that it answers. */
  declare command?: ErrorCommand;
  /** On a discarded transaction: the errors that made the server discard it, in order. */
  declare previousErrors?: Error[];
  static {
    label(ReplyError, "ReplyError", "ReplyError");
  }
}

/**
 * The bytes that arrived are not RESP, or break one of the documented limits. The connection is over.
 *
 * @advice look at what is between you and the server: TLS on a plain port, a proxy, HTTP
 * @section connections
 */
export class ParserError extends SluiceError {
  override readonly code: ErrorCode = "PROTOCOL";
  static {
    label(ParserError, "ParserError", "ParserError");
  }
}

/**
 * A value longer than the longest string of the engine. Its command fails alone; ask for a Buffer instead.
 *
 * @advice use the `...Buffer` method
 * @section single commands
 */
export class ReplyTooLongError extends SluiceError {
  override readonly code: ErrorCode = "REPLY_TOO_LONG";
  constructor(size: string) {
    super(
      `The reply holds a value of ${size}, which is more than a string can hold; use the Buffer form of the command`,
    );
  }
  static {
    label(ReplyTooLongError, "ReplyTooLongError", "ReplyTooLongError");
  }
}

/**
 * A reply arrived that no command waits for. The connection is over.
 *
 * @advice report it, with the server and its version
 * @section connections
 */
export class UnexpectedReplyError extends SluiceError {
  override readonly code: ErrorCode = "UNEXPECTED_REPLY";
  constructor(kind: string) {
    super(`Command queue state error. If you can reproduce this, please report it. Last reply: ${kind}`);
  }
  static {
    label(UnexpectedReplyError, "UnexpectedReplyError", "UnexpectedReplyError");
  }
}

/**
 * The connection closed before the command was answered.
 *
 * @advice repeat the whole batch
 * @section single commands
 */
export class AbortError extends SluiceError {
  override readonly code: ErrorCode = "ABORTED";
  declare previousErrors?: Error[];
  constructor(message = "Command aborted due to connection close", options?: ErrorOptions) {
    super(message, options);
  }
  static {
    label(AbortError, "AbortError", "AbortError");
  }
}

/**
 * The command was written, its answer never came, and it was not sent again: it may have run.
 *
 * @advice check the state, or repeat only what may run twice; `retryPolicy` decides which commands come
 * here
 * @section single commands
 */
export class OutcomeUnknownError extends AbortError {
  override readonly code: ErrorCode = "OUTCOME_UNKNOWN";
  /** Also true for the other errors with this code, which take the place of an error that a program may look for. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && (value as { code?: unknown }).code === "OUTCOME_UNKNOWN";
  }
  static {
    label(OutcomeUnknownError, "OutcomeUnknownError", "AbortError");
  }
}

/**
 * SELECT on a connection of a cluster client. All callers share these connections, so that a SELECT would move the
 * commands of others to another database. Nothing was sent.
 *
 * @advice use a client for that database: `new Cluster(nodes, { redisOptions: { db: 2 } })`
 * @section clusters
 */
export class SelectOnClusterError extends SluiceError {
  override readonly code: ErrorCode = "SELECT_ON_CLUSTER";
  constructor() {
    super(
      "SELECT is refused: all callers share the connections of a cluster client. Make a client for that database with the option redisOptions: { db }",
    );
  }
  static {
    label(SelectOnClusterError, "SelectOnClusterError", "SelectOnClusterError");
  }
}

/**
 * The keys that WATCH guarded are unguarded, so EXEC was not sent: the connection was lost, or another
 * user of the client has ended the guard with EXEC, DISCARD or UNWATCH.
 *
 * @advice WATCH, read and compute again
 * @section single commands
 */
export class WatchLostError extends AbortError {
  override readonly code: ErrorCode = "WATCH_LOST";
  constructor(why = "The connection was lost after WATCH") {
    super(
      `${why}, so the watched keys may have changed unseen and EXEC was not sent; read them again under a new WATCH and retry`,
    );
  }
  static {
    label(WatchLostError, "WatchLostError", "AbortError");
  }
}

/**
 * Given up after the connection was lost again and again while this command was the oldest unanswered one.
 *
 * @advice look for a command that makes the server or the network end the connection; `maxLossesPerCommand`
 * @section single commands
 */
export class CommandLossError extends AbortError {
  override readonly code: ErrorCode = "COMMAND_LOST";
  constructor(name: string, losses: number, options?: ErrorOptions) {
    super(
      `Gave up on "${name}": the connection was lost ${losses} times while it was the oldest unanswered command; it may have run (see maxLossesPerCommand)`,
      options,
    );
  }
  static {
    label(CommandLossError, "CommandLossError", "AbortError");
  }
}

/**
 * The retry limit was reached while the command waited for a connection.
 *
 * @advice is the server there? raise the option, or `null` to wait for ever
 * @section single commands
 */
export class MaxRetriesPerRequestError extends AbortError {
  override readonly code: ErrorCode = "MAX_RETRIES";
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
    label(MaxRetriesPerRequestError, "MaxRetriesPerRequestError", "MaxRetriesPerRequestError");
  }
}

/**
 * As `MaxRetriesPerRequestError`, for a command that had been written before: it may have run.
 *
 * @advice check the state, or repeat only what may run twice; `retryPolicy` decides which commands come
 * here
 * @section single commands
 */
export class MaxRetriesOutcomeUnknownError extends MaxRetriesPerRequestError {
  override readonly code: ErrorCode = "OUTCOME_UNKNOWN";
  static {
    label(MaxRetriesOutcomeUnknownError, "MaxRetriesOutcomeUnknownError", "MaxRetriesPerRequestError");
  }
}

const CLOSED = "Connection is closed.";

/**
 * The client was closed, or the connection ended for good.
 *
 * @advice connect again, or make a new client; `cause` says why it gave up
 * @section single commands
 */
export class ConnectionClosedError extends SluiceError {
  override readonly code: ErrorCode = "CONNECTION_CLOSED";
  constructor(options?: ErrorOptions) {
    super(CLOSED, options);
  }
  static {
    label(ConnectionClosedError, "ConnectionClosedError", "Error");
  }
}

/**
 * As `ConnectionClosedError`, for a command that had been written: it may have run. The message is the
 * same, because programs compare it; name, code and stack say what is different.
 *
 * @advice check the state, or repeat only what may run twice; `retryPolicy` decides which commands come
 * here
 * @section single commands
 */
export class ClosedOutcomeUnknownError extends ConnectionClosedError {
  override readonly code: ErrorCode = "OUTCOME_UNKNOWN";
  constructor(options?: ErrorOptions) {
    super(options);
    // Without frames: many commands end like this at once, all at the same place.
    this.stack = `${this.name}: ${CLOSED} The command had been written and not answered: it may have run`;
  }
  static {
    label(ClosedOutcomeUnknownError, "ClosedOutcomeUnknownError", "OutcomeUnknownError");
  }
}

/**
 * The server does not tell what changes, so nothing is kept: all commands are sent, as without the option `cache`.
 *
 * @advice a server from Redis 6 or Valkey on, with RESP3 and the right to CLIENT TRACKING and CLIENT CACHING
 * @section connections
 */
export class CacheUnavailableError extends SluiceError {
  override readonly code: ErrorCode = "CACHE_UNAVAILABLE";
  constructor(reason: string, cause?: Error) {
    super(
      `The option "cache" has no effect on this connection, since the server does not track keys: ${reason}. All commands are sent`,
      cause === undefined ? undefined : { cause },
    );
  }
  static {
    label(CacheUnavailableError, "CacheUnavailableError", "CacheUnavailableError");
  }
}

/**
 * `connect()` on a client that is connected or connecting.
 *
 * @advice call it once, or only with `lazyConnect`
 * @section connections
 */
export class AlreadyConnectingError extends SluiceError {
  override readonly code: ErrorCode = "ALREADY_CONNECTING";
  constructor() {
    super("Redis is already connecting/connected");
  }
  static {
    label(AlreadyConnectingError, "AlreadyConnectingError", "Error");
  }
}

/**
 * A command would have to wait for a connection although the offline queue is switched off.
 *
 * @advice wait for `ready`, then repeat
 * @section single commands
 */
export class OfflineQueueDisabledError extends SluiceError {
  override readonly code: ErrorCode = "OFFLINE_QUEUE_DISABLED";
  constructor() {
    super("Stream isn't writeable and enableOfflineQueue options is false");
  }
  static {
    label(OfflineQueueDisabledError, "OfflineQueueDisabledError", "Error");
  }
}

/**
 * Only subscriber commands may be used on a RESP2 connection that has subscriptions.
 *
 * @advice use another client: `duplicate()`
 * @section single commands
 */
export class SubscriberModeError extends SluiceError {
  override readonly code: ErrorCode = "SUBSCRIBER_MODE";
  constructor() {
    super("Connection in subscriber mode, only subscriber commands may be used");
  }
  static {
    label(SubscriberModeError, "SubscriberModeError", "Error");
  }
}

/**
 * A connection under MONITOR takes no commands.
 *
 * @advice use another client: `duplicate()`
 * @section single commands
 */
export class MonitorModeError extends SluiceError {
  override readonly code: ErrorCode = "MONITOR_MODE";
  constructor() {
    super("Connection is in monitoring mode, can't process commands.");
  }
  static {
    label(MonitorModeError, "MonitorModeError", "Error");
  }
}

/**
 * `exec()` was called a second time on the same pipeline.
 *
 * @advice make a new pipeline
 * @section single commands
 */
export class PipelineUsedError extends SluiceError {
  override readonly code: ErrorCode = "PIPELINE_USED";
  constructor() {
    super("Pipeline cannot be used to send any commands when the `exec()` has been called on it.");
  }
  static {
    label(PipelineUsedError, "PipelineUsedError", "Error");
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
    ? "it was written before, to a connection that was lost, and may have run"
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

/**
 * The time limit of the command passed before its reply came. A written command may still run.
 *
 * @advice a sent one may still run; if most of the time was spent queued, too much waits: see `bounds`
 * @section single commands
 */
export class CommandTimeoutError extends SluiceError {
  override readonly code: ErrorCode = "COMMAND_TIMEOUT";
  constructor(
    readonly details: TimeoutDetails,
    isTelling = true,
  ) {
    super(isTelling ? `Command timed out ${whereItWas(details)}` : "Command timed out");
  }
  static {
    label(CommandTimeoutError, "CommandTimeoutError", "Error");
  }
}

/**
 * The signal of the call was aborted; its reason is the `cause`. A written command may still run.
 *
 * @advice a sent one may still run; if most of the time was spent queued, too much waits: see `bounds`
 * @section single commands
 */
export class CommandAbortedError extends AbortError {
  override readonly code: ErrorCode = "ABORTED_BY_SIGNAL";
  constructor(
    readonly details: TimeoutDetails,
    reason: unknown,
  ) {
    super(`Command aborted by its signal ${whereItWas(details)}`, { cause: reason });
  }
  static {
    label(CommandAbortedError, "CommandAbortedError", "AbortError");
  }
}

/**
 * No byte arrived for `socketTimeout` although commands were waiting.
 *
 * @advice nothing; raise the option if the server is merely slow, or leave it to `watchdog`
 * @section connections
 */
export class SocketTimeoutError extends SluiceError {
  override readonly code: ErrorCode = "SOCKET_TIMEOUT";
  constructor(timeoutMs: number) {
    super(`Socket timeout. Expecting data, but didn't receive any in ${timeoutMs}ms.`);
  }
  static {
    label(SocketTimeoutError, "SocketTimeoutError", "Error");
  }
}

/**
 * The connection was not ready within `connectTimeout`.
 *
 * @advice nothing; if it does not end, look whether something else listens there
 * @section connections
 */
export class ConnectTimeoutError extends SluiceError {
  override readonly code: ErrorCode = "ETIMEDOUT";
  readonly errno = "ETIMEDOUT";
  readonly errorno = "ETIMEDOUT";
  readonly syscall = "connect";
  constructor() {
    super("connect ETIMEDOUT");
  }
  static {
    label(ConnectTimeoutError, "ConnectTimeoutError", "Error");
  }
}

/**
 * No sentinel knew the address of the server; `cause` is what the last failing one said.
 *
 * @advice check `sentinels`, `name` and `sentinelPassword`; asking goes on as `sentinelRetryStrategy` says
 * @section connections
 */
export class SentinelsUnreachableError extends SluiceError {
  override readonly code: ErrorCode = "SENTINELS_UNREACHABLE";
  constructor(retryDelayMs: number | null, lastError?: Error) {
    const outlook =
      retryDelayMs === null ? " and retry is disabled." : `. Retrying from scratch after ${retryDelayMs}ms.`;
    const reason = lastError === undefined ? "" : ` Last error: ${lastError.message}`;
    super(`All sentinels are unreachable${outlook}${reason}`, { cause: lastError });
  }
  static {
    label(SentinelsUnreachableError, "SentinelsUnreachableError", "Error");
  }
}

/**
 * An argument that cannot be sent. Only its command is rejected; nothing of it was written.
 *
 * @advice pass a string, number or Buffer
 * @section single commands
 */
export class ArgumentError extends SluiceError {
  override readonly code: ErrorCode = "INVALID_ARGUMENT";
  constructor(commandName: string, position: number, reason: string, options?: ErrorOptions) {
    super(`Argument ${position} of "${maskName(commandName, [])}" cannot be sent: ${reason}`, options);
  }
  static {
    label(ArgumentError, "ArgumentError", "ArgumentError");
  }
}

/**
 * A script or an added command has a name that the client itself needs.
 *
 * @advice choose another name
 * @section construction
 */
export class ReservedNameError extends SluiceError {
  override readonly code: ErrorCode = "RESERVED_NAME";
  constructor(name: string) {
    super(
      `"${name}" cannot be the name of a script or command: the client itself needs it; choose another name`,
    );
  }
  static {
    label(ReservedNameError, "ReservedNameError", "ReservedNameError");
  }
}

/**
 * Its replies could not be told from those of other commands, so it was not sent.
 *
 * @advice do without it; for MONITOR there is `monitor()`
 * @section single commands
 */
export class UnansweredCommandError extends SluiceError {
  override readonly code: ErrorCode = "UNANSWERED_COMMAND";
  constructor(commandName: string, advice: string) {
    super(
      `"${maskName(commandName, [])}" cannot be sent on a shared connection: it brings no reply, or replies without end${advice}`,
    );
  }
  static {
    label(UnansweredCommandError, "UnansweredCommandError", "UnansweredCommandError");
  }
}

/**
 * A bulk was ended by its signal; the commands of unfinished batches may have run.
 *
 * @advice later commands may have run: begin again behind what `progress.settled` says, if they may run
 * twice
 * @section single commands
 */
export class BulkAbortedError extends SluiceError {
  override readonly code: ErrorCode = "BULK_ABORTED";
  constructor(settled: number, options?: ErrorOptions) {
    super(`The bulk was aborted after ${settled} commands had settled; later ones may have run`, options);
  }
  static {
    label(BulkAbortedError, "BulkAbortedError", "AbortError");
  }
}

/**
 * More commands or bytes than `bounds` allows are waiting, and its policy is to reject.
 *
 * @advice slow down, or `policy: "wait"`
 * @section single commands
 */
export class BoundsExceededError extends SluiceError {
  override readonly code: ErrorCode = "BOUNDS_EXCEEDED";
  constructor(what: string, limit: number) {
    super(
      `Too much is waiting for the server: the limit of ${limit} ${what} is reached, so the command was not sent; slow down, raise "bounds", or set its policy to "wait"`,
    );
  }
  static {
    label(BoundsExceededError, "BoundsExceededError", "BoundsExceededError");
  }
}

/**
 * The server does not answer on this connection although it answers on a fresh one, or cannot be reached
 * at all.
 *
 * @advice nothing; if it comes often, look for a firewall that forgets idle connections and set
 * `keepAlive`
 * @section connections
 */
export class DeadConnectionError extends SluiceError {
  override readonly code: ErrorCode = "DEAD_CONNECTION";
  constructor(
    server: string,
    silentMs: number,
    /** False: nothing accepts connections there, and what was written may still be running. */
    readonly isReachable = true,
    /** Time that the server had to answer a PING, if that is how it was noticed. */
    pingMs?: number,
  ) {
    const other = isReachable
      ? "the server answers on another connection"
      : "another connection could not be made";
    const silence = Math.round(silentMs);
    const finding =
      pingMs === undefined
        ? `no byte arrived for ${silence} ms while commands waited, and ${other}`
        : `it was idle for ${silence} ms and did not answer a PING within ${Math.round(pingMs)} ms`;
    super(`The connection to ${server} is dead: ${finding}; reconnecting`);
  }
  static {
    label(DeadConnectionError, "DeadConnectionError", "DeadConnectionError");
  }
}

/**
 * The server does not answer on this connection, and nothing says that the connection is dead: it is at work or
 * paused, or cannot be asked. Only reported.
 *
 * @advice find the slow command (SLOWLOG); the client waits
 * @section connections
 */
export class ServerBusyError extends SluiceError {
  override readonly code: ErrorCode = "SERVER_BUSY";
  constructor(server: string, silentMs: number, isKnown = true) {
    const why = isKnown
      ? "a slow command, script or pause"
      : "a slow command, or a dead connection; it cannot be told, since CLIENT LIST is not to be had there";
    super(
      `${server} has not answered for ${Math.round(silentMs)} ms although it is reachable: ${why}; waiting`,
    );
  }
  static {
    label(ServerBusyError, "ServerBusyError", "ServerBusyError");
  }
}

/**
 * A constructor argument or an option that has no meaning.
 *
 * @advice correct it; see [options](options.md)
 * @section construction
 */
export class OptionError extends SluiceError {
  override readonly code: ErrorCode = "INVALID_OPTION";
  static {
    label(OptionError, "OptionError", "Error");
  }
}

/**
 * The address of a server cannot be read. `input` shows it without its password.
 *
 * @advice percent-encode special characters of the password
 * @section construction
 */
export class InvalidUrlError extends TypeError {
  readonly code: ErrorCode = "ERR_INVALID_URL";
  constructor(readonly input: string) {
    super("Invalid URL: check the port, and percent-encode special characters of the password");
  }
  static {
    label(InvalidUrlError, "InvalidUrlError", "TypeError");
  }
}
