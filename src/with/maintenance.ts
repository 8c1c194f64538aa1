/** Provides the code of the option `maintenance`. */

import { movers } from "../client/maintenance/maintenance";
import * as part from "../maintenance/mover";

movers.provide(part);
