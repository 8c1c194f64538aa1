/**
 * The commands that workloads issue, as plain data.
 *
 * A workload says what is to be done; each side turns an operation into the call its own authors would write.
 * Operations hold ready-made strings, so that no side pays for making keys or values while it is measured.
 */

export type Operation =
  | { readonly kind: "ping" }
  | { readonly kind: "get"; readonly key: string }
  | { readonly kind: "getBuffer"; readonly key: string }
  | { readonly kind: "set"; readonly key: string; readonly value: string | Buffer }
  | { readonly kind: "ttl"; readonly key: string }
  | { readonly kind: "exists"; readonly key: string }
  | { readonly kind: "lrange"; readonly key: string }
  | { readonly kind: "hgetall"; readonly key: string }
  | { readonly kind: "mget"; readonly keys: string[] }
  | { readonly kind: "sadd"; readonly key: string; readonly members: string[] }
  | { readonly kind: "evalsha"; readonly sha: string; readonly key: string; readonly argument: string };

export type OperationKind = Operation["kind"];

/** The request as the server reads it: for the sides that have no client. */
export function requestWords(operation: Operation): (string | Buffer)[] {
  switch (operation.kind) {
    case "ping":
      return ["PING"];
    case "get":
    case "getBuffer":
      return ["GET", operation.key];
    case "set":
      return ["SET", operation.key, operation.value];
    case "lrange":
      return ["LRANGE", operation.key, "0", "-1"];
    case "mget":
      return ["MGET", ...operation.keys];
    case "sadd":
      return ["SADD", operation.key, ...operation.members];
    case "evalsha":
      return ["EVALSHA", operation.sha, "1", operation.key, operation.argument];
    case "ttl":
    case "exists":
    case "hgetall":
      return [operation.kind.toUpperCase(), operation.key];
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
