/** A connection as those above it see it, without a socket: it keeps what it is asked, and its test answers. */

import type { Duplex } from "node:stream";
import type { Command } from "../../src/command/command";
import type { Connection } from "../../src/connection/connection";
import { ConnectionState } from "../../src/connection/connection-state";
import { ReplyError } from "../../src/errors";
import type { Reply } from "../../src/protocol/resp-types";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;

export class ModelConnection {
  state: ConnectionState = ConnectionState.Handshaking;
  socket: Partial<Duplex> | null = null;
  readonly onread = {};
  clientId: number | null = null;
  /** The questions that are not answered yet. */
  readonly asked: Command[] = [];
  /** The errors that it was destroyed with. */
  readonly ends: (Error | undefined)[] = [];
  firstError: Error | undefined;

  /** The same thing, for those who want a connection. */
  get asConnection(): Connection {
    return this as unknown as Connection;
  }

  attach(socket: Duplex, firstError?: Error): void {
    this.socket = socket;
    this.firstError = firstError;
  }

  dispatch(command: Command): void {
    this.asked.push(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.asked.push(...commands);
  }

  setProtocol(): void {}

  destroy(error?: Error): void {
    this.state = ConnectionState.Closed;
    this.ends.push(error);
    for (const command of this.asked.splice(0)) command.fail(error ?? new Error("closed"));
  }

  /** Answers the oldest question, an error for one that begins with "-"; returns its words. */
  answer(reply: Reply): string {
    const command = this.asked.shift();
    if (command === undefined) throw new Error("nothing was asked");
    if (typeof reply === "string" && reply.startsWith("-")) command.fail(new ReplyError(reply.slice(1)));
    else command.fulfil(reply, TEXT);
    return [command.spec.lowerName, ...command.args].join(" ");
  }
}
