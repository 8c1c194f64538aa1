/**
 * The scripts of a lock. All keys of a lock share a hash tag: the lock with the id of its holder, its fencing
 * token, the queue of waiters, the waiter that is next, and for each waiter a key that a release deletes to wake it.
 */

import { PromiseCompletion } from "../../command/promise-completion";
import { Script } from "../../command/script";
import { slotOfKey } from "../../command/slot";
import { OptionError } from "../../errors";
import type { ScriptSender } from "./lock-line";
import type { LockingClient } from "./locking-client";

/** Tokens are kept for a day after the last acquisition. Later ones are greater: they start at the server time. */
const FENCE_MS = 86_400_000;
/** The lock is reserved for a woken waiter for this time. */
const RESERVED_MS = 500;

/** Wakes the first waiter that is alive, and reserves the lock for it. */
const WAKE = `
local function wake(queue, reserved, prefix)
  local id = redis.call('LPOP', queue)
  while id and redis.call('DEL', prefix .. id) == 0 do id = redis.call('LPOP', queue) end
  if id then redis.call('SET', reserved, id, 'PX', ${RESERVED_MS}) end
end
`;

/**
 * Keys: lock, fence, queue, reservation, wake key. Arguments: id, ttl, and how long the waiter counts as
 * alive (0: it does not wait). Returns { 1, fencing token } or { 0, remaining time of the holder }. Times are
 * in ms. GET makes the server track the wake key.
 */
export const ACQUIRE = new Script(
  {
    numberOfKeys: 5,
    lua: `
local holder = redis.call('GET', KEYS[1])
local reserved = redis.call('GET', KEYS[4])
if holder == ARGV[1] or not holder and (not reserved or reserved == ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('LREM', KEYS[3], 0, ARGV[1])
  redis.call('DEL', KEYS[5])
  if reserved == ARGV[1] then redis.call('DEL', KEYS[4]) end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local fence = string.format('%.0f', math.max((tonumber(redis.call('GET', KEYS[2])) or 0) + 1, now))
  redis.call('SET', KEYS[2], fence, 'PX', ${FENCE_MS})
  return { 1, fence }
end
if tonumber(ARGV[3]) > 0 then
  if not redis.call('SET', KEYS[5], '1', 'PX', ARGV[3], 'XX') then
    redis.call('RPUSH', KEYS[3], ARGV[1])
    redis.call('SET', KEYS[5], '1', 'PX', ARGV[3])
  end
  redis.call('GET', KEYS[5])
  redis.call('PEXPIRE', KEYS[3], ${FENCE_MS})
end
return { 0, redis.call('PTTL', holder and KEYS[1] or KEYS[4]) }
`,
  },
  undefined,
);

/**
 * Keys: lock, queue, reservation. Arguments: id, prefix of the wake keys. Returns 1, or 0 if the client no
 * longer holds the lock.
 */
export const RELEASE = new Script(
  {
    numberOfKeys: 3,
    lua: `${WAKE}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
wake(KEYS[2], KEYS[3], ARGV[2])
return 1
`,
  },
  undefined,
);

/** Removes a waiter. If it was woken or has the lock, wakes the next one. Arguments: as RELEASE, and the wake key. */
export const LEAVE = new Script(
  {
    numberOfKeys: 4,
    lua: `${WAKE}
redis.call('LREM', KEYS[2], 0, ARGV[1])
redis.call('DEL', KEYS[4])
local isHolder = redis.call('GET', KEYS[1]) == ARGV[1]
local isReserved = redis.call('GET', KEYS[3]) == ARGV[1]
if isHolder then redis.call('DEL', KEYS[1]) end
if isReserved then redis.call('DEL', KEYS[3]) end
if isHolder or isReserved then wake(KEYS[2], KEYS[3], ARGV[2]) end
return 1
`,
  },
  undefined,
);

/** Keys: lock. Arguments: id, ttl in ms. Returns 1, or 0 if the client no longer holds the lock. */
export const EXTEND = new Script(
  {
    numberOfKeys: 1,
    lua: "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('PEXPIRE', KEYS[1], ARGV[2])",
  },
  undefined,
);

/** The names of the keys of a lock, with the prefix of the client. */
export class LockKeys {
  readonly lock: string;
  readonly fence: string;
  readonly queue: string;
  readonly reserved: string;
  readonly wakePrefix: string;
  readonly slot: number;

  constructor(key: string, { options: { keyPrefix = "" }, isCluster }: LockingClient) {
    this.lock = `${String(keyPrefix)}${key}`;
    this.slot = slotOfKey(this.lock);
    const hasTag = /\{[^}]+\}/.test(this.lock);
    const base = hasTag ? this.lock : `{${this.lock}}`;
    this.fence = `${base}:fence`;
    this.queue = `${base}:queue`;
    this.reserved = `${base}:next`;
    this.wakePrefix = `${base}:wake:`;
    if (isCluster && slotOfKey(this.fence) !== this.slot) {
      throw new OptionError(
        `The key "${key}" of lock() contains a brace without a hash tag. Use a key such as {order:7}.`,
      );
    }
  }
}

export function run(
  sender: ScriptSender,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  return sender.sendCommand(script.makeCommand([...keys, ...args], false, new PromiseCompletion()));
}
