/**
 * Families of which several files have a part: hashes, sorted sets with places, streams, and what
 * turns values into others.
 */

import type { Handlers } from "../server/model";
import { dumpHandlers } from "./dump";
import { geoHandlers } from "./geo";
import { hashExpiryHandlers } from "./hash-expiry";
import { hashSetexHandlers } from "./hash-setex";
import { hashHandlers } from "./hashes";
import { sortHandlers } from "./sort";
import { sortedSetAlgebraHandlers } from "./sorted-set-algebra";
import { sortedSetHandlers } from "./sorted-sets";
import { streamDeletionHandlers } from "./stream-deletion";
import { streamGroupHandlers } from "./stream-groups";
import { streamInfoHandlers } from "./stream-info";
import { streamHandlers } from "./streams";

export const HASHES: Handlers = { ...hashHandlers, ...hashExpiryHandlers, ...hashSetexHandlers };
export const SORTED_SETS: Handlers = { ...sortedSetHandlers, ...sortedSetAlgebraHandlers, ...geoHandlers };
export const STREAMS: Handlers = {
  ...streamHandlers,
  ...streamDeletionHandlers,
  ...streamGroupHandlers,
  ...streamInfoHandlers,
};
export const CONVERSIONS: Handlers = { ...sortHandlers, ...dumpHandlers };
