/** The features of a client that are loaded on first use. */

import { LatePart } from "../util/late-part";

export type * from "./consumers/consume";
export type * from "./leases/leasing";
export type * from "./locks/lock";

export const leasing = new LatePart(
  "leases",
  () => require("./leases/leasing") as typeof import("./leases/leasing"),
);

export const locking = new LatePart("locks", () => require("./locks/lock") as typeof import("./locks/lock"));

export const consuming = new LatePart(
  "consumers",
  () => require("./consumers/consume") as typeof import("./consumers/consume"),
);
