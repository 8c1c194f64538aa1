/** The error classes of the readers of messages and keyspace events. The rules of errors.ts apply. */

import { type ErrorCode, SluiceError } from "../errors";
import { label } from "../util/label";

function shownNames([first, ...others]: readonly string[]): string {
  return others.length === 0 ? `"${first}"` : `"${first}" and ${others.length} more`;
}

/**
 * A reader of `redis.messages()` with `onOverflow: "error"` was too slow, and its buffer was full. The reader has
 * unsubscribed. It throws this error after the buffered entries.
 *
 * @advice read faster, raise `maxBuffered`, or use a stream if no message may be lost
 * @section single commands
 */
export class MessagesOverflowError extends SluiceError {
  constructor(
    readonly names: readonly string[],
    maxBuffered: number,
  ) {
    super(
      `The reader of ${shownNames(names)} had ${maxBuffered} unread entries when another message arrived, so it has unsubscribed. Read faster, or raise "maxBuffered".`,
    );
  }
}

/**
 * A server does not send the keyspace notifications that `keyspaceEvents()` needs. The reader has unsubscribed.
 *
 * @advice set `notify-keyspace-events` on every server, for example to `"KEA"`
 * @section single commands
 */
export class KeyspaceEventsOffError extends SluiceError {
  constructor(server: string, flags: string, needed: string) {
    super(
      `The server ${server} does not send the keyspace notifications of keyspaceEvents(): its notify-keyspace-events is "${flags}". Set it to "${needed}" and the classes of events, for example with CONFIG SET notify-keyspace-events "${needed}A", on every server and in its configuration file.`,
    );
  }
}

label<ErrorCode>(null, {
  KEYSPACE_EVENTS_OFF: { KeyspaceEventsOffError },
  MESSAGES_OVERFLOW: { MessagesOverflowError },
});
