/**
 * The connection that will replace a working one. It is opened while the other one is in use, completes its
 * handshake, asks for notices, and subscribes the same names. It reports once that it is ready, or that it
 * failed; it may also fail later.
 */

import type { Connection, ConnectionLife } from "../connection/connection";
import type { ServerInfo } from "../connection/handshake";
import { SubscriptionKind, type Subscriptions } from "../connection/subscriptions";
import { ConnectionClosedError } from "../errors";
import type { AbstractConnector } from "../link/connector";
import type { ExpiringCredentials } from "../link/credentials";
import { Establishment, type EstablishmentDeps, type EstablishmentOwner } from "../link/establishment";
import { failRequests } from "../link/leftovers";
import type { Link } from "../link/link";
import { restoreSubscriptions } from "../link/resubscribe";

export interface SuccessorOwner {
  /** Its handshake is complete; it subscribes next. */
  onHandshake(successor: Successor): void;
  onReady(): void;
  onFailed(error: Error): void;
}

export class Successor implements ConnectionLife, EstablishmentOwner {
  credentials: ExpiringCredentials = {};
  /** The database that it selects. */
  readonly db: number;
  private establishment: Establishment | null = null;
  private error: Error = new ConnectionClosedError();
  private isOver = false;
  private subscribed = "";

  constructor(
    readonly connection: Connection,
    private readonly link: Link,
    private readonly owner: SuccessorOwner,
  ) {
    this.db = link.current.agreed;
  }

  start(connector: AbstractConnector, source: EstablishmentDeps["source"]): void {
    const deps = { options: this.link.options, connector, source, isLoginRefused: false };
    this.establishment = new Establishment(this.connection, deps, this);
    this.establishment.start();
  }

  /** The subscriptions have not changed since this connection subscribed them. */
  get isUpToDate(): boolean {
    return this.subscribed === namesOf(this.link.subscriptions);
  }

  /** It has taken over, or is not needed. Its later events are ignored. */
  finish(): void {
    this.isOver = true;
    this.establishment?.stop();
  }

  abandon(): void {
    this.finish();
    this.connection.destroy();
  }

  // --- ConnectionLife ----------------------------------------------------------------------

  onOpen(): void {
    void this.establishment?.introduce([this.db]);
  }

  onConnectionError(error: Error): void {
    this.error = error;
  }

  onClose(): void {
    failRequests(this.connection.queue.takeAll(), this.error);
    this.fail(this.error);
  }

  // --- EstablishmentOwner ------------------------------------------------------------------

  onEstablished(_info: ServerInfo, credentials: ExpiringCredentials): void {
    const { connection, link } = this;
    this.credentials = credentials;
    connection.markReady();
    this.owner.onHandshake(this);
    this.subscribed = namesOf(link.subscriptions);
    const onRestored = (): void => {
      if (!this.isOver) this.owner.onReady();
    };
    if (link.subscriptions.isEmpty) onRestored();
    else {
      // The current connection keeps the names that this server refuses.
      const names = link.subscriptions.copy();
      restoreSubscriptions(connection, names, (_kind, _name, error) => this.fail(error), onRestored);
    }
  }

  onUnreachable(error: Error): void {
    this.fail(error);
  }

  onRefused(error: Error): void {
    this.fail(error);
  }

  onNamedError(_type: string, error: Error): void {
    this.error = error;
  }

  private fail(error: Error): void {
    if (this.isOver) return;
    this.abandon();
    this.owner.onFailed(error);
  }
}

function namesOf(subscriptions: Subscriptions): string {
  return Object.values(SubscriptionKind)
    .map((kind) =>
      subscriptions
        .names(kind)
        .map((name) => name.toString("hex"))
        .join(),
    )
    .join(";");
}
