/**
 * The error classes of the client. Those of a cluster are in cluster/cluster-errors.ts. Each class has a
 * `code`, which is an own property of its errors so that logs show it, and a `name`. Messages and names that
 * the API fixes are exact, so some classes have the name "Error". All other messages say what happened, where,
 * and what to do.
 * docs/errors.md is generated from the comments here: the text says what happened, `@advice` says what to do.
 */

import { type ErrorCommand, maskName } from "./util/credentials";
import { addHint } from "./util/error-hint";
import { codeOf, label } from "./util/label";

export type { ErrorCommand };

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
  | "CONSUMER_GROUP_MISSING"
  | "CREDENTIALS"
  | "CROSS_SLOT_TRANSACTION"
  | "DATABASE_LOST"
  | "DEAD_CONNECTION"
  | "ERR_INVALID_URL"
  | "ETIMEDOUT"
  | "INVALID_ARGUMENT"
  | "INVALID_OPTION"
  | "KEYSPACE_EVENTS_OFF"
  | "LEASE_RELEASED"
  | "LEASE_TIMEOUT"
  | "LOCK_LOST"
  | "LOCK_TIMEOUT"
  | "MAINTENANCE_REFUSED"
  | "MAX_RETRIES"
  | "MESSAGES_OVERFLOW"
  | "MESSAGE_TAKEN"
  | "MISSING_PART"
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
  | "TRANSACTION_CONFLICT"
  | "UNANSWERED_COMMAND"
  | "UNEXPECTED_REPLY"
  | "WATCH_LOST";

/** Base class of the errors that this client creates. The client never throws it directly. */
export class SluiceError extends Error {
  /** The kind of failure. */
  readonly code: ErrorCode;
  /** The command that failed, if the error is the error of a command. */
  declare command?: ErrorCommand;
  /** The probable cause of the error, and a remedy. */
  declare hint?: string;
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    this.code = codeOf(new.target.prototype);
  }
}

/**
 * The server replied with an error. The message is the text of the server.
 *
 * @advice read the message: its first word is the kind of error (`WRONGTYPE`, `NOPERM`, `OOM`)
 * @section single commands
 */
export class ReplyError extends Error {
  /** `"REPLY"`. The first word of the message is the kind of error. */
  readonly code: ErrorCode = "REPLY";
  /** The command that received this reply. */
  declare command?: ErrorCommand;
  /** The probable cause of the error, and a remedy. */
  declare hint?: string;
  /** For a discarded transaction: the errors of its commands that made the server discard it, in order. */
  declare previousErrors?: Error[];
}

/**
 * The received bytes are not RESP, or exceed a documented limit. The client closes the connection.
 * @advice check the port and any intermediary between client and server: TLS, a proxy, an HTTP server
 * @section connections
 */
export class ParserError extends SluiceError {}

/**
 * A value of the reply is longer than a JavaScript string can be. Only its command fails.
 *
 * @advice use the `...Buffer` method of the command
 * @section single commands
 */
export class ReplyTooLongError extends SluiceError {
  constructor(size: string) {
    super(
      `The reply contains a value of ${size}, which is too long for a string. Use the Buffer form of the command.`,
    );
  }
}

/**
 * A reply arrived that no command was waiting for. The client closes the connection.
 *
 * @advice report it with the name and version of the server
 * @section connections
 */
export class UnexpectedReplyError extends SluiceError {
  constructor(kind: string) {
    super(`Command queue state error. If you can reproduce this, please report it. Last reply: ${kind}`);
  }
}

/**
 * The command was not sent because the connection of its batch was lost, or its transaction was discarded. It did not
 * run.
 *
 * @advice repeat the rows with this code; repeat a discarded transaction as a whole
 * @section single commands
 */
export class AbortError extends SluiceError {
  declare previousErrors?: Error[];
  constructor(message = "Command aborted due to connection close", options?: ErrorOptions) {
    super(message, options);
  }
}

/**
 * The command was written, its reply did not arrive, and the client did not send it again. It may have run.
 *
 * @advice check the state, or repeat only commands that may run twice; `retryPolicy` decides which commands are sent
 * again
 * @section single commands
 */
