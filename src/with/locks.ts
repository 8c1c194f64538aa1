/** Provides the code of `lock()`, whose waiters lease a connection. */

import "./leases";
import { locking } from "../client/late-features";
import * as part from "../client/locks/lock";

locking.provide(part);
