/** Provides the code of `redis.json`, `redis.ft` and the other families of module commands. */

import { moduleMethods } from "../modules/families";
import * as part from "../modules/methods";

moduleMethods.provide(part);
