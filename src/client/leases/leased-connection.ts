/**
 * A connection of the pool as its lessee sees it: all commands, pipelines, transactions and scripts of the client
 * over one connection that nothing else uses.
 */

import type { EventEmitter } from "node:events";
import { attachOwn, bothForms } from "../../command/commander";
import type { Dispatcher } from "../../command/dispatcher";
import type { CallCounts } from "../../command/promise-completion";
import type { SubscriptionGap, SubscriptionKind } from "../../connection/subscriptions";
import type { Link } from "../../link/link";
import { type ClientSummary, SUMMARY } from "../../observability/redact";
import { PIPELINE_CLASS } from "../../pipeline/pipeline-run";
import type { Message } from "../../protocol/message";
import type { Reply } from "../../protocol/resp-types";
import { callUser } from "../../util/user-code";
import {
  CALLS,
  CHAIN,
  type ClientBase,
  type ClientOptions,
  INITIALIZE,
  LIMITS,
  SOURCE,
} from "../client-base";
import { emitMessage, emitRefusal } from "../events";
import { StreamingClient } from "../streaming/streaming-client";
import { IS_SUBSCRIBED } from "../streaming/streams";
import type { ClientListeners, ReplyMappingMode } from "../types";
import type { Loan } from "./loan";
import type { Lessee } from "./pooled-connection";

const LOAN: unique symbol = Symbol("loan");
const OWNER: unique symbol = Symbol("owner");

type AnyListener = Parameters<EventEmitter["on"]>[1];

/** Listeners with typed arguments. */
export interface LeasedConnection<Mode extends ReplyMappingMode = "legacy"> {
  /** Calls the listener for each message of the subscriptions of this connection. */
  on<Event extends keyof ClientListeners>(event: Event, listener: ClientListeners[Event]): this;
  /** Calls the listener for each event of this name. */
  on(event: string | symbol, listener: AnyListener): this;
  /** Calls the listener for the next event of this name only. */
  once<Event extends keyof ClientListeners>(event: Event, listener: ClientListeners[Event]): this;
  /** Calls the listener for the next event of this name only. */
  once(event: string | symbol, listener: AnyListener): this;
}

/** A leased connection: see `lease()` of the client. */
export class LeasedConnection<Mode extends ReplyMappingMode = "legacy">
  extends StreamingClient<Mode>
  implements Lessee
{
  readonly isCluster = false;
  readonly options: ClientOptions;
  readonly [CHAIN]: Dispatcher;
  readonly [LIMITS]: Link;
  readonly [SOURCE]: ClientBase[typeof SOURCE];
  override readonly [CALLS]: CallCounts;
  private readonly [LOAN]: Loan;
  private readonly [OWNER]: ClientBase<Mode>;

  /** @internal */
  constructor(client: ClientBase<Mode>, loan: Loan) {
    super();
    this[OWNER] = client;
    const { keyPrefix, strictArguments, showFriendlyErrorStack } = client.options;
    const { commandTimeout, blockingTimeout, blockingTimeoutGrace } = client.options;
    const limits = { commandTimeout, blockingTimeout, blockingTimeoutGrace };
    this.options = { keyPrefix, strictArguments, showFriendlyErrorStack, ...limits };
    this[LOAN] = loan;
    this[CHAIN] = loan;
    this[LIMITS] = loan.link;
    const database = { get: () => loan.link.session.selected.db };
    this[SOURCE] = Object.create(client[SOURCE], { database }) as ClientBase[typeof SOURCE];
    this[CALLS] = client[CALLS];
    this[INITIALIZE]();
    for (const name of [...Object.keys(client.scriptsSet), ...client.addedBuiltinSet]) {
      for (const [method] of bothForms(name)) attachOwn(this, method, Reflect.get(client, method));
    }
    loan.connection.listener = this;
  }

  /**
   * Returns the connection to the pool. Watches, open transactions, subscriptions and the selected database are undone
   * first; after other changes (CLIENT SETNAME, AUTH) the connection is closed. Later commands reject with the code
   * `LEASE_RELEASED`.
   */
  release(): Promise<void> {
    return this[LOAN].release();
  }

  /** Releases the connection at the end of the block of `await using own = await redis.lease()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this[LOAN].release();
  }

  override [PIPELINE_CLASS](): ReturnType<ClientBase[typeof PIPELINE_CLASS]> {
    return this[OWNER][PIPELINE_CLASS]();
  }

  [IS_SUBSCRIBED](...name: Parameters<Link["subscriptions"]["has"]>): boolean {
    return this[LOAN].link.subscriptions.has(...name);
  }

  [SUMMARY](): ClientSummary {
    const { server, status } = this[LOAN].link;
    return { server, status };
  }

  // --- messages of the server --------------------------------------------------------------

  onMessage(message: Message): void {
    emitMessage(this, message);
  }

  onShardLost(): void {
    callUser(() => this.emit("moved"));
  }

  onOtherPush(kind: string, message: readonly Reply[]): void {
    callUser(() => this.emit(`push:${kind}`, message));
  }

  onMonitorLine(): void {}

  onGap(gap: SubscriptionGap): void {
    callUser(() => this.emit("gap", gap));
  }

  onNameRefused(kind: SubscriptionKind, name: Buffer, error: Error): void {
    emitRefusal(this, kind, name, error);
  }

  onReady(): void {
    callUser(() => this.emit("ready"));
  }

  onEnd(): void {
    callUser(() => this.emit("end"));
  }
}
