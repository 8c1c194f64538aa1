/**
 * Default values of the options that a link and its connections read. The defaults of a client
 * (`client/options/redis-options.ts`) contain them.
 */

import { DEFAULT_RESEND_POLICY } from "../command/fate";
import { CONNECTION_DEFAULTS } from "../connection/connection-defaults";

export const LINK_DEFAULTS = {
  ...CONNECTION_DEFAULTS,
  port: 6379,
  role: "master",
  maxLossesPerCommand: DEFAULT_RESEND_POLICY.maxLosses,
  retryPolicy: DEFAULT_RESEND_POLICY.retryPolicy,
  watchdog: Object.freeze({ idleMs: 5000, probeTimeoutMs: 2000 }),
} as const;
