/** Provides the code of the options `merge` and `coalesce`. */

import { mergers } from "../client/merging";
import * as part from "../merging/merger";

mergers.provide(part);
