/** The features of a client that are loaded on first use. */

import type {
  ConsumeHandlerOptions,
  ConsumeOptions,
  MessageHandler,
  StreamMessages,
  StreamValue,
} from "./consumers/consume";
import type {
  ExecReply,
  Keys,
  LeasedConnection,
  LeaseOptions,
  LendTerms,
  Loan,
  PooledConnection,
  ReplyRows,
  TransactionOptions,
  Unsent,
} from "./leasing";
import type { Lock, LockOptions } from "./locks/lock";

export type {
  ConsumeHandlerOptions,
  ConsumeOptions,
  ExecReply,
  Keys,
  LeasedConnection,
  LeaseOptions,
  LendTerms,
  Loan,
  Lock,
  LockOptions,
  MessageHandler,
  PooledConnection,
  ReplyRows,
  StreamMessages,
  StreamValue,
  TransactionOptions,
  Unsent,
};

/** `lease()`, `withConnection()`, `transaction()`, and the pool of their connections. */
export function leasing(): typeof import("./leasing") {
  return require("./leasing") as typeof import("./leasing");
}

/** `lock()`. */
export function locking(): typeof import("./locks/lock") {
  return require("./locks/lock") as typeof import("./locks/lock");
}

/** `consume()`. */
export function consuming(): typeof import("./consumers/consume") {
  return require("./consumers/consume") as typeof import("./consumers/consume");
}
