/**
 * The interface of the parser's owner. The parser calls it in the order in which replies end on the wire; a
 * sink must not throw.
 */

import type { ParserError } from "../errors";
import type { Message } from "./message";
import type { Reply } from "./resp-types";

export interface ReplySink {
  /** Returns the `Decode` bits; called at the first byte of every top-level reply other than a push. */
  nextDecoding(): number;
  /** A complete top-level reply. */
  onReply(value: Reply): void;
  /** A top-level error reply, or a reply that is too long to be decoded: only its command fails. */
  onErrorReply(error: Error): void;
  /**
   * A message of pub/sub in its usual form, where one is allowed (a push, or `Decode.Messages`). Other forms
   * arrive through `onReply` or `onPush`. It is valid until the call returns.
   */
  onMessage(message: Message): void;
  /** A complete push message (`>`), its strings as Buffers. */
  onPush(message: Reply[]): void;
  /** The bytes are not RESP or exceed a limit. The parser ends; called once. */
  onParserError(error: ParserError): void;
}
