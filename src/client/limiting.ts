/** The limits that options and `with()` set for the commands of a client. Their code is loaded on first use. */

import { LatePart } from "../util/late-part";
import type { CallLimits, CallSettings, LimitContext, Limiter, LimitOptions } from "./command-limits";

export type { CallLimits, CallSettings, LimitContext, Limiter, LimitOptions };

export const timeouts = new LatePart(
  "timeouts",
  () => require("./command-limits") as typeof import("./command-limits"),
);

/** Whether an option limits all commands of a client. */
export function isLimited({ commandTimeout, blockingTimeout }: LimitOptions): boolean {
  return typeof commandTimeout === "number" || (typeof blockingTimeout === "number" && blockingTimeout > 0);
}

/** The prototype of the views that `with()` returns. */
export function makeViewPrototype<Client extends object>(client: Client): Client {
  return timeouts.get().makeViewPrototype(client);
}
