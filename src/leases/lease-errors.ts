/**
 * The error classes of leased connections and locks. The rules of errors.ts apply.
 */

import { AbortError, type ErrorCode, SluiceError } from "../errors";
import { label } from "../util/label";

/**
 * A leased connection was used after its release. The command was not sent.
 *
 * @advice await all commands of the connection before you release it, and do not keep it
 * @section single commands
 */
export class LeaseReleasedError extends SluiceError {
  override readonly code: ErrorCode = "LEASE_RELEASED";
  constructor() {
    super(
      "The leased connection was released, so the command was not sent. Send it before release(), or use the client.",
    );
  }
  static {
    label(LeaseReleasedError, "LeaseReleasedError", "LeaseReleasedError");
  }
}

/**
 * All connections of the pool were leased during the whole waiting time.
 *
 * @advice release connections sooner, or raise `leases.max` or `leases.waitMs`
 * @section single commands
 */
export class LeaseTimeoutError extends SluiceError {
  override readonly code: ErrorCode = "LEASE_TIMEOUT";
  constructor(max: number, waitMs: number) {
    super(
      `All ${max} connections of the pool stayed leased for ${waitMs} ms. Release them sooner, or raise "max" or "waitMs" of the option "leases".`,
    );
  }
  static {
    label(LeaseTimeoutError, "LeaseTimeoutError", "LeaseTimeoutError");
  }
}

/**
 * Other clients changed a watched key during each attempt of `transaction()`. No attempt ran.
 *
 * @advice raise `attempts`, or use a script
 * @section single commands
 */
export class TransactionConflictError extends SluiceError {
  override readonly code: ErrorCode = "TRANSACTION_CONFLICT";
  constructor(attempts: number) {
    super(
      `A watched key changed during each of ${attempts} attempts, so the transaction did not run. Raise "attempts", or use a script.`,
    );
  }
  static {
    label(TransactionConflictError, "TransactionConflictError", "TransactionConflictError");
  }
}

/**
 * The lock expired, or another client deleted or took it. It is the reason of `lock.signal`.
 *
 * @advice stop the work that the lock protects; raise `ttl` if the process or the server pauses for longer
 * @section single commands
 */
export class LockLostError extends SluiceError {
  override readonly code: ErrorCode = "LOCK_LOST";
  constructor() {
    super("The lock is lost: it expired, or another client took it. Stop the work that it protects.");
  }
  static {
    label(LockLostError, "LockLostError", "LockLostError");
  }
}

/**
 * Another client held the lock during the whole waiting time of `lock()`.
 *
 * @advice repeat the call later, or raise `wait`
 * @section single commands
 */
export class LockTimeoutError extends SluiceError {
  override readonly code: ErrorCode = "LOCK_TIMEOUT";
  constructor(waitMs: number) {
    super(`Another client held the lock for ${waitMs} ms. Repeat the call later, or raise "wait".`);
  }
  static {
    label(LockTimeoutError, "LockTimeoutError", "LockTimeoutError");
  }
}

/**
 * The signal of `lock()` was aborted before the lock was free. Its reason is the `cause`.
 *
 * @advice nothing, if the caller meant it; the lock is not held
 * @section single commands
 */
export class LockAbortedError extends AbortError {
  override readonly code: ErrorCode = "ABORTED_BY_SIGNAL";
  constructor(reason: unknown) {
    super("The signal of lock() was aborted, so the lock is not held. Its reason is the cause.", {
      cause: reason,
    });
  }
  static {
    label(LockAbortedError, "LockAbortedError", "AbortError");
  }
}
