/**
 * The common part of the clients that lend connections, `Redis` and `Cluster`: transactions, locks and consumers on
 * connections of their own, and the end of a client.
 */

import type { ExecReply, ReplyRows } from "../../command/generated/signatures";
import { LEND } from "../client-base";
import { reportSilently } from "../events";
import {
  type ConsumeHandlerOptions,
  type ConsumeOptions,
  consuming,
  type Keys,
  type LeasedConnection,
  type LendTerms,
  type Loan,
  type Lock,
  type LockOptions,
  leasing,
  locking,
  type MessageHandler,
  type StreamMessages,
  type StreamValue,
  type TransactionOptions,
  type Unsent,
} from "../late-features";
import { StreamingClient } from "../streaming/streaming-client";
import type { ReplyMappingMode } from "../types";

export abstract class LendingClient<Mode extends ReplyMappingMode = "legacy"> extends StreamingClient<Mode> {
  abstract readonly status: string;
  abstract disconnect(): void;
  abstract [LEND](slot: () => number, terms: LendTerms): Promise<Loan>;

  /**
   * Watches the keys, calls the function, and runs the transaction that it returns. Repeats all of this if a watched key has
   * changed. Rejects with the code `TRANSACTION_CONFLICT` after the last attempt. On a cluster, all keys must be in one slot.
   * @example
   * await redis.transaction("visits", async (own) => own.multi().set("visits", Number(await own.get("visits")) + 1));
   */
  transaction<Rows extends ReplyRows>(
    keys: Keys,
    work: (own: LeasedConnection<Mode>) => Unsent<Mode, Rows> | Promise<Unsent<Mode, Rows>>,
    options?: TransactionOptions,
  ): Promise<ExecReply<Rows>> {
    return leasing.get().transaction<Mode, Rows>(this, keys, work, options);
  }

  /**
   * Acquires the lock when no other client holds it, and renews it until `release()` or the end of an `await using` block.
   * Rejects with the code `LOCK_TIMEOUT` after `wait`. See docs/locks.md for the guarantees and limits of locks.
   * @example
   * const lock = await redis.lock("order:7", { ttl: 5000 });
   * await lock.release(); // true
   */
  lock(key: string, options?: LockOptions): Promise<Lock> {
    return locking.get().lock(this, key, options);
  }

  /**
   * Reads messages of a consumer group. A `for await` loop acknowledges a message when it requests the next one. A handler
   * can process several messages at the same time. On a cluster, streams may be in any slot; those of one slot share a connection.
   * See docs/consumers.md.
   * @example
   * await redis.xadd("orders", "*", "item", "tea");
   * for await (const message of redis.consume({ stream: "orders", group: "billing", consumer: "worker-1" })) {
   *   message.fields; // { item: "tea" }
   *   await message.ack();
   *   break;
   * }
   */
  consume<Buffers extends boolean = false>(
    options: ConsumeOptions<Buffers>,
  ): StreamMessages<StreamValue<Buffers>>;
  consume<Buffers extends boolean = false>(
    options: ConsumeHandlerOptions<Buffers>,
    handler: MessageHandler<StreamValue<Buffers>>,
  ): Promise<void>;
  consume(options: ConsumeOptions, handler?: MessageHandler<never>): unknown {
    return consuming.get().consume(this, options, handler);
  }

  /** Emits an event that has listeners; an `error` without a listener is printed, never thrown. */
  silentEmit(event: string, ...args: unknown[]): boolean {
    return reportSilently(this, event, args);
  }

  /** Closes the client at the end of the block of `await using redis = new Redis()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.status !== "end") await this.quit().catch(() => this.disconnect());
  }
}
