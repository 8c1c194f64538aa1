/**
 * One row of the command table, as the data path uses it: code that holds a spec never looks the command up by
 * name again. Each spelling in use (`get`, `GET`) has its own spec, because the name is sent as the caller
 * wrote it and transformers apply to the exact name. Flags, keys and policies are shared.
 */

import type { Argument, Reply } from "../protocol/resp-types";
import type { KeyRule } from "./key-positions";

/** Bits of `CommandSpec.flags`. */
export const CommandFlag = {
  /** A replica may serve it. */
  Readonly: 1 << 0,
  Write: 1 << 1,
  /** May hold the connection until data or a timeout arrives (BLPOP, XREAD BLOCK, WAIT ...). */
  Blocking: 1 << 2,
  /** SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE. */
  EnterSubscriber: 1 << 3,
  /** UNSUBSCRIBE, PUNSUBSCRIBE, SUNSUBSCRIBE. */
  ExitSubscriber: 1 << 4,
  /** Allowed on a RESP2 connection in subscriber mode. */
  ValidInSubscriber: 1 << 5,
  /** Never joins an automatic batch: changes or depends on the state of the connection. */
  NeverAutoPipelined: 1 << 6,
  /** AUTH, HELLO, SELECT, CLIENT, READONLY, INFO: sent before the connection is ready. */
  Handshake: 1 << 7,
  /** The server closes the connection after the reply (QUIT, SHUTDOWN). */
  WillDisconnect: 1 << 8,
  Select: 1 << 9,
  Multi: 1 << 10,
  Exec: 1 << 11,
  Discard: 1 << 12,
  Watch: 1 << 13,
  Unwatch: 1 << 14,
  /** WAIT, WAITAOF: slow by design, so a late reply does not indicate a dead peer. */
  Waits: 1 << 15,
  /** A command in the server's table; not set for unknown names. */
  Known: 1 << 16,
  Monitor: 1 << 17,
  Reset: 1 << 18,
  Quit: 1 << 19,
  /** Allowed on a connection under MONITOR. */
  ValidInMonitor: 1 << 20,
  /** Its errors never reach `reconnectOnError`. */
  IgnoresReconnectOnError: 1 << 21,
  /** The position of its timeout in seconds: the last argument, the first, or the fifth. */
  TimeoutLast: 1 << 22,
  TimeoutFirst: 1 << 23,
  TimeoutFifth: 1 << 24,
  /** It blocks only with the option BLOCK, in milliseconds. */
  BlockOption: 1 << 25,
  /** Its flags depend on arguments: `flagsFor` of command-table returns the flags of one call. */
  DependsOnArguments: 1 << 26,
  /** Some of its forms have no reply, or endless replies: `refuseUnanswered` decides. */
  Unanswered: 1 << 27,
  /** A cluster node runs it even if its keys are in several slots, and ignores the data of other nodes. */
  OneSlot: 1 << 28,
  /** HIMPORT: prepares, discards or uses fieldsets, which are state of each connection to a master. */
  Fieldsets: 1 << 29,
} as const;

/** The commands that end a transaction. */
export const TRANSACTION_END = CommandFlag.Exec | CommandFlag.Discard;

/** The shape of the replies of a connection. */
export interface ReplyShape {
  readonly protocol: 2 | 3;
  readonly replyMapping: "legacy" | "resp3";
}

/** The shape of replies that the client creates itself, and of connections before their handshake. */
export const LEGACY_SHAPE: ReplyShape = { protocol: 2, replyMapping: "legacy" };

/** The source of a reply, for reply transformers. */
export interface ReplyContext extends ReplyShape {
  readonly commandName: string;
  /** The form of maps that the caller has chosen with `replies`; absent: that of `replyMapping`. */
  readonly map?: MapForm;
}

export type MapForm = "map" | "object";

export type ReplyMapper = (reply: Reply, context: ReplyContext) => Reply;
/** Receives the arguments, flattened one level, before they are encoded. */
export type ArgumentMapper = (args: unknown[]) => unknown[];

export class CommandSpec {
  /** `$3\r\nget\r\n`: the command name as an encoded bulk string; null until it is needed (`encodeName`). */
  encodedName: Buffer | null = null;
  /** For the exact name; replaced by `Command.setReplyTransformer` and `setArgumentTransformer`. */
  replyMapper: ReplyMapper | null = null;
  argumentMapper: ArgumentMapper | null = null;

  constructor(
    /** The name as it is sent. */
    readonly name: string,
    readonly lowerName: string,
    /** The union of `CommandFlag` bits. */
    readonly flags: number,
    readonly keys: KeyRule,
  ) {}
}

/** The same command without transformers. */
export function withoutMappers({ name, lowerName, flags, keys }: CommandSpec): CommandSpec {
  return new CommandSpec(name, lowerName, flags, keys);
}

/** Encodes the name on first use: a program starts faster without encoding those that it does not use. */
export function encodeName(spec: CommandSpec): Buffer {
  const { name } = spec;
  spec.encodedName = Buffer.from(`$${Buffer.byteLength(name)}\r\n${name}\r\n`);
  return spec.encodedName;
}

export type { Argument, Reply };
