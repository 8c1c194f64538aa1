/**
 * The error classes of late parts, which a bundle without the parts does not contain. The rules of errors.ts apply.
 */

import { AbortError, type ErrorCode, SluiceError } from "./errors";
import { label } from "./util/label";

/**
 * The server does not track keys for this client, so nothing is cached. All commands are sent, as without `cache`.
 *
 * @advice use Redis 6 or later or Valkey, with RESP3, and a user who may call CLIENT TRACKING and CLIENT CACHING
 * @section connections
 */
export class CacheUnavailableError extends SluiceError {
  constructor(reason: string, cause?: Error) {
    super(
      `The option "cache" has no effect on this connection, because the server does not track keys: ${reason}. All commands are sent to the server.`,
      cause === undefined ? undefined : { cause },
    );
  }
}

/** The state of a command when its time limit passed. */
export interface TimeoutDetails {
  /**
   * `queued`: not written; `sent`: written, but the socket still buffers a part of it; `waiting`: sent, the reply is
   * due.
   */
  readonly phase: "queued" | "sent" | "waiting";
  /** The command was written to this connection or to an earlier one that was lost. */
  readonly mayHaveRun: boolean;
  /** Milliseconds since the call. */
  readonly elapsedMs: number;
  /** Milliseconds from the call to the write. */
  readonly queuedMs: number;
  /** Commands ahead of it on the same connection that have no reply yet. */
  readonly commandsAhead: number;
  /** Bytes that the socket still buffers. */
  readonly bytesAhead: number;
  /** `host:port` or path of the server. */
  readonly server: string;
}

/** The parts of the text that most commands of one event share. */
interface SharedText {
  readonly of: TimeoutDetails;
  readonly begin: string;
  readonly end: string;
}

/** The parts of the last text are reused, because otherwise each text would keep its pieces in memory. */
let latest: SharedText | null = null;

function whereItWas(details: TimeoutDetails): string {
  if (latest === null || !isShared(latest.of, details)) latest = sharedText(details);
  const { commandsAhead } = details;
  const noun = commandsAhead === 1 ? " command ahead of it" : " commands ahead of it";
  return `${latest.begin}${commandsAhead}${noun}${latest.end}`;
}

function isShared(one: TimeoutDetails, other: TimeoutDetails): boolean {
  return (
    one.elapsedMs === other.elapsedMs &&
    one.queuedMs === other.queuedMs &&
    one.phase === other.phase &&
    one.bytesAhead === other.bytesAhead &&
    one.server === other.server &&
    one.mayHaveRun === other.mayHaveRun
  );
}

function sharedText(details: TimeoutDetails): SharedText {
  const { phase, elapsedMs, queuedMs, bytesAhead, server, mayHaveRun } = details;
  if (phase === "queued") {
    const fate = mayHaveRun
      ? "It was written to an earlier connection, which was lost. It may have run"
      : "It was not sent";
    const begin = `after ${elapsedMs} ms in the queue for ${server} with `;
    return { of: details, begin, end: `. ${fate}` };
  }
  const isSending = phase === "sent";
  const way = isSending ? `of sending to ${server}` : `of waiting for ${server}`;
  return {
    of: details,
    begin: `after ${queuedMs} ms in the queue and ${elapsedMs - queuedMs} ms ${way} with `,
    end: isSending ? ` and ${bytesAhead} bytes unsent. It may still run` : ". It may still run",
  };
}

/**
 * The time limit of the command passed before its reply arrived. A written command may still run.
 *
 * @advice read `details`, which shows how long the command waited in the queue and for the reply. If most of the time
 * was in the queue, check the server and limit the queue with `bounds`
 * @section single commands
 */
export class CommandTimeoutError extends SluiceError {
  constructor(
    readonly details: TimeoutDetails,
    isTelling = true,
  ) {
    super(isTelling ? `Command timed out ${whereItWas(details)}` : "Command timed out");
  }
}

/**
 * The `AbortSignal` of the call was aborted. `cause` is the reason of the signal. A written command may still run.
 *
 * @advice none is needed if your program aborted the call; `details` shows where the command spent its time
 * @section single commands
 */
export class CommandAbortedError extends AbortError {
  constructor(
    readonly details: TimeoutDetails,
    reason: unknown,
  ) {
    super(`Command aborted by its signal ${whereItWas(details)}`, { cause: reason });
  }
}

/**
 * No Sentinel returned the address of the server. `cause` is the error of the last one.
 *
 * @advice check `sentinels`, `name` and `sentinelPassword`; `sentinelRetryStrategy` decides whether the client asks
 * again
 * @section connections
 */
export class SentinelsUnreachableError extends SluiceError {
  constructor(retryDelayMs: number | null, lastError?: Error) {
    const outlook =
      retryDelayMs === null ? " and retry is disabled." : `. Retrying from scratch after ${retryDelayMs}ms.`;
    const reason = lastError === undefined ? "" : ` Last error: ${lastError.message}`;
    super(`All sentinels are unreachable${outlook}${reason}`, { cause: lastError });
  }
}

/**
 * The signal of a bulk was aborted. The commands of unfinished batches may have run.
 *
 * @advice if the commands may run twice, continue after `progress.settled` commands
 * @section single commands
 */
export class BulkAbortedError extends SluiceError {
  constructor(settled: number, options?: ErrorOptions) {
    super(
      `The bulk was aborted after ${settled} commands had settled. Later commands may have run.`,
      options,
    );
  }
}

/**
 * The limit of `bounds` is reached, and its policy is `"reject"`. The command was not sent.
 *
 * @advice send fewer commands at a time, or set `policy: "wait"`
 * @section single commands
 */
export class BoundsExceededError extends SluiceError {
  constructor(what: string, limit: number) {
    super(
      `Unsettled commands have reached the limit of ${limit} ${what}, so the command was not sent. Send fewer commands at a time, raise the option "bounds", or set its policy to "wait".`,
    );
  }
}

label<ErrorCode>(null, {
  BOUNDS_EXCEEDED: { BoundsExceededError },
  CACHE_UNAVAILABLE: { CacheUnavailableError },
});
label<ErrorCode>("AbortError", {
  BULK_ABORTED: { BulkAbortedError },
  ABORTED_BY_SIGNAL: { CommandAbortedError },
});
label<ErrorCode>("Error", {
  COMMAND_TIMEOUT: { CommandTimeoutError },
  SENTINELS_UNREACHABLE: { SentinelsUnreachableError },
});
