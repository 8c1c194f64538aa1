/**
 * Turns reply values into RESP2 or RESP3, as byte strings. Knows no command and no socket.
 */

import {
  BigNumberReply,
  DoubleReply,
  ErrorReply,
  MapReply,
  NoReply,
  NullArray,
  type ReplyValue,
  SetReply,
  Status,
  VerbatimReply,
} from "./reply";

export type Protocol = 2 | 3;

const SMALL_INTEGERS = Array.from({ length: 1024 }, (_, value) => `:${value}\r\n`);
const BULK_HEADS = Array.from({ length: 256 }, (_, length) => `$${length}\r\n`);
const LINE_BREAK = /[\r\n]/g;

function writeBulk(text: string): string {
  const { length } = text;
  return `${length < 256 ? BULK_HEADS[length] : `$${length}\r\n`}${text}\r\n`;
}

function writeInteger(value: number): string {
  return value >= 0 && value < 1024 ? (SMALL_INTEGERS[value] ?? `:${value}\r\n`) : `:${value}\r\n`;
}

function writeAll(head: string, values: readonly ReplyValue[], protocol: Protocol): string {
  let text = `${head}\r\n`;
  for (const value of values) text += writeReply(value, protocol);
  return text;
}

/** A line cannot hold line breaks; servers put spaces there. */
function writeError(message: string): string {
  return `-${message.replace(LINE_BREAK, " ")}\r\n`;
}

/** A push message; RESP2 has an array for it. */
export function writePush(values: readonly ReplyValue[], protocol: Protocol): string {
  return writeAll(`${protocol === 3 ? ">" : "*"}${values.length}`, values, protocol);
}

export function writeReply(value: ReplyValue, protocol: Protocol): string {
  switch (typeof value) {
    case "string":
      return writeBulk(value);
    case "number":
      return writeInteger(value);
    case "bigint":
      return `:${value}\r\n`;
    case "boolean":
      if (protocol === 3) return value ? "#t\r\n" : "#f\r\n";
      return value ? ":1\r\n" : ":0\r\n";
    default:
      return writeObject(value, protocol);
  }
}

function writeObject(
  value: Exclude<ReplyValue, string | number | bigint | boolean>,
  protocol: Protocol,
): string {
  if (value === null) return protocol === 3 ? "_\r\n" : "$-1\r\n";
  if (value instanceof Status) return `+${value.text}\r\n`;
  if (Array.isArray(value)) return writeAll(`*${value.length}`, value, protocol);
  if (value instanceof ErrorReply) return writeError(value.message);
  if (value instanceof NullArray) return protocol === 3 ? "_\r\n" : "*-1\r\n";
  if (value instanceof MapReply) {
    const { pairs } = value;
    return writeAll(protocol === 3 ? `%${pairs.length / 2}` : `*${pairs.length}`, pairs, protocol);
  }
  if (value instanceof SetReply) {
    return writeAll(`${protocol === 3 ? "~" : "*"}${value.members.length}`, value.members, protocol);
  }
  if (value instanceof BigNumberReply)
    return protocol === 3 ? `(${value.digits}\r\n` : writeBulk(value.digits);
  if (value instanceof DoubleReply) return protocol === 3 ? `,${value.text}\r\n` : writeBulk(value.text);
  if (value instanceof VerbatimReply) {
    if (protocol === 2) return writeBulk(value.text);
    return `=${value.text.length + 4}\r\n${value.format}:${value.text}\r\n`;
  }
  if (value instanceof NoReply) return "";
  throw new TypeError("A handler returned a value that is no reply");
}
