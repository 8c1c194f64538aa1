/**
 * All command families.
 */

import { aclHandlers } from "../commands/acl";
import { bitmapHandlers } from "../commands/bitmaps";
import { clientHandlers } from "../commands/clients";
import { connectionHandlers } from "../commands/connection";
import { dumpHandlers } from "../commands/dump";
import { functionHandlers } from "../commands/functions";
import { geoHandlers } from "../commands/geo";
import { hashExpiryHandlers } from "../commands/hash-expiry";
import { hashSetexHandlers } from "../commands/hash-setex";
import { hashHandlers } from "../commands/hashes";
import { hyperLogLogHandlers } from "../commands/hyperloglog";
import { keyHandlers } from "../commands/keys";
import { listHandlers } from "../commands/lists";
import { pubsubHandlers } from "../commands/pubsub";
import { scriptHandlers } from "../commands/scripts";
import { serverHandlers } from "../commands/server";
import { setHandlers } from "../commands/sets";
import { sortHandlers } from "../commands/sort";
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
  ...hashSetexHandlers,
  ...hyperLogLogHandlers,
  ...geoHandlers,
  ...sortHandlers,
  ...dumpHandlers,
  ...functionHandlers,
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
