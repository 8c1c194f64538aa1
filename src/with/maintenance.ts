/** Provides the code of the option `maintenance`. */

import { movers } from "../client/maintenance";
import * as part from "../maintenance/mover";

movers.provide(part);
