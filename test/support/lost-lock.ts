/**
 * A lock that a failover loses: the master acknowledges it and dies before any replica has it. Two clients then believe
 * that they hold it, which only the fencing number tells.
 */

import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster, Lock, Redis } from "../../src/index";
import { codeOf } from "./outcome";

/** A resource that rejects smaller numbers, as in docs/locks.md. */
const IF_NEWER = `
  if tonumber(redis.call("HGET", KEYS[1], "fence") or 0) > tonumber(ARGV[1]) then return 0 end
  redis.call("HSET", KEYS[1], "fence", ARGV[1], "state", ARGV[2])
  return 1`;
const TTL_MS = 60_000;

export async function loseLock(
  clients: readonly [Redis | Cluster, Redis | Cluster],
  master: ServerProcess,
  replicas: readonly ServerProcess[],
  untilReplaced: () => Promise<unknown>,
): Promise<void> {
  const [first, second] = clients;
  const kept = await first.lock("{a}kept", { ttl: TTL_MS });
  await waitUntil(
    async () => (await Promise.all(replicas.map((replica) => hasLock(replica)))).every(Boolean),
    {
      timeoutMs: 10_000,
      what: "the replicas to have the first lock",
    },
  );
  for (const replica of replicas) replica.pause();
  // What is on the way to a paused replica is lost with its connection.
  await master.command("CLIENT", "KILL", "TYPE", "replica");
  const lost = await first.lock("{a}lost", { ttl: TTL_MS });
  expect(await write(first, lost, "before")).to.equal(1);
  await master.kill();
  for (const replica of replicas) replica.resume();
  await untilReplaced();
  const next = await second.lock("{a}lost", { ttl: TTL_MS, wait: 30_000 });
  // Both believe that they hold it. The resource knows better, in any order of their writes.
  expect(lost.signal.aborted).to.equal(false);
  expect(await write(second, next, "after")).to.equal(1);
  expect(await write(first, lost, "too late")).to.equal(0);
  expect(await first.hget("{a}data", "state")).to.equal("after");
  expect(await codeOf(lost.extend())).to.equal("LOCK_LOST");
  expect(lost.signal.aborted).to.equal(true);
  await kept.extend();
  // A replicated lock is still held.
  expect(await codeOf(second.lock("{a}kept", { wait: 0 }))).to.equal("LOCK_TIMEOUT");
  expect(next.fence).to.be.greaterThan(lost.fence);
  expect([await kept.release(), await next.release(), await lost.release()]).to.deep.equal([
    true,
    true,
    false,
  ]);
}

function write(client: Redis | Cluster, { fence }: Lock, state: string): Promise<unknown> {
  return client.eval(IF_NEWER, 1, "{a}data", fence, state);
}

/** Replicas of a cluster redirect readers. */
async function hasLock(replica: ServerProcess): Promise<boolean> {
  return String(await replica.command("DBSIZE")) !== "0";
}
