/** Estimates the memory of a reply: characters and bytes, and one word for every other value. */

const WORD_BYTES = 8;

export function sizeOfReply(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return WORD_BYTES;
  if (value instanceof Uint8Array) return value.length;
  let size = WORD_BYTES;
  if (Array.isArray(value)) for (const element of value) size += sizeOfReply(element);
  else if (value instanceof Map) for (const [key, one] of value) size += sizeOfReply(key) + sizeOfReply(one);
  else if (value instanceof Set) for (const element of value) size += sizeOfReply(element);
  else for (const [key, one] of Object.entries(value)) size += key.length + sizeOfReply(one);
  return size;
}
