/**
 * The error classes of leased connections, locks and consumers. The rules of errors.ts apply.
 */

import { AbortError, type ErrorCode, SluiceError } from "../errors";
import { label } from "../util/label";

/**
 * A leased connection was used after its release. The command was not sent.
 *
 * @advice await all commands of the connection before you release it, and do not use it afterwards
 * @section single commands
 */
export class LeaseReleasedError extends SluiceError {
  constructor() {
    super(
      "The leased connection was released, so the command was not sent. Send it before release(), or use the client.",
    );
  }
}

/**
 * All connections of the pool were leased during the whole waiting time.
 *
 * @advice release connections sooner, or raise `leases.max` or `leases.waitMs`
 * @section single commands
 */
export class LeaseTimeoutError extends SluiceError {
  constructor(max: number, waitMs: number) {
    super(
      `All ${max} connections of the pool stayed leased for ${waitMs} ms. Release them sooner, or raise "max" or "waitMs" of the option "leases".`,
    );
  }
}

/**
 * The signal of `lease()` was aborted before a connection was free. `cause` is the reason of the signal.
 *
 * @advice none is needed; no connection is leased
 * @section single commands
 */
export class LeaseAbortedError extends AbortError {
  constructor(reason: unknown) {
    super("The signal of lease() was aborted, so no connection is leased. The cause is its reason.", {
      cause: reason,
    });
  }
}

/**
 * Other clients changed a watched key during each attempt of `transaction()`. No attempt ran.
 *
 * @advice raise `attempts`, or use a script
 * @section single commands
 */
export class TransactionConflictError extends SluiceError {
  constructor(attempts: number) {
    super(
      `A watched key changed during each of ${attempts} attempts, so the transaction did not run. Raise "attempts", or use a script.`,
    );
  }
}

/**
 * The lock expired, or another client deleted or took it. It is the reason of `lock.signal`.
 *
 * @advice stop the work that the lock protects; raise `ttl` if the process or the server pauses for longer
 * @section single commands
 */
export class LockLostError extends SluiceError {
  constructor(key: string) {
    super(
      `The lock "${key}" is lost: it expired, or another client deleted or took it. Stop the work that it protects.`,
    );
  }
}

/**
 * Another client held the lock during the whole waiting time of `lock()`, or the server did not reply.
 *
 * @advice repeat the call later, or raise `wait`; without a reply, check the connection to the server
 * @section single commands
 */
export class LockTimeoutError extends SluiceError {
  constructor(key: string, waitMs: number, wasHeld: boolean) {
    super(
      wasHeld
        ? `Another client holds the lock "${key}", which was not free within ${waitMs} ms. Repeat the call later, or raise "wait".`
        : `The server did not reply within ${waitMs} ms, so the lock "${key}" was not acquired. Check the connection to the server, or raise "wait".`,
    );
  }
}

/**
 * The signal of `lock()` was aborted before the lock was free. `cause` is the reason of the signal.
 *
 * @advice none is needed; the lock is not held
 * @section single commands
 */
export class LockAbortedError extends AbortError {
  constructor(reason: unknown) {
    super("The signal of lock() was aborted, so the lock is not held. The cause is its reason.", {
      cause: reason,
    });
  }
}

/**
 * The stream of `redis.consume()`, or its consumer group, does not exist, and the option `create` is false. The error
 * reply is the `cause`.
 *
 * @advice create the group with XGROUP CREATE, or remove `create: false`
 * @section single commands
 */
export class ConsumerGroupMissingError extends SluiceError {
  constructor(group: string, cause: unknown) {
    super(
      `The stream or the consumer group "${group}" does not exist, and consume() has the option "create: false". Create the group with XGROUP CREATE, or remove the option.`,
      { cause },
    );
  }
}

/**
 * Another consumer has claimed the message, because this process was paused or disconnected for longer than `claimIdleMs`.
 * It is the reason of `message.signal`.
 *
 * @advice stop the work on the message; raise `claimIdleMs` if the process or the server pauses for longer
 * @section single commands
 */
export class MessageTakenError extends SluiceError {
  constructor() {
    super(
      'Another consumer has claimed the message, because it was not renewed within "claimIdleMs". Stop the work on it.',
    );
  }
}

// The API fixes the names that differ from the class.
label<ErrorCode>(null, {
  CONSUMER_GROUP_MISSING: { ConsumerGroupMissingError },
  LEASE_RELEASED: { LeaseReleasedError },
  LEASE_TIMEOUT: { LeaseTimeoutError },
  LOCK_LOST: { LockLostError },
  LOCK_TIMEOUT: { LockTimeoutError },
  MESSAGE_TAKEN: { MessageTakenError },
  TRANSACTION_CONFLICT: { TransactionConflictError },
});
label<ErrorCode>("AbortError", { ABORTED_BY_SIGNAL: { LeaseAbortedError, LockAbortedError } });