export class OutcomeUnknownError extends AbortError {
  /** Also true for the other classes with this code, which replace an error that programs look for. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && (value as { code?: unknown }).code === "OUTCOME_UNKNOWN";
  }
}

/**
 * SELECT was called on a cluster client. All callers share its connections, so SELECT would move the commands of others
 * to another database. Nothing was sent.
 *
 * @advice use a client for that database: `new Cluster(nodes, { redisOptions: { db: 2 } })`
 * @section clusters
 */
export class SelectOnClusterError extends SluiceError {
  constructor() {
    super(
      "SELECT is refused: all callers share the connections of a cluster client. Create a client for that database with the option redisOptions: { db }.",
    );
  }
}

/**
 * The watched keys are no longer watched, so the client did not send EXEC. The connection was lost, or other code that
 * uses the client ended the WATCH with EXEC, DISCARD or UNWATCH.
 *
 * @advice start again with WATCH: read, compute, EXEC
 * @section single commands
 */
export class WatchLostError extends AbortError {
  constructor(why = "The connection was lost after WATCH") {
    super(
      `${why}, so the watched keys may have changed. EXEC was not sent. Start again with WATCH, and read the keys again.`,
    );
  }
}

/**
 * The connection was lost several times while this command was the oldest one without a reply. The command may be the
 * cause, and may have run.
 *
 * @advice find out whether this command makes the server or the network close the connection; see `maxLossesPerCommand`
 * @section single commands
 */
export class CommandLossError extends AbortError {
  constructor(name: string, losses: number, options?: ErrorOptions) {
    super(
      `The connection was lost ${losses} times while "${name}" was the oldest command without a reply, so the client does not send it again. It may have run. See the option maxLossesPerCommand.`,
      options,
    );
  }
}

/**
 * The command waited for a connection, and `maxRetriesPerRequest` attempts to connect failed.
 *
 * @advice check the server; raise the option, or set it to `null` to wait without a limit
 * @section single commands
 */
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
}

/**
 * Like `MaxRetriesPerRequestError`, for a command that was already written to an earlier connection. It may have run.
 *
 * @advice check the state, or repeat only commands that may run twice; `retryPolicy` decides which commands are sent
 * again
 * @section single commands
 */
export class MaxRetriesOutcomeUnknownError extends MaxRetriesPerRequestError {}

const CLOSED = "Connection is closed.";

/**
 * The client is closed, or it does not reconnect.
 *
 * @advice call `connect()` or create a new client; `cause` is the reason, if there is one
 * @section single commands
 */
export class ConnectionClosedError extends SluiceError {
  constructor(options?: ErrorOptions) {
    super(CLOSED, options);
  }
}

/**
 * Like `ConnectionClosedError`, for a command that was already written. It may have run. Both errors have
 * the same message, because programs compare it.
 *
 * @advice check the state, or repeat only commands that may run twice; `retryPolicy` decides which commands are sent
 * again
 * @section single commands
 */
export class ClosedOutcomeUnknownError extends ConnectionClosedError {
  constructor(options?: ErrorOptions) {
    super(options);
    // Without stack frames: many commands fail at the same time and place.
    this.stack = `${this.name}: ${CLOSED} The command was written and its reply did not arrive: it may have run`;
  }
}

/**
 * `connect()` rejects, because the client is already connected or connecting.
 *
 * @advice call it once, and only with `lazyConnect`
 * @section connections
 */
export class AlreadyConnectingError extends SluiceError {
  constructor() {
    super("Redis is already connecting/connected");
    addHint(this, "The constructor connects. Remove connect(), or set lazyConnect: true.");
  }
}

const NOT_CONNECTED =
  "The client is not connected. Wait for the event `ready`, or remove `enableOfflineQueue: false`.";

/**
 * There is no connection, and the offline queue is off.
 *
 * @advice wait for the event `ready`, then repeat the command
 * @section single commands
 */
