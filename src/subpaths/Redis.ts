/**
 * The sub-path `built/Redis`, and the place for tracers that rewrite source text when it is loaded: they search
 * this file for the method `sendCommand` of a class `Redis`. Their rewritten method replaces the client's, as a
 * method replaced at run time would. This file must be loaded together with the entry; without such a tracer it
 * changes nothing.
 */

import { Redis as Client } from "../client/redis";
import type { Command } from "../command/command";

type Send = (this: Client, command: Command) => Promise<unknown>;

const send: Send = Client.prototype.sendCommand;

interface Seam {
  readonly sendCommand: Send;
  readonly asWritten: Send;
}

/** Two methods with the same text: if they differ, a tracer has rewritten the first one. */
function makeSeam(): Seam {
  // In a function: the bundler may rename classes beside the client's own.
  class Redis {
    sendCommand(this: Client, command: Command): Promise<unknown> {
      return send.call(this, command);
    }

    asWritten(this: Client, command: Command): Promise<unknown> {
      return send.call(this, command);
    }
  }
  return Redis.prototype;
}

function textOf(method: Send): string {
  const text = String(method);
  return text.slice(text.indexOf("("));
}

const { sendCommand, asWritten } = makeSeam();
if (textOf(sendCommand) !== textOf(asWritten)) Client.prototype.sendCommand = sendCommand;

export type { RedisStatus } from "../client/types";
export { Client as Redis, Client as default };
