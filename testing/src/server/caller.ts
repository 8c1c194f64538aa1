/**
 * The common part of connections and scripts as callers of commands.
 */

import type { Database } from "../keyspace/database";
import type { Protocol } from "../protocol/reply-writer";
import type { Caller, ClientSession, ServerEngine } from "./model";
import type { User } from "./user";

export abstract class CallerState implements Caller {
  protocol: Protocol = 2;
  databaseIndex = 0;
  user: User;
  isBatch = false;
  abstract readonly session: ClientSession | null;
  abstract readonly isScript: boolean;

  constructor(readonly engine: ServerEngine) {
    this.user = engine.acl.defaultUser;
  }

  get database(): Database {
    return this.engine.database(this.databaseIndex);
  }
}
