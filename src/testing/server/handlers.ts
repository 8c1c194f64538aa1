/**
 * All command families.
 */

import { aclHandlers } from "../commands/acl";
import { bitmapHandlers } from "../commands/bitmaps";
import { clientHandlers } from "../commands/clients";
import { clusterHandlers } from "../commands/cluster";
import { connectionHandlers } from "../commands/connection";
import { CONVERSIONS, HASHES, SORTED_SETS, STREAMS } from "../commands/families";
import { functionHandlers } from "../commands/functions";
import { hyperLogLogHandlers } from "../commands/hyperloglog";
import { keyHandlers } from "../commands/keys";
import { listHandlers } from "../commands/lists";
import { pubsubHandlers } from "../commands/pubsub";
import { scriptHandlers } from "../commands/scripts";
import { serverHandlers } from "../commands/server";
import { setHandlers } from "../commands/sets";
import { stringHandlers } from "../commands/strings";
import { transactionHandlers } from "../commands/transactions";
import type { Handlers } from "./model";

export const ALL_HANDLERS: Handlers = {
  ...connectionHandlers,
  ...clientHandlers,
  ...clusterHandlers,
  ...serverHandlers,
  ...keyHandlers,
  ...stringHandlers,
  ...HASHES,
  ...aclHandlers,
  ...listHandlers,
  ...setHandlers,
  ...SORTED_SETS,
  ...bitmapHandlers,
  ...hyperLogLogHandlers,
  ...CONVERSIONS,
  ...scriptHandlers,
  ...functionHandlers,
  ...STREAMS,
  ...transactionHandlers,
  ...pubsubHandlers,
};
