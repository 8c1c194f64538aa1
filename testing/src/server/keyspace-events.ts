/**
 * Keyspace notifications: `__keyspace@0__:key` with the event, `__keyevent@0__:event` with the key,
 * as far as `notify-keyspace-events` asks for them.
 */

import type { EventClass } from "../keyspace/database";
import type { PubSub } from "./pubsub";

export interface KeyspaceEvent {
  readonly database: number;
  readonly key: string;
  readonly kind: EventClass;
  readonly name: string;
}

/** `A` stands for these. */
const ALL_CLASSES = "g$lshzxetd";
const KNOWN = "KEg$lshzxetdmnoc";

/** The letters in the order in which servers print them; null if one is unknown. */
export function parseClasses(text: string): string | null {
  const letters = new Set<string>();
  for (const letter of text) {
    if (letter === "A") for (const one of ALL_CLASSES) letters.add(one);
    else if (KNOWN.includes(letter)) letters.add(letter);
    else return null;
  }
  return [...KNOWN].filter((letter) => letters.has(letter)).join("");
}

/** As CONFIG GET says it: `A` for all common classes, then K, E, m and n. */
export function printClasses(letters: string): string {
  const hasAll = [...ALL_CLASSES].every((letter) => letters.includes(letter));
  const common = [..."g$lshzxetd"].filter((letter) => letters.includes(letter)).join("");
  const rest = [..."KEmnoc"].filter((letter) => letters.includes(letter)).join("");
  return (hasAll ? "A" : common) + rest;
}

export function publishEvent(pubsub: PubSub, flags: string, event: KeyspaceEvent): void {
  if (!flags.includes(event.kind)) return;
  const { database, key, name } = event;
  if (flags.includes("K")) pubsub.publish(`__keyspace@${database}__:${key}`, name);
  if (flags.includes("E")) pubsub.publish(`__keyevent@${database}__:${name}`, key);
}
