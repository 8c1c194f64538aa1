/** Follows replies that change the state of a connection: databases, protocol, RESET, MONITOR, QUIT. */

import { type Command, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import type { StateFollower } from "../connection/connection";
import type { Subscriptions } from "../connection/subscriptions";
import type { Reply } from "../protocol/resp-types";
import type { CurrentConnection } from "./current-connection";
import { OpenTransaction } from "./open-transaction";

export interface StateReplyDeps {
  readonly current: CurrentConnection;
  readonly subscriptions: Subscriptions;
  readonly fieldsets: { prepareAll(): void };
  /** The server is about to close. */
  onQuit(): void;
  /** The server sends the commands that it executes. */
  onMonitoring(): void;
  /** The reply has been processed. */
  updateDirect(): void;
}

export class StateReplies implements StateFollower {
  constructor(private readonly deps: StateReplyDeps) {}

  follow(command: Command, reply: Reply): void {
    const { deps } = this;
    const { connection } = deps.current;
    const { flags, lowerName } = command.spec;
    if (lowerName === "hello") {
      const version = Number(command.args[0]);
      if (version === 2 || version === 3) connection?.setProtocol(version);
    }
    // The handshake judges its other replies itself.
    if (command.origin === Origin.Connection) return;
    if ((flags & CommandFlag.Exec) !== 0 && command.group instanceof OpenTransaction)
      command.group.nameErrors(reply);
    // "QUEUED" inside a transaction.
    if ((flags & CommandFlag.Select) !== 0 && String(reply) === "OK")
      deps.current.agreed = Number(command.args[0]);
    if ((flags & CommandFlag.Reset) !== 0) {
      deps.subscriptions.clear();
      connection?.setProtocol(2);
      deps.fieldsets.prepareAll();
    }
    if ((flags & CommandFlag.Monitor) !== 0) {
      if (connection !== null) connection.isMonitoring = true;
      deps.onMonitoring();
    }
    if ((flags & CommandFlag.Quit) !== 0) deps.onQuit();
    deps.updateDirect();
  }
}
