/**
 * The values of options that a link and its connections use where an option is absent. The defaults of a client
 * (`client/options/redis-options.ts`) contain them.
 */

import { DEFAULT_RESEND_POLICY } from "../command/fate";

export const LINK_DEFAULTS = {
  port: 6379,
  role: "master",
  disconnectTimeout: 2000,
  maxLossesPerCommand: DEFAULT_RESEND_POLICY.maxLosses,
  retryPolicy: DEFAULT_RESEND_POLICY.retryPolicy,
  replyMapping: "legacy",
  flushPolicy: "adaptive",
  /** The bytes of one flush. */
  highWaterBytes: 256 * 1024,
  watchdog: Object.freeze({ idleMs: 5000, probeTimeoutMs: 2000 }),
} as const;
