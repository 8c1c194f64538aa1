/**
 * Slots of keys, by the client's own rule, and the errors that send a client elsewhere.
 */

import { slotOfKey } from "../../../src/command/slot";
import { ErrorReply } from "../protocol/reply";

export const SLOTS = 16_384;

interface Address {
  readonly host: string;
  readonly port: number;
}

/** A key is a byte string. */
export function slotOf(key: string): number {
  return slotOfKey(Buffer.from(key, "latin1"));
}

export function moved(slot: number, { host, port }: Address): ErrorReply {
  return new ErrorReply(`MOVED ${slot} ${host}:${port}`);
}

export function ask(slot: number, { host, port }: Address): ErrorReply {
  return new ErrorReply(`ASK ${slot} ${host}:${port}`);
}
