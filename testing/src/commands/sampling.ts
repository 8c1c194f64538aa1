/**
 * Random members: so many different ones, or with repetitions where the count is negative.
 */

import type { Randomness } from "../keyspace/randomness";

export function sample<T>(members: readonly T[], count: number, random: Randomness): T[] {
  if (members.length === 0) return [];
  if (count < 0) {
    return Array.from({ length: -count }, () => members[random.below(members.length)] as T);
  }
  if (count >= members.length) return [...members];
  const rest = [...members];
  for (let index = 0; index < count; index++) {
    const other = index + random.below(rest.length - index);
    const chosen = rest[other] as T;
    rest[other] = rest[index] as T;
    rest[index] = chosen;
  }
  return rest.slice(0, count);
}
