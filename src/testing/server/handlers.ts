/**
 * All command families.
 */

import { clientHandlers } from "../commands/clients";
import { connectionHandlers } from "../commands/connection";
import { hashHandlers } from "../commands/hashes";
import { keyHandlers } from "../commands/keys";
import { listHandlers } from "../commands/lists";
import { pubsubHandlers } from "../commands/pubsub";
import { serverHandlers } from "../commands/server";
import { setHandlers } from "../commands/sets";
import { sortedSetAlgebraHandlers } from "../commands/sorted-set-algebra";
import { sortedSetHandlers } from "../commands/sorted-sets";
import { stringHandlers } from "../commands/strings";
import { transactionHandlers } from "../commands/transactions";
import type { Handlers } from "./model";

export const ALL_HANDLERS: Handlers = {
  ...connectionHandlers,
  ...clientHandlers,
  ...serverHandlers,
  ...keyHandlers,
  ...stringHandlers,
  ...hashHandlers,
  ...listHandlers,
  ...setHandlers,
  ...sortedSetHandlers,
  ...sortedSetAlgebraHandlers,
  ...transactionHandlers,
  ...pubsubHandlers,
};
