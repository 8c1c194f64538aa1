/**
 * Streams and their consumer groups.
 */

import type { Handlers } from "../server/model";
import { streamDeletionHandlers } from "./stream-deletion";
import { streamGroupHandlers } from "./stream-groups";
import { streamInfoHandlers } from "./stream-info";
import { streamHandlers } from "./streams";

export const STREAMS: Handlers = {
  ...streamDeletionHandlers,
  ...streamGroupHandlers,
  ...streamInfoHandlers,
  ...streamHandlers,
};