export class OfflineQueueDisabledError extends SluiceError {
  constructor() {
    super("Stream isn't writeable and enableOfflineQueue options is false");
    // `addHint` would format the stack of each of many errors.
    Object.defineProperty(this, "hint", { value: NOT_CONNECTED, writable: true, configurable: true });
  }
}

/**
 * A RESP2 connection with subscriptions accepts only subscriber commands.
 *
 * @advice use another client: `duplicate()`
 * @section single commands
 */
export class SubscriberModeError extends SluiceError {
  constructor() {
    super("Connection in subscriber mode, only subscriber commands may be used");
  }
}

/**
 * A connection in monitor mode accepts no commands.
 *
 * @advice use another client: `duplicate()`
 * @section single commands
 */
export class MonitorModeError extends SluiceError {
  constructor() {
    super("Connection is in monitoring mode, can't process commands.");
  }
}

/**
 * `exec()` was called a second time on the same pipeline.
 *
 * @advice create a new pipeline
 * @section single commands
 */
export class PipelineUsedError extends SluiceError {
  constructor() {
    super("Pipeline cannot be used to send any commands when the `exec()` has been called on it.");
  }
}

/**
 * No byte arrived for `socketTimeout` although commands waited for replies. The client reconnects.
 *
 * @advice if the server is only slow, raise the option, or use `watchdog` instead
 * @section connections
 */
export class SocketTimeoutError extends SluiceError {
  constructor(timeoutMs: number) {
    super(`Socket timeout. Expecting data, but didn't receive any in ${timeoutMs}ms.`);
  }
}

/**
 * The connection was not ready within `connectTimeout`.
 *
 * @advice the client tries again; if this continues, check the host, the port and the firewall
 * @section connections
 */
export class ConnectTimeoutError extends SluiceError {
  readonly errno = "ETIMEDOUT";
  readonly errorno = "ETIMEDOUT";
  readonly syscall = "connect";
  constructor() {
    super("connect ETIMEDOUT");
  }
}

/**
 * An argument cannot be sent. Only its command fails, and no part of it was written.
 *
 * @advice pass a string, a number or a Buffer
 * @section single commands
 */
export class ArgumentError extends SluiceError {
  constructor(commandName: string, position: number, reason: string, options?: ErrorOptions) {
    super(`Argument ${position} of "${maskName(commandName, [])}" cannot be sent: ${reason}`, options);
  }
}

/**
 * The client itself uses the name of this script or added command.
 *
 * @advice choose another name
 * @section construction
 */
export class ReservedNameError extends SluiceError {
  constructor(name: string) {
    super(
      `"${name}" cannot be the name of a script or a command, because the client uses it. Choose another name.`,
    );
  }
}

/**
 * The client cannot match the replies of this command on a shared connection, so it was not sent.
 *
 * @advice do not use the command; for MONITOR, call `monitor()`
 * @section single commands
 */
export class UnansweredCommandError extends SluiceError {
  constructor(commandName: string, advice: string) {
    super(
      `"${maskName(commandName, [])}" cannot be sent on a shared connection, because the server does not answer it with one reply${advice}`,
    );
  }
}

/**
 * The server does not answer on this connection, but it answers on a new one, or it cannot be reached at all. The client
 * reconnects.
 *
 * @advice if this happens often, look for a firewall that drops idle connections and set `keepAlive`
 * @section connections
 */
export class DeadConnectionError extends SluiceError {
  constructor(
    server: string,
    silentMs: number,
    /** False: the server accepts no connections, and written commands may still run. */
    readonly isReachable = true,
    /** The time that the server had to answer a PING, if the client has sent one. */
    pingMs?: number,
  ) {
    const other = isReachable ? "the server answers on another connection" : "a second connection failed";
    const silence = Math.round(silentMs);
    const finding =
      pingMs === undefined
        ? `no byte arrived for ${silence} ms while commands waited, and ${other}`
        : `it was idle for ${silence} ms and did not answer a PING within ${Math.round(pingMs)} ms`;
    super(`The connection to ${server} is dead: ${finding}. The client reconnects.`);
  }
}

