/** The common part of the clients and of leased connections: scans of a key, messages and keyspace notifications. */

import { ClientBase } from "../client-base";
import type { ReplyMappingMode } from "../types";
import {
  IS_SUBSCRIBED,
  type KeyspaceEvents,
  type KeyspaceEventsOptions,
  type Messages,
  type MessagesOptions,
  openKeyspaceEvents,
  openMessages,
  openScan,
  type ScanStream,
  type ScanStreamOptions,
  type SubscribingClient,
} from "./streams";

export abstract class StreamingClient<Mode extends ReplyMappingMode = "legacy"> extends ClientBase<Mode> {
  abstract [IS_SUBSCRIBED](...name: Parameters<SubscribingClient[typeof IS_SUBSCRIBED]>): boolean;

  /** Members of a set as a Readable; chunks are arrays. */
  sscanStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "sscan", key, redis: this });
  }

  sscanBufferStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "sscanBuffer", key, redis: this });
  }

  /** Fields and values of a hash as a Readable; chunks are flat arrays. */
  hscanStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "hscan", key, redis: this });
  }

  hscanBufferStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "hscanBuffer", key, redis: this });
  }

  /** Members and scores of a sorted set as a Readable; chunks are flat arrays. */
  zscanStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "zscan", key, redis: this });
  }

  zscanBufferStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "zscanBuffer", key, redis: this });
  }

  /**
   * Subscribes, and returns a reader: an async iterator of messages and gaps, or, with its `listen()`, a listener for
   * these names only. Readers of a name share the subscription, and the last one to close ends it.
   *
   * @example
   * const news = redis.messages(["news", "sport"], { maxBuffered: 100 });
   * await news.ready;
   * await news.close();
   */
  messages(names: string | readonly string[], options: MessagesOptions & { buffers: true }): Messages<Buffer>;
  messages(names: string | readonly string[], options?: MessagesOptions): Messages;
  messages(names: string | readonly string[], options?: MessagesOptions): unknown {
    return openMessages(this, names, options);
  }

  /**
   * Subscribes to keyspace notifications, and returns a reader of them: an async iterator of events and gaps, or, with
   * its `listen()`, a listener. On a cluster, it covers all masters. It rejects with the code `KEYSPACE_EVENTS_OFF` if a
   * server does not send them.
   *
   * @example
   * await redis.config("SET", "notify-keyspace-events", "KEA");
   * const expired = redis.keyspaceEvents({ events: "expired" });
   * await expired.ready;
   * await expired.close();
   */
  keyspaceEvents(options?: KeyspaceEventsOptions): KeyspaceEvents {
    return openKeyspaceEvents(this, options);
  }
}
