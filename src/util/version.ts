/** The version of this package; a test compares it with package.json. */
export const VERSION = "6.0.0";

/** The name that a server receives with CLIENT SETINFO. */
export const NAME = "sluice";
