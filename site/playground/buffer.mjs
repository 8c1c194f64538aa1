/** Buffers as Node.js has them, with what the package leaves out. */

import { Buffer } from "buffer/";

export { Buffer };
export const constants = { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 };

export function isAscii(bytes) {
  return bytes.every((byte) => byte < 0x80);
}

export function isUtf8(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
