/** Provides the code of the option `failover` and of `Failover`. */

import "./maintenance";
import { failovers } from "../client/failover/failover-parts";
import * as part from "../failover/failover-connector";

failovers.provide(part);
