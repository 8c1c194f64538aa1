/**
 * Sorted sets, and places, which are kept in them.
 */

import type { Handlers } from "../server/model";
import { geoHandlers } from "./geo";
import { sortedSetAlgebraHandlers } from "./sorted-set-algebra";
import { sortedSetHandlers } from "./sorted-sets";

export const SORTED_SETS: Handlers = { ...geoHandlers, ...sortedSetAlgebraHandlers, ...sortedSetHandlers };
