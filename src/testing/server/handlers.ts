/**
 * All command families.
 */

import { aclHandlers } from "../commands/acl";
import { bitmapHandlers } from "../commands/bitmaps";
import { clientHandlers } from "../commands/clients";
import { connectionHandlers } from "../commands/connection";
import { hashExpiryHandlers } from "../commands/hash-expiry";
import { hashHandlers } from "../commands/hashes";
import { keyHandlers } from "../commands/keys";
import { listHandlers } from "../commands/lists";
import { pubsubHandlers } from "../commands/pubsub";
import { scriptHandlers } from "../commands/scripts";
import { serverHandlers } from "../commands/server";
import { setHandlers } from "../commands/sets";
import { sortedSetAlgebraHandlers } from "../commands/sorted-set-algebra";
import { sortedSetHandlers } from "../commands/sorted-sets";
import { streamGroupHandlers } from "../commands/stream-groups";
import { streamInfoHandlers } from "../commands/stream-info";
import { streamHandlers } from "../commands/streams";
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
  ...hashExpiryHandlers,
  ...aclHandlers,
  ...listHandlers,
  ...setHandlers,
  ...sortedSetHandlers,
  ...sortedSetAlgebraHandlers,
  ...bitmapHandlers,
  ...scriptHandlers,
  ...streamHandlers,
  ...streamGroupHandlers,
  ...streamInfoHandlers,
  ...transactionHandlers,
  ...pubsubHandlers,
};
