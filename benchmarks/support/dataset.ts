/**
 * The keys and values that every workload works on, and the operation sets made of them.
 *
 * Values follow from their keys, so that any reply can be checked. "Random" choices come from a fixed seed:
 * every side and every round gets the same ones.
 */

import calculateSlot from "cluster-key-slot";
import type { Operation } from "../sides/operation";
import type { Address } from "../sides/side";
import { BareClient, type Words } from "./bare-client";

export const KEY_COUNT = 1000;
export const LIST_LENGTH = 10_000;
export const HASH_FIELDS = 1000;
export const MEBIBYTE = 1_048_576;
/** Nine digits for the whole run, so that TTL answers with the same number of bytes. */
const FAR_TTL_SECONDS = "500000000";
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
      return numbers(KEY_COUNT).map((index) => setOf("s", index, 16));
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
      return [{ kind: "lrange", key: "list" }];
    case "hgetall1000":
      return [{ kind: "hgetall", key: "hash" }];
    case "mget1000":
      return [{ kind: "mget", keys: numbers(KEY_COUNT).map((index) => keyOf("s", index)) }];
    case "set64k":
      return numbers(4).map((index) => setOf("w", index, 65_536));
    case "setMiB":
      return numbers(2).map((index) => setOf("x", index, MEBIBYTE));
    case "setMiBBuffer":
      return numbers(2).map((index) => {
        const key = keyOf("x", index);
        return { kind: "set", key, value: Buffer.from(textOf(key, MEBIBYTE)) };
      });
    default:
      return sizedOperations(Number(set.slice("size".length)));
  }
}

/** Nine bytes. */
export function keyOf(family: string, index: number): string {
  return `${family}:${String(index).padStart(7, "0")}`;
}

/** Flat ASCII text of exactly `bytes` bytes. */
export function textOf(key: string, bytes: number): string {
  const block = Buffer.alloc(bytes);
  const pattern = `${key}/value/`;
  for (let at = 0; at < bytes; at++) block[at] = pattern.charCodeAt(at % pattern.length);
  return block.toString("latin1");
}

function setOf(family: string, index: number, bytes: number): Operation {
  const key = keyOf(family, index);
  return { kind: "set", key, value: textOf(key, bytes) };
}

/** SET and GET by turns. */
function mixed(family: string, index: number, bytes: number): Operation {
  return index % 2 === 0 ? setOf(family, index, bytes) : { kind: "get", key: keyOf(family, index) };
}

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
  const value = textOf(key, bytes);
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
    const key = keyOf("s", index);
    const expiry = index % 2 === 0 ? [] : ["EX", FAR_TTL_SECONDS];
    requests.push(["SET", key, textOf(key, 16), ...expiry]);
    requests.push(["SET", keyOf("k", index), textOf(keyOf("k", index), 1024)]);
  }
  requests.push(["SET", keyOf("m", 0), textOf(keyOf("m", 0), MEBIBYTE)]);
  requests.push(
    ["DEL", "list"],
    ["RPUSH", "list", ...numbers(LIST_LENGTH).map((index) => `element:${index * PRIME}`)],
  );
  requests.push([
    "HSET",
    "hash",
    ...numbers(HASH_FIELDS).flatMap((index) => [`field:${index}`, `value:${index * PRIME}`]),
  ]);
  for (let bytes = 1; bytes <= MEBIBYTE; bytes *= 4) {
    requests.push(["SET", keyOf("v", bytes), textOf(keyOf("v", bytes), bytes)]);
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
      return typeof reply === "string" && reply === textOf(operation.key, reply.length) && reply.length > 0;
    case "getBuffer":
      return Buffer.isBuffer(reply) && reply.toString("latin1") === textOf(operation.key, reply.length);
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
