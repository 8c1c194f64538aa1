/** Names that scripts and added commands must not use: the client, Node.js events or the language look them up. */

import { EventEmitter } from "node:events";
import { ReservedNameError } from "../errors";

const OF_THE_CLIENT = [
  "addedBuiltinSet",
  "autoPipelineQueueSize",
  "commandQueue",
  "condition",
  "connect",
  "connector",
  "disconnect",
  "exec",
  "isCluster",
  "mode",
  "multi",
  "offlineQueue",
  "options",
  "pipeline",
  "quit",
  "scriptsSet",
  "sendCommand",
  "silentEmit",
  "slots",
  "startupNodes",
  "status",
  "stream",
];

/** `then` would make the client a thenable, and `toJSON` would run whenever a client is logged. */
const OF_THE_LANGUAGE = ["then", "toJSON"];

export const OF_EVENTS = ["domain", ...namesOf(new EventEmitter()), ...namesOf(EventEmitter.prototype)];

export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...OF_THE_CLIENT,
  ...OF_THE_LANGUAGE,
  ...OF_EVENTS,
]);

export function refuseReserved(name: string): void {
  if (RESERVED_NAMES.has(name)) throw new ReservedNameError(name);
}

function namesOf(object: object): string[] {
  return Object.getOwnPropertyNames(object).filter((name) => name !== "constructor");
}
