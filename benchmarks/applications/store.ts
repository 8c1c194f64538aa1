/** The calls of the HTTP service to its store, for every client, and clients for packages that need one. */

import { createSide, type SideName } from "../sides/all-sides";
import { IoredisSide } from "../sides/ioredis-side";
import type { NodeRedisSide } from "../sides/node-redis-side";
import type { Side, Target } from "../sides/side";

export interface Store {
  get(key: string): Promise<unknown>;
  setex(key: string, seconds: number, value: string): Promise<unknown>;
}

export interface Connected {
  readonly side: Side;
  /** The client itself. */
  readonly client: unknown;
  readonly store: Store;
  readonly isNodeRedis: boolean;
}

interface NodeRedis {
  get(key: string): Promise<unknown>;
  setEx(key: string, seconds: number, value: string): Promise<unknown>;
}

export async function connectStore(sideName: SideName, target: Target): Promise<Connected> {
  const side = createSide(sideName);
  await side.connect(target, { autoPipelining: false });
  if (side instanceof IoredisSide) {
    const client = side.connected();
    return { side, client, store: client as unknown as Store, isNodeRedis: false };
  }
  const client = (side as NodeRedisSide).connection() as NodeRedis;
  const store: Store = {
    get: (key) => client.get(key),
    setex: (key, seconds, value) => client.setEx(key, seconds, value),
  };
  return { side, client, store, isNodeRedis: true };
}
