/**
 * A source of commands: a connection, or a script. Handlers see this and never a socket.
 */

import type { Database } from "../keyspace/database";
import type { Protocol } from "../protocol/reply-writer";
import type { User } from "./user";
import type { Engine } from "./engine";
import type { Session } from "./session";

export abstract class Caller {
  /** How replies are shaped: HELLO, or `redis.setresp` in a script. */
  protocol: Protocol = 2;
  databaseIndex = 0;
  user: User;
  /** Inside EXEC, or a script: nothing may wait. */
  isBatch = false;
  /** The connection behind it; null for a script that the test itself runs. */
  abstract readonly session: Session | null;
  abstract readonly isScript: boolean;

  constructor(readonly engine: Engine) {
    this.user = engine.acl.defaultUser;
  }

  get database(): Database {
    return this.engine.database(this.databaseIndex);
  }
}
