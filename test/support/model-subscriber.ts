/** One connection for subscriptions of a cluster client, without a server: it does what its test says. */

import type { ClusterNode } from "../../src/cluster/cluster-node";
import type { SubscriberClient, SubscriberSupervisor } from "../../src/cluster/subscriber-connection";
import type { ReconcilerDeps, ReconcilerOwner } from "../../src/cluster/subscription-reconciler";
import type { Command } from "../../src/command/command";
import { SubscriptionKind, Subscriptions } from "../../src/connection/subscriptions";
import { ConnectionClosedError } from "../../src/errors";
import type { Message } from "../../src/protocol/message";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;
const KINDS: Readonly<Record<string, SubscriptionKind>> = {
  "": SubscriptionKind.Channel,
  p: SubscriptionKind.Pattern,
  s: SubscriptionKind.Shard,
};

/** A message that knows whether it has reached the owner. */
type ModelMessage = Message & { isHeard: boolean };

/** An owner that only notes which messages reach it. */
export const DEAF: Omit<ReconcilerOwner, "open"> = {
  onMessage: (message) => {
    (message as ModelMessage).isHeard = true;
  },
  onNodeError: () => {},
  onRefused: () => {},
  onGap: () => {},
};

/** Modules of a cluster that do nothing. */
export const IDLE_MODULES: ReconcilerDeps = {
  slots: { learn: () => {} },
  redirector: { isActive: true, options: { maxRedirections: 16 } },
  refresher: { request: () => {}, askAtOnce: () => {} },
};

export class ModelSubscriber {
  given: Command[] = [];
  readonly subscriptions = new Subscriptions();
  status: "connecting" | "ready" | "end" = "connecting";
  readonly client: SubscriberClient;
  /** How often it was told to connect. */
  connects = 0;
  /** It was told to disconnect: it ends when its test lets it. */
  isLeaving = false;

  constructor(
    readonly node: ClusterNode,
    private readonly supervisor: SubscriberSupervisor,
  ) {
    const self = this;
    const link = {
      subscriptions: this.subscriptions,
      options: { autoResubscribe: true },
      connection: { bytesRead: 0, destroy: () => this.end() },
      get status() {
        return self.status;
      },
      connect: () => {
        this.connects++;
        return Promise.resolve();
      },
      disconnect: () => {
        this.isLeaving = true;
      },
    };
    const dispatch = (command: Command): void => void this.given.push(command);
    this.client = { link, dispatch, dispatchBatch: () => {} } as unknown as SubscriberClient;
  }

  open(): void {
    if (this.status !== "connecting") return;
    this.status = "ready";
    this.supervisor.onStatus("ready");
  }

  /** Answers the oldest command; false if there is none. An error is shown to the supervisor first. */
  answer(refusal: (command: Command) => Error | null = () => null): boolean {
    const command = this.status === "ready" ? this.given.shift() : undefined;
    if (command === undefined) return false;
    if (command.isSettled) return true;
    const error = refusal(command);
    if (error === null) this.confirm(command);
    else if (!this.supervisor.onReplyError(command, error)) command.fail(error);
    return true;
  }

  /** The connection is over; what was not answered is handed over. */
  end(): void {
    if (this.status === "end") return;
    this.status = "end";
    const left = this.given.splice(0).filter((one) => !one.isSettled);
    this.supervisor.onStatus("end");
    this.supervisor.takeover.takeOver(left, new ConnectionClosedError());
  }

  report(type: string, error: Error): void {
    this.supervisor.onNamedError(type, error);
  }

  shardLost(channel: string): void {
    this.supervisor.onShardLost(Buffer.from(channel));
  }

  /** Its messages reach the client. */
  get isCurrent(): boolean {
    const message = { isHeard: false } as ModelMessage;
    this.supervisor.onMessage(message);
    return message.isHeard;
  }

  names(kind: SubscriptionKind): string[] {
    return this.subscriptions.names(kind).map(String).sort();
  }

  private confirm(command: Command): void {
    const [, letter = "", leave] = /^([ps]?)(un)?subscribe$/.exec(command.spec.lowerName) ?? [];
    const kind = KINDS[letter] as SubscriptionKind;
    const all = leave !== undefined && command.args.length === 0;
    const names = all ? this.subscriptions.names(kind) : command.args.map((one) => Buffer.from(one));
    for (const name of names) {
      if (leave === undefined) this.subscriptions.add(kind, name);
      else this.subscriptions.delete(kind, name);
    }
    command.fulfil(names.length, TEXT);
  }
}
