/** The values of options that a connection uses where an option is absent. */
export const CONNECTION_DEFAULTS = {
  disconnectTimeout: 2000,
  replyMapping: "legacy",
  flushPolicy: "adaptive",
  /** The size at which a flush ends. */
  highWaterBytes: 256 * 1024,
} as const;
