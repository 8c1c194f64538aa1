/** Provides the code of the option `enableAutoPipelining`. */

import { autoPipelining } from "../client/chain";
import * as part from "../pipeline/auto-pipeliner";

autoPipelining.provide(part);
