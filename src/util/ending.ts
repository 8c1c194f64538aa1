/** Notifies tasks of the end of their client with one listener. Node.js warns if there are eleven. */

import type { EventEmitter } from "node:events";

const endings = new WeakMap<object, AbortSignal>();

/** @param owner The same object for a client and its views. */
export function endingOf(events: EventEmitter, owner: object): AbortSignal {
  const known = endings.get(owner);
  if (known !== undefined && !known.aborted) return known;
  const controller = new AbortController();
  endings.set(owner, controller.signal);
  events.once("end", () => controller.abort());
  return controller.signal;
}
