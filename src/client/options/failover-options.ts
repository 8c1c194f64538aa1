/** Options of a client with several databases: types only, described as in common-options.ts. */

import type { FailoverSettings } from "../../failover/databases";

export interface FailoverOption {
  /**
   * Several databases with the same data, `{ databases, probe, failback }`. The client uses the good one with the greatest
   * weight. `new Redis.Failover(databases, options)` sets it. See docs/failover.md.
   */
  failover?: FailoverSettings | undefined;
}
