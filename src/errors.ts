/**
 * Every error class of the client. Each has a constant `code` and an explicit `name`.
 * Texts that the API fixes stay verbatim; all others say what happened, where, and what to do.
 */

/** Base of all errors made by this client. */
export class SluiceError extends Error {
  override readonly name: string = "SluiceError";
  readonly code: string = "SLUICE";
}

/** The command that an error belongs to. */
export interface ErrorCommand {
  readonly name: string;
  readonly args: readonly (string | Buffer)[];
}

/** An error reply of the server. The message is its whole line. */
export class ReplyError extends Error {
  override readonly name: string = "ReplyError";
  declare command?: ErrorCommand;
  declare previousErrors?: Error[];
}

/** The bytes that arrived are not RESP, or break one of the documented limits. The connection is over. */
export class ParserError extends SluiceError {
  override readonly name: string = "ParserError";
  override readonly code: string = "PROTOCOL";
}
