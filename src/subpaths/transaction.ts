/** The sub-path `built/transaction`: types only. */

export type { Batches as Transaction } from "../client/types";
