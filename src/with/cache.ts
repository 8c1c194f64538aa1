/** Provides the code of the option `cache`. */

import * as part from "../client/caching";
import { caching } from "../client/chain";

caching.provide(part);
