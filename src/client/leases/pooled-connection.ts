/** An extra connection of a client: a separate link with the options of its client. */

import type { Command } from "../../command/command";
import type { MessageListener } from "../../connection/push-router";
import type { SubscriptionGap, SubscriptionKind } from "../../connection/subscriptions";
import type { Borrower, ExtraConnection } from "../../leases/connection-pool";
import type { AbstractConnector } from "../../link/connector";
import { Link } from "../../link/link";
import type { LinkDeps, LinkOptions } from "../../link/link-options";
import { followDb } from "../../link/selected-db";
import type { Message } from "../../protocol/message";
import type { Reply } from "../../protocol/resp-types";

/** The user of a connection that receives the messages of the server. */
export interface Lessee extends MessageListener {
  onGap(gap: SubscriptionGap): void;
  onNameRefused(kind: SubscriptionKind, name: Buffer, error: Error): void;
  onReady(): void;
  onEnd(): void;
}

export class PooledConnection implements ExtraConnection, MessageListener {
  readonly link: Link;
  borrower: Borrower | null = null;
  /** Receives the messages of the server; null: they are ignored. */
  listener: Lessee | null = null;

  constructor(options: LinkOptions, connector: AbstractConnector, deps: LinkDeps) {
    // Its commands arrive while it still connects, so it needs a queue.
    const ownOptions = Object.create(options, { enableOfflineQueue: { value: true } }) as LinkOptions;
    this.link = new Link(ownOptions, connector, depsOf(this, deps));
    this.link.connect().catch(() => {});
  }

  dispatch(command: Command): void {
    this.link.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.link.dispatchBatch(commands);
  }

  useDb(db: number): void {
    followDb(this.link, db);
  }

  get isUsable(): boolean {
    return !this.link.isLeaving;
  }

  /** Closes immediately, because blocked commands have no reply to wait for. */
  close(): void {
    const { connection } = this.link;
    this.link.disconnect();
    connection?.destroy();
  }

  // --- messages of the server --------------------------------------------------------------

  onMessage(message: Message): void {
    this.listener?.onMessage(message);
  }

  onShardLost(channel: Buffer): void {
    this.listener?.onShardLost(channel);
  }

  onOtherPush(kind: string, message: readonly Reply[]): void {
    this.listener?.onOtherPush(kind, message);
  }

  onMonitorLine(line: string): void {
    this.listener?.onMonitorLine(line);
  }
}

/**
 * The client reports errors and traces of an extra connection, but not its state. The lessee learns when it is ready or
 * has ended.
 */
function depsOf(own: PooledConnection, deps: LinkDeps): LinkDeps {
  const { tracer, counts, listener, takeover } = deps;
  return {
    tracer,
    counts,
    credentials: (reason) => deps.credentials(reason),
    listener: {
      onStatus: (status) => {
        if (status === "ready") own.listener?.onReady();
        else if (status === "end") own.listener?.onEnd();
      },
      onNamedError: (type, error) => listener.onNamedError(type, error),
      onSelect() {},
      onGap: (gap) => own.listener?.onGap(gap),
      onNameRefused: (kind, name, error) => own.listener?.onNameRefused(kind, name, error),
    },
    messages: own,
    redirects: (command, error) => {
      const { borrower } = own;
      if (borrower?.isBound) borrower.onRefused(error);
      const isTaken = !(borrower?.isBound && takeover !== null) && deps.redirects(command, error);
      if (isTaken) own.borrower?.onTaken();
      return isTaken;
    },
    takeover: takeover && {
      takesOver: (command) => own.borrower?.isBound !== true && takeover.takesOver(command),
      takeOver: (commands, error) => {
        takeover.takeOver(commands, error);
        own.borrower?.onTaken();
      },
      madeWhole: (commands) => takeover.madeWhole(commands),
    },
  };
}
