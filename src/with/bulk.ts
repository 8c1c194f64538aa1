/** Provides the code of `bulk()`. */

import { bulks } from "../client/batches";
import * as part from "../pipeline/bulk";

bulks.provide(part);
