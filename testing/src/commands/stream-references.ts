/** References to entries of a stream in its consumer groups, and what Redis 8.2 lets become of them when an entry goes. */

import type { StreamId, StreamValue } from "../keyspace/stream-value";

/** Keep them, delete them too, or delete only what no group needs any more. */
export type ReferenceStrategy = "KEEPREF" | "DELREF" | "ACKED";

export function isReferenceStrategy(text: string): text is ReferenceStrategy {
  return text === "KEEPREF" || text === "DELREF" || text === "ACKED";
}

/** Whether a group has it pending, or has not come to it yet. */
export function isReferenced(stream: StreamValue, id: StreamId): boolean {
  for (const group of stream.groups.values()) if (group.lastId < id || group.pending.has(id)) return true;
  return false;
}

export function deleteReferences(stream: StreamValue, id: StreamId): void {
  for (const group of stream.groups.values()) group.pending.delete(id);
}
