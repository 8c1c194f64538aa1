/**
 * The keys that the demo reads. They have a prefix of their own and are removed at the end. If the demo is
 * interrupted, they expire.
 */

import type { Redis } from "sluice";

export const KEYS = 10_000;
const PREFIX = "sluice:demo:";
const BATCH = 1_000;
const EXPIRY_S = 600;

export function keyOf(index: number): string {
  return `${PREFIX}${index % KEYS}`;
}

export function expectedValueOf(index: number): string {
  return `value of ${index % KEYS}`;
}

function inBatches(work: (first: number, last: number) => Promise<unknown>): Promise<unknown> {
  const firsts = Array.from({ length: KEYS / BATCH }, (_, index) => index * BATCH);
  return Promise.all(firsts.map((first) => work(first, first + BATCH)));
}

export async function fill(db: Redis): Promise<void> {
  await inBatches(async (first, last) => {
    const batch = db.pipeline();
    for (let index = first; index < last; index++) {
      batch.set(keyOf(index), expectedValueOf(index), "EX", EXPIRY_S);
    }
    for (const [error] of (await batch.exec()) ?? []) if (error) throw error;
  });
}

export async function clear(db: Redis): Promise<void> {
  await inBatches((first, last) => {
    return db.unlink(Array.from({ length: last - first }, (_, index) => keyOf(first + index)));
  });
}
