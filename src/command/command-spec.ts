/**
 * One row of the command table, as the data path uses it: nothing looks a command up by
 * name again once it holds its spec. There is one spec for each spelling that was used
 * (`get`, `GET`), because the word goes out as the caller wrote it and because reply and
 * argument transformers belong to the exact word; flags, keys and policies are shared.
 */

import type { Argument, Reply } from "../protocol/resp-types";
import type { KeyRule } from "./key-positions";

/** Bits of `CommandSpec.flags`. */
export const CommandFlag = {
  /** The server may serve it from a replica. */
  Readonly: 1 << 0,
  Write: 1 << 1,
  /** May hold the connection until data or a timeout comes (BLPOP, XREAD BLOCK, WAIT ...). */
  Blocking: 1 << 2,
  /** SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE. */
  EnterSubscriber: 1 << 3,
  /** UNSUBSCRIBE, PUNSUBSCRIBE, SUNSUBSCRIBE. */
  ExitSubscriber: 1 << 4,
  /** Allowed on a RESP2 connection in subscriber mode. */
  ValidInSubscriber: 1 << 5,
  /** Never joins an automatic batch: changes or depends on the state of the connection. */
  NeverAutoPipelined: 1 << 6,
  /** AUTH, HELLO, SELECT, CLIENT, READONLY, INFO: pass before the connection is ready. */
  Handshake: 1 << 7,
  /** The server closes the connection after the answer (QUIT, SHUTDOWN). */
  WillDisconnect: 1 << 8,
  Select: 1 << 9,
  Multi: 1 << 10,
  Exec: 1 << 11,
  Discard: 1 << 12,
  Watch: 1 << 13,
  Unwatch: 1 << 14,
  /** WAIT, WAITAOF: slow by nature, no sign of a dead peer. */
  Waits: 1 << 15,
  /** A command of the server's table; absent for unknown words. */
  Known: 1 << 16,
  Monitor: 1 << 17,
  Reset: 1 << 18,
  Quit: 1 << 19,
  /** Allowed on a connection under MONITOR. */
  ValidInMonitor: 1 << 20,
  /** Its errors never reach `reconnectOnError`. */
  IgnoresReconnectOnError: 1 << 21,
  /** The last argument, the first, or the fifth says how many seconds it may block. */
  TimeoutLast: 1 << 22,
  TimeoutFirst: 1 << 23,
  TimeoutFifth: 1 << 24,
  /** It blocks only with the option BLOCK, which gives milliseconds. */
  BlockOption: 1 << 25,
  /** Arguments decide about it: `flagsFor` of command-table gives the flags of one call. */
  DependsOnArguments: 1 << 26,
  /** Some of its forms bring no reply, or replies without end: `unansweredRefusal` decides. */
  Unanswered: 1 << 27,
  /** A server of a cluster runs it although its keys are in several slots, and loses those of other nodes. */
  OneSlot: 1 << 28,
  /** HIMPORT: announces, forgets or uses fieldsets, which each connection to a master has of its own. */
  Fieldsets: 1 << 29,
} as const;

/** The commands that end a transaction. */
export const TRANSACTION_END = CommandFlag.Exec | CommandFlag.Discard;

/** How the replies of a connection are shaped. */
export interface ReplyShape {
  readonly protocol: 2 | 3;
  readonly replyMapping: "legacy" | "resp3";
}

/** Of replies that the client makes itself, and of connections before their handshake. */
export const LEGACY_SHAPE: ReplyShape = { protocol: 2, replyMapping: "legacy" };

/** The origin of a reply, for reply transformers. */
export interface ReplyContext extends ReplyShape {
  readonly commandName: string;
}

export type ReplyMapper = (reply: Reply, context: ReplyContext) => Reply;
/** Receives the arguments flattened one level, before they are encoded. */
export type ArgumentMapper = (args: unknown[]) => unknown[];

export interface CommandSpec {
  /** The word as it goes on the wire. */
  readonly name: string;
  readonly lowerName: string;
  /** Sum of `CommandFlag` bits. */
  readonly flags: number;
  readonly keys: KeyRule;
  /** `$3\r\nget\r\n`: the command word as an encoded bulk string; null until it is needed (`encodeName`). */
  encodedName: Buffer | null;
  /** Exact-word transformers; replaced by `Command.setReplyTransformer` and its sibling. */
  replyMapper: ReplyMapper | null;
  argumentMapper: ArgumentMapper | null;
}

/** Encodes the word when it is first sent: a program uses a dozen of all words, and starts quicker for it. */
export function encodeName(spec: CommandSpec): Buffer {
  const { name } = spec;
  spec.encodedName = Buffer.from(`$${Buffer.byteLength(name)}\r\n${name}\r\n`);
  return spec.encodedName;
}

export type { Argument, Reply };
