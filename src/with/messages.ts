/** Provides the code of `messages()` and `keyspaceEvents()`. */

import * as part from "../client/streaming/message-readers";
import { messageReaders } from "../client/streaming/streams";

messageReaders.provide(part);
