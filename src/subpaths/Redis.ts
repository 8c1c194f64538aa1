/**
 * The sub-path `built/Redis`, and the seam for tracers that rewrite source text as it is loaded: they
 * look in this file for the method `sendCommand` of a class `Redis`. What they have written into it
 * takes the place of the client's own method, as a method that is replaced at run time does. It has to
 * be loaded with the entry; while no tracer does so, nothing changes.
 */

import { Redis as Client } from "../client/redis";
import type { Command } from "../command/command";

type Send = (this: Client, command: Command) => Promise<unknown>;

const send: Send = Client.prototype.sendCommand;

interface Seam {
  readonly sendCommand: Send;
  readonly asWritten: Send;
}

/** Two methods of one text: if they differ, the one that tracers look for has been rewritten. */
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
