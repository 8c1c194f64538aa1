/** The version of this package; a test holds it against package.json. */
export const VERSION = "6.0.0";

/** The name and version that a server receives with CLIENT SETINFO. */
export const IDENTITY = { name: "sluice", version: VERSION } as const;
