/**
 * The interface that the parser needs from its owner. The parser calls these in the order in which replies
 * end on the wire; a sink must not throw.
 */

import type { ParserError } from "../errors";
import type { Message } from "./message";
import type { Reply } from "./resp-types";

export interface ReplySink {
  /**
   * Asked once at the first byte of every top-level reply that is not a push:
   * the `Decode` bits for this reply.
   */
  nextDecoding(): number;
  /** A whole top-level reply. */
  onReply(value: Reply): void;
  /**
   * A top-level error reply (`-` or `!`), or a reply that could not be decoded although the
   * protocol is intact (longer than the longest string of the engine): it ends its command only.
   */
  onErrorReply(error: Error): void;
  /**
   * A message of pub/sub in its usual form, where one may come (a push, or `Decode.Messages`). Any
   * other form comes by `onReply` or `onPush`. It is over when the call returns.
   */
  onMessage(message: Message): void;
  /** A whole push message (`>`), its strings as Buffers. */
  onPush(message: Reply[]): void;
  /** The bytes are not RESP or break a limit. The parser is dead from here on; called once. */
  onParserError(error: ParserError): void;
}
