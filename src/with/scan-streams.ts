/** Provides the code of `scanStream()`, its siblings, and scans of a whole cluster. */

import { scanStreams } from "../client/streaming/streams";
import * as part from "../streaming/scan-stream";

scanStreams.provide(part);
