/** What a client says about its server: the codes of its `error` and `busy` events, in order. */

import type { Redis } from "../../src/index";

export function peerReports(redis: Redis): string[] {
  const codes: string[] = [];
  for (const name of ["error", "busy"])
    redis.on(name, (error: Error & { code?: string }) => codes.push(String(error.code)));
  return codes;
}
