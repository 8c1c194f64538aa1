/** The features of a client that are loaded on first use. */

import { LatePart } from "../../util/late-part";

export type {
  ConsumeHandlerOptions,
  ConsumeOptions,
  MessageHandler,
  StreamMessages,
  StreamValue,
} from "../consumers/consume";
export type { Lock, LockOptions } from "../locks/lock";
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

/** `lease()`, `withConnection()`, `transaction()`, and the pool of their connections. */
export const leasing = new LatePart("leases", () => require("./leasing") as typeof import("./leasing"));

/** `lock()`. */
export const locking = new LatePart(
  "locks",
  () => require("../locks/lock") as typeof import("../locks/lock"),
);

/** `consume()`. */
export const consuming = new LatePart(
  "consumers",
  () => require("../consumers/consume") as typeof import("../consumers/consume"),
);
