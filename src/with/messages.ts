/** Provides the code of `messages()` and `keyspaceEvents()`. */

import * as part from "../client/message-readers";
import { messageReaders } from "../client/streams";

messageReaders.provide(part);
