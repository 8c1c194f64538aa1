/**
 * Caches the texts of repeated names, such as channels, by their bytes. The table has a fixed size, with one
 * place for each hash of the last bytes, where names differ most; a new name replaces the one in its place.
 */

import { decodeText } from "./decode-value";

const PLACES = 512;
/** Longer names are always decoded. */
const LONGEST_NAME = 96;
/** The number of hashed bytes. */
const HASHED = 8;

const names: (Uint8Array | undefined)[] = new Array<Uint8Array | undefined>(PLACES).fill(undefined);
const texts: string[] = new Array<string>(PLACES).fill("");

export function nameText(bytes: Buffer, start: number, end: number): string {
  const size = end - start;
  if (size > LONGEST_NAME) return decodeText(bytes, start, end, false);
  let hash = size;
  for (let i = size > HASHED ? end - HASHED : start; i < end; i++) {
    hash = (Math.imul(hash, 31) + (bytes[i] as number)) | 0;
  }
  const place = (hash ^ (hash >>> 9)) & (PLACES - 1);
  const known = names[place];
  if (known !== undefined && isSame(known, bytes, start, size)) return texts[place] as string;
  names[place] = Uint8Array.prototype.slice.call(bytes, start, end);
  return (texts[place] = decodeText(bytes, start, end, false));
}

function isSame(known: Uint8Array, bytes: Buffer, start: number, size: number): boolean {
  if (known.length !== size) return false;
  for (let i = 0; i < size; i++) if (known[i] !== bytes[start + i]) return false;
  return true;
}
