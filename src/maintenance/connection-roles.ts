/**
 * A connection of a movable link changes its role: it is the next one, then the current one, then a retired one. Its
 * events and messages follow the role.
 */

import type { Connection, ConnectionDeps, ConnectionLife } from "../connection/connection";
import type { MessageListener } from "../connection/push-router";
import { Subscriptions } from "../connection/subscriptions";
import type { Message } from "../protocol/message";
import type { Reply } from "../protocol/resp-types";
import { isNotice } from "./notices";

/** Receives the notices and messages of one connection of the link. */
export interface NoticeHearer {
  onPush(message: readonly Reply[]): void;
  onMessage(connection: Connection | null, message: Message, listener: MessageListener): void;
}

/** Passes the events of a connection to the link, or to the object that currently owns the connection. */
export class ChangeableLife implements ConnectionLife {
  constructor(public target: ConnectionLife) {}

  onOpen(): void {
    this.target.onOpen();
  }

  onConnectionError(error: Error): void {
    this.target.onConnectionError?.(error);
  }

  onClose(): void {
    this.target.onClose();
  }
}

/** The collaborators of one connection, some of which change with its role. */
export interface RoleDeps extends ConnectionDeps {
  readonly life: ChangeableLife;
  subscriptions: Subscriptions;
}

/** The connection records its own subscriptions, because those of the link may change meanwhile. */
export function becomeNext(role: RoleDeps, life: ConnectionLife): void {
  role.life.target = life;
  role.subscriptions = new Subscriptions();
}

export function becomeCurrent(role: RoleDeps, link: ConnectionLife & Pick<RoleDeps, "subscriptions">): void {
  role.life.target = link;
  role.subscriptions = link.subscriptions;
}

/** Passes notices and messages of one connection to the mover, and all pushes to the link's listener. */
export class Ear implements MessageListener {
  connection: Connection | null = null;

  constructor(
    private readonly hearer: NoticeHearer,
    private readonly listener: MessageListener,
  ) {}

  onMessage(message: Message): void {
    this.hearer.onMessage(this.connection, message, this.listener);
  }

  onShardLost(channel: Buffer): void {
    this.listener.onShardLost(channel);
  }

  onOtherPush(kind: string, message: readonly Reply[]): void {
    if (isNotice(kind)) this.hearer.onPush(message);
    this.listener.onOtherPush(kind, message);
  }

  onMonitorLine(line: string): void {
    this.listener.onMonitorLine(line);
  }
}
