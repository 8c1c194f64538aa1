/**
 * Routes unrequested messages: pub/sub messages are dispatched, confirmations settle the waiting subscribe
 * commands, and the listener receives all others with their kind. Handles RESP3 pushes and the arrays of a
 * RESP2 connection in subscriber mode.
 *
 * A subscribe command with n names gets n confirmations; it stays at the head of the command queue until the
 * last one has arrived.
 */

import { Command, markAnswered } from "../command/command";
import { CommandFlag, type ReplyShape } from "../command/command-spec";
import { ParserError } from "../errors";
import { DecodedMessage, type Message, type MessageKind } from "../protocol/message";
import { integerOf } from "../protocol/numbers";
import type { Reply } from "../protocol/resp-types";
import type { CommandQueue } from "./command-queue";
import {
  SUBSCRIPTION_CHANGES,
  type SubscriptionChange,
  SubscriptionKind,
  type Subscriptions,
} from "./subscriptions";

export interface MessageListener {
  /** The message is valid until the call returns. */
  onMessage(message: Message): void;
  /** The server ended a shard subscription: its slot has moved. */
  onShardLost(channel: Buffer): void;
  /** Any other push, by its kind (`invalidate` ...). */
  onOtherPush(kind: string, message: readonly Reply[]): void;
  /** A line of MONITOR. */
  onMonitorLine(line: string): void;
}

export interface PushDeps {
  /** The confirmed subscriptions. They outlive the connection. */
  readonly subscriptions: Subscriptions;
  /** Null: messages are ignored. */
  readonly messages: MessageListener | null;
}

const NO_PATTERN = Buffer.alloc(0);

export class PushRouter {
  /** The confirmations that the head still waits for; 0 = the first has not arrived. */
  private left = 0;

  constructor(
    private readonly queue: CommandQueue,
    private readonly deps: PushDeps,
    /** The `Decode` bits of the connection. */
    private readonly decoding: number,
  ) {}

  /** Returns true for a pub/sub message or a confirmation. */
  route(message: readonly Reply[], shape: ReplyShape): boolean {
    const kind = String(message[0]);
    switch (kind) {
      case "message":
      case "smessage":
        this.deliver(kind, NO_PATTERN, message, 1);
        return true;
      case "pmessage":
        this.deliver(kind, bytesOf(message[1], kind), message, 2);
        return true;
    }
    const change = SUBSCRIPTION_CHANGES.get(kind);
    if (change === undefined) return false;
    this.confirm(kind, change, message, shape);
    return true;
  }

  private deliver(kind: MessageKind, pattern: Buffer, message: readonly Reply[], at: number): void {
    const payload = message[at + 1];
    if (payload === undefined) throw new ParserError("Protocol error: a message without its payload");
    const channel = bytesOf(message[at], "message");
    this.deps.messages?.onMessage(new DecodedMessage(kind, [pattern, channel, payload]));
  }

  private confirm(
    word: string,
    { kind, isEntry }: SubscriptionChange,
    message: readonly Reply[],
    shape: ReplyShape,
  ): void {
    const name = message[1] === null ? null : bytesOf(message[1], word);
    const command = this.queue.head();
    const isAsked = command instanceof Command && this.isAnswerTo(command, word, name);
    if (isAsked && this.left === 0) this.left = this.confirmationsOf(command, kind);
    if (name !== null) {
      if (isEntry) this.deps.subscriptions.add(kind, name);
      else this.deps.subscriptions.delete(kind, name);
    }
    if (!isAsked) {
      // sunsubscribe arrives unrequested when a slot moves away from the node.
      if (!isEntry && kind === SubscriptionKind.Shard && name !== null) this.deps.messages?.onShardLost(name);
      return;
    }
    // The first confirmation counts as a reply: the group of the command is no longer sent again as a whole.
    markAnswered(command);
    if (--this.left > 0) return;
    this.queue.shift();
    command.fulfil(integerOf(String(message[2]), command.decodingOn(this.decoding)), shape);
  }

  private isAnswerTo(command: Command, word: string, name: Buffer | null): boolean {
    const { spec, args } = command;
    if (spec.lowerName !== word) return false;
    if ((spec.flags & CommandFlag.EnterSubscriber) !== 0 || args.length === 0 || name === null) {
      return true;
    }
    return args.some((arg) => (typeof arg === "string" ? name.equals(Buffer.from(arg)) : name.equals(arg)));
  }

  /** Without names, the server confirms every subscription of the kind, or once if there is none. */
  private confirmationsOf(command: Command, kind: SubscriptionKind): number {
    if (command.args.length > 0) return command.args.length;
    return Math.max(1, this.deps.subscriptions.size(kind));
  }
}

/** A channel or pattern; a server that sends any other type violates the protocol. */
function bytesOf(value: Reply, kind: string): Buffer {
  if (Buffer.isBuffer(value)) return value;
  throw new ParserError(`Protocol error: a push of kind "${kind}" without a name`);
}