/**
 * The server does not answer, and the connection is not known to be dead. Usually the server runs a slow command or is
 * paused. The client emits the event `busy`, and no command fails.
 *
 * @advice find the slow command with SLOWLOG; the client waits
 * @section connections
 */
export class ServerBusyError extends SluiceError {
  constructor(server: string, silentMs: number, isKnown = true) {
    const why = isKnown
      ? "It runs a slow command or script, or it is paused"
      : "It runs a slow command, or the connection is dead. The client cannot find out, because CLIENT LIST is not available";
    super(
      `${server} has not answered for ${Math.round(silentMs)} ms although it is reachable. ${why}. The client waits.`,
    );
  }
}

/**
 * A constructor argument or an option is invalid.
 *
 * @advice correct the argument or option; see [options](options.md)
 * @section construction
 */
export class OptionError extends SluiceError {}

/**
 * An option or a call needs code that the bundle of the program does not contain. `name` is the part.
 *
 * @advice add the import that the message names; see [bundles](platforms.md#bundles)
 * @section construction
 */
export class MissingPartError extends SluiceError {
  constructor(readonly part: string) {
    super(
      `This bundle does not contain the code for ${part}. Add the import "sluice/with/${part}" to the program, or use the default import of "sluice".`,
    );
  }
}

/**
 * The function of the option `credentials` did not return credentials. The attempt to connect failed.
 *
 * @advice return `{ username, password }`; the client calls the function again at the next attempt to connect
 * @section connections
 */
export class CredentialsError extends SluiceError {
  constructor(reason: string) {
    super(
      `The function of the option "credentials" must return { username, password }, or {} for the user "default". ${reason}.`,
    );
  }
}

/**
 * The address of a server cannot be parsed. `input` is the address without its password.
 *
 * @advice check the port, and percent-encode special characters of the password
 * @section construction
 */
export class InvalidUrlError extends TypeError {
  readonly code: ErrorCode = "ERR_INVALID_URL";
  constructor(readonly input: string) {
    super("Invalid URL: check the port, and percent-encode special characters of the password");
  }
}

// The API fixes the names that differ from the class.
label<ErrorCode>(null, {
  ABORTED: { AbortError },
  INVALID_ARGUMENT: { ArgumentError },
  CREDENTIALS: { CredentialsError },
  DEAD_CONNECTION: { DeadConnectionError },
  MAX_RETRIES: { MaxRetriesPerRequestError },
  MISSING_PART: { MissingPartError },
  PROTOCOL: { ParserError },
  REPLY: { ReplyError },
  REPLY_TOO_LONG: { ReplyTooLongError },
  RESERVED_NAME: { ReservedNameError },
  SELECT_ON_CLUSTER: { SelectOnClusterError },
  SERVER_BUSY: { ServerBusyError },
  SLUICE: { SluiceError },
  UNANSWERED_COMMAND: { UnansweredCommandError },
  UNEXPECTED_REPLY: { UnexpectedReplyError },
});
label<ErrorCode>("AbortError", {
  COMMAND_LOST: { CommandLossError },
  OUTCOME_UNKNOWN: { OutcomeUnknownError },
  WATCH_LOST: { WatchLostError },
});
label<ErrorCode>("Error", {
  ALREADY_CONNECTING: { AlreadyConnectingError },
  ETIMEDOUT: { ConnectTimeoutError },
  CONNECTION_CLOSED: { ConnectionClosedError },
  MONITOR_MODE: { MonitorModeError },
  OFFLINE_QUEUE_DISABLED: { OfflineQueueDisabledError },
  INVALID_OPTION: { OptionError },
  PIPELINE_USED: { PipelineUsedError },
  SOCKET_TIMEOUT: { SocketTimeoutError },
  SUBSCRIBER_MODE: { SubscriberModeError },
});
label<ErrorCode>("MaxRetriesPerRequestError", { OUTCOME_UNKNOWN: { MaxRetriesOutcomeUnknownError } });
label<ErrorCode>("OutcomeUnknownError", { OUTCOME_UNKNOWN: { ClosedOutcomeUnknownError } });
label<ErrorCode>("TypeError", { ERR_INVALID_URL: { InvalidUrlError } });
