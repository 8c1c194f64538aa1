/**
 * The error classes of leased connections. The rules of errors.ts apply.
 */

import { type ErrorCode, SluiceError } from "../errors";
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
