/** Provides the code of `consume()`, which reads on a leased connection. */

import "./leases";
import * as part from "../client/consumers/consume";
import { consuming } from "../client/late-features";

consuming.provide(part);
