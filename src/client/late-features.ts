/** The features of a client that are loaded on first use. */

export type {
  ConsumeHandlerOptions,
  ConsumeOptions,
  MessageHandler,
  StreamMessages,
  StreamValue,
} from "./consumers/consume";
export type {
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
export type { Lock, LockOptions } from "./locks/lock";

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
