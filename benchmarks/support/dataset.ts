/**
 * The keys and values that every workload works on, and the operation sets made of them.
 *
 * Values follow from their keys, so that any reply can be checked. "Random" choices come from a fixed seed:
 * every side and every round gets the same ones.
 */

import calculateSlot from "cluster-key-slot";
import { freshKey, type Key, type Operation } from "../sides/operation";
import type { Address } from "../sides/side";
import { BareClient, type Words } from "./bare-client";

export const KEY_COUNT = 1000;
export const LIST_LENGTH = 10_000;
export const HASH_FIELDS = 1000;
export const MEBIBYTE = 1_048_576;
export const LARGEST_VALUE = 16 * MEBIBYTE;
/** Nine digits for the whole run, so that TTL answers with the same number of bytes. */
const FAR_TTL_SECONDS = 500_000_000;
/** Ids have seven digits from here on, so that keys are nine bytes without padding. */
const FIRST_ID = 1_000_000;
const PRIME = 7919;

export type OperationSet =
  | "ping"
  | "get16"
  | "set16"
  | "mixed16"
  | "mixed1k"
  | "reads"
  | "getMiB"
  | "getMiBBuffer"
  | "lrange10k"
  | "hgetall1000"
  | "mget1000"
  | "set64k"
  | "setMiB"
  | "setMiBBuffer"
  | `size${number}`;

export function operationsOf(set: OperationSet): Operation[] {
  switch (set) {
    case "ping":
      return [{ kind: "ping" }];
    case "get16":
      return numbers(KEY_COUNT).map((index) => ({ kind: "get", key: keyOf("s", index) }));
    case "set16":
      return numbers(KEY_COUNT).map((index) => setOf("s", index, 16, index % 2 === 1));
    case "mixed16":
      return numbers(KEY_COUNT).map((index) => mixed("s", index, 16));
    case "mixed1k":
      return numbers(KEY_COUNT).map((index) => mixed("k", index, 1024));
    case "reads":
      return randomReads();
    case "getMiB":
      return [{ kind: "get", key: keyOf("m", 0) }];
    case "getMiBBuffer":
      return [{ kind: "getBuffer", key: keyOf("m", 0) }];
    case "lrange10k":
      return [{ kind: "lrange", key: LIST }];
    case "hgetall1000":
      return [{ kind: "hgetall", key: HASH }];
    case "mget1000":
      return [{ kind: "mget", keys: numbers(KEY_COUNT).map((index) => keyOf("s", index)) }];
    case "set64k":
      return numbers(4).map((index) => setOf("w", index, 65_536));
    case "setMiB":
      return numbers(2).map((index) => setOf("x", index, MEBIBYTE));
    case "setMiBBuffer":
      return numbers(2).map((index) => {
        const value = Buffer.from(textOf(nameOf("x", index), MEBIBYTE));
        return { kind: "set", key: keyOf("x", index), value };
      });
    default:
      return sizedOperations(Number(set.slice("size".length)));
  }
}

/** Nine bytes with a family of one letter. */
export function keyOf(family: string, index: number): Key {
  return { prefix: `${family}:`, id: FIRST_ID + index };
}

/** The text of that key. */
export function nameOf(family: string, index: number): string {
  return freshKey(keyOf(family, index));
}

/** Flat ASCII text of exactly `bytes` bytes. */
export function textOf(key: string, bytes: number): string {
  const block = Buffer.alloc(bytes);
  const pattern = `${key}/value/`;
  for (let at = 0; at < bytes; at++) block[at] = pattern.charCodeAt(at % pattern.length);
  return block.toString("latin1");
}

function setOf(family: string, index: number, bytes: number, expires = false): Operation {
  const key = keyOf(family, index);
  const value = textOf(freshKey(key), bytes);
  return expires ? { kind: "set", key, value, seconds: FAR_TTL_SECONDS } : { kind: "set", key, value };
}

/** SET and GET by turns; every other SET has an expiry, so that one call site sees arguments of several shapes. */
function mixed(family: string, index: number, bytes: number): Operation {
  return index % 2 === 0
    ? setOf(family, index, bytes, index % 4 === 0)
    : { kind: "get", key: keyOf(family, index) };
}

