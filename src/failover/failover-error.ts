/** The error class of the option `failover`. The rules of errors.ts apply. */

import { type ErrorCode, SluiceError } from "../errors";
import { label } from "../util/label";

/**
 * With the option `failover`, the probes of the active database have failed. The client continues with another one.
 *
 * @advice find out why the database failed; commands in flight follow the option `retryPolicy`
 * @section connections
 */
export class DatabaseLostError extends SluiceError {
  constructor(
    /** `host:port` of the lost database. */
    readonly server: string,
    next: string,
  ) {
    super(
      `${server} has not answered its probes for a second. The client continues with ${next}. Commands in flight follow the option "retryPolicy".`,
    );
  }
}

label<ErrorCode>(null, { DATABASE_LOST: { DatabaseLostError } });
