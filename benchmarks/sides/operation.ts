/**
 * The commands that workloads issue, as plain data.
 *
 * A workload defines the operations; each side turns an operation into the call that its own authors would
 * write. Values are prepared. A template literal creates the key for every call, as in services. A string
 * that was used before is flat and has a cached hash, so reused keys would make a client faster than in a
 * service.
 */

/** A key before it is text: what stands before its number, and the number. */
export interface Key {
  readonly prefix: string;
  readonly id: number;
}

/** A new string at every call. */
export function freshKey({ prefix, id }: Key): string {
  return `${prefix}${id}`;
}

export type Operation =
  | { readonly kind: "ping" }
  | { readonly kind: "get"; readonly key: Key }
  | { readonly kind: "getBuffer"; readonly key: Key }
  | { readonly kind: "set"; readonly key: Key; readonly value: string | Buffer; readonly seconds?: number }
  | { readonly kind: "ttl"; readonly key: Key }
  | { readonly kind: "exists"; readonly key: Key }
  | { readonly kind: "lrange"; readonly key: Key }
  | { readonly kind: "hgetall"; readonly key: Key }
  | { readonly kind: "mget"; readonly keys: Key[] }
  | { readonly kind: "sadd"; readonly key: Key; readonly members: string[] }
  | { readonly kind: "evalsha"; readonly sha: string; readonly key: Key; readonly argument: string };

export type OperationKind = Operation["kind"];

/** The request as the server reads it: for the sides that have no client. */
export function requestWords(operation: Operation): (string | Buffer)[] {
  switch (operation.kind) {
    case "ping":
      return ["PING"];
    case "get":
    case "getBuffer":
      return ["GET", freshKey(operation.key)];
    case "set":
      return operation.seconds === undefined
        ? ["SET", freshKey(operation.key), operation.value]
        : ["SET", freshKey(operation.key), operation.value, "EX", String(operation.seconds)];
    case "lrange":
      return ["LRANGE", freshKey(operation.key), "0", "-1"];
    case "mget":
      return ["MGET", ...operation.keys.map(freshKey)];
    case "sadd":
      return ["SADD", freshKey(operation.key), ...operation.members];
    case "evalsha":
      return ["EVALSHA", operation.sha, "1", freshKey(operation.key), operation.argument];
    case "ttl":
    case "exists":
    case "hgetall":
      return [operation.kind.toUpperCase(), freshKey(operation.key)];
  }
}

/** RESP array of bulk strings. */
export function encodeRequest(words: readonly (string | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = typeof word === "string" ? Buffer.from(word) : word;
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n"));
  }
  return Buffer.concat(parts);
}