const LIST = { prefix: "list:", id: 1 };
const HASH = { prefix: "hash:", id: 1 };

function randomReads(): Operation[] {
  const kinds = ["ttl", "exists", "get"] as const;
  const random = randomFrom(2026);
  return numbers(KEY_COUNT).map(() => {
    const key = keyOf("s", Math.floor(random() * KEY_COUNT));
    return { kind: kinds[Math.floor(random() * kinds.length)] as "ttl" | "exists" | "get", key };
  });
}

function sizedOperations(bytes: number): Operation[] {
  const count = Math.max(2, Math.min(KEY_COUNT, Math.floor((4 * MEBIBYTE) / bytes) & ~1));
  const key = keyOf("v", bytes);
  const value = textOf(freshKey(key), bytes);
  return numbers(count).map((index) =>
    index % 2 === 0 ? { kind: "set", key, value } : { kind: "get", key },
  );
}

export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** A small seeded generator; good enough for choosing keys. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

/** Writes all keys to one server, or to a cluster whose slots are spread evenly over its nodes in order. */
export async function seed(nodes: readonly Address[]): Promise<void> {
  const clients = await Promise.all(nodes.map((node) => BareClient.open(node)));
  const requests: Words[][] = clients.map(() => []);
  for (const words of seedRequests()) {
    const at = Math.floor((calculateSlot(words[1] as string) * clients.length) / 16_384);
    requests[at]?.push(words);
  }
  await Promise.all(clients.map((client, index) => client.callAll(requests[index] as Words[])));
  for (const client of clients) client.close();
}

function seedRequests(): Words[] {
  const requests: Words[] = [];
  for (const index of numbers(KEY_COUNT)) {
    const key = nameOf("s", index);
    const expiry = index % 2 === 0 ? [] : ["EX", String(FAR_TTL_SECONDS)];
    requests.push(["SET", key, textOf(key, 16), ...expiry]);
    requests.push(["SET", nameOf("k", index), textOf(nameOf("k", index), 1024)]);
  }
  requests.push(["SET", nameOf("m", 0), textOf(nameOf("m", 0), MEBIBYTE)]);
  requests.push(
    ["DEL", freshKey(LIST)],
    ["RPUSH", freshKey(LIST), ...numbers(LIST_LENGTH).map((index) => `element:${index * PRIME}`)],
  );
  requests.push([
    "HSET",
    freshKey(HASH),
    ...numbers(HASH_FIELDS).flatMap((index) => [`field:${index}`, `value:${index * PRIME}`]),
  ]);
  for (let bytes = 1; bytes <= LARGEST_VALUE; bytes *= 4) {
    requests.push(["SET", nameOf("v", bytes), textOf(nameOf("v", bytes), bytes)]);
  }
  return requests;
}

/** Throws when a reply is not what the data set says: a side that answers wrongly is not measured. */
export function checkReply(operation: Operation, reply: unknown): void {
  if (!isExpected(operation, reply)) {
    throw new Error(`wrong reply to ${operation.kind}: ${String(reply).slice(0, 80)}`);
  }
}

function isExpected(operation: Operation, reply: unknown): boolean {
  switch (operation.kind) {
    case "ping":
      return reply === "PONG";
    case "get":
      return (
        typeof reply === "string" &&
        reply === textOf(freshKey(operation.key), reply.length) &&
        reply.length > 0
      );
    case "getBuffer":
      return (
        Buffer.isBuffer(reply) && reply.toString("latin1") === textOf(freshKey(operation.key), reply.length)
      );
    case "set":
      return reply === "OK";
    case "ttl":
    case "exists":
    case "sadd":
      return typeof reply === "number";
    case "lrange":
      return Array.isArray(reply) && reply.length === LIST_LENGTH && reply[1] === `element:${PRIME}`;
    case "mget":
      return Array.isArray(reply) && reply.length === operation.keys.length && typeof reply[0] === "string";
    case "hgetall":
      return typeof reply === "object" && reply !== null;
    case "evalsha":
      return reply !== undefined;
  }
}
