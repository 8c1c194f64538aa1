/**
 * Names that neither a script nor an added command may take, because the client, the events of
 * Node.js or the language look them up on every client. Any other name is free: the inside of
 * the clients is keyed by symbols.
 */

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

/** `then` would make a promise of the client, `toJSON` would run whenever a log line shows it. */
const OF_THE_LANGUAGE = ["then", "toJSON"];

const OF_EVENTS = ["domain", ...namesOf(new EventEmitter()), ...namesOf(EventEmitter.prototype)];

export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...OF_THE_CLIENT,
  ...OF_THE_LANGUAGE,
  ...OF_EVENTS,
]);

/** Throws a `ReservedNameError` for a name that is taken. */
export function refuseReserved(name: string): void {
  if (RESERVED_NAMES.has(name)) throw new ReservedNameError(name);
}

function namesOf(object: object): string[] {
  return Object.getOwnPropertyNames(object).filter((name) => name !== "constructor");
}
