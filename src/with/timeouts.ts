/** Provides the code of `commandTimeout`, `blockingTimeout`, `socketTimeout` and `with()`. */

import * as limits from "../client/command-limits";
import { timeouts } from "../client/limiting";
import { socketTimeouts } from "../connection/connection";
import * as socketTimeout from "../connection/socket-timeout";

timeouts.provide(limits);
socketTimeouts.provide(socketTimeout);
