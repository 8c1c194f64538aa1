/**
 * References to entries of a stream in its consumer groups, and the strategies of Redis 8.2 for the references
 * of a deleted entry.
 */

import type { StreamId, StreamValue } from "../keyspace/stream-value";

/** Keep the references, delete them too, or delete only entries that no group needs any more. */
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
