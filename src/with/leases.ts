/** Provides the code of `lease()`, `withConnection()`, `transaction()` and the option `blockingConnections`. */

import { leasing } from "../client/late-features";
import * as part from "../client/leases/leasing";

leasing.provide(part);
