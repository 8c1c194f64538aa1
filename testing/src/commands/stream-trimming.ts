/** How XADD and XTRIM shorten a stream: MAXLEN or MINID, exact or by whole nodes, with references or without. */

import type { StreamEntry, StreamId, StreamValue } from "../keyspace/stream-value";
import { integerOf } from "../protocol/numbers";
import { ErrorReply } from "../protocol/reply";
import type { Caller } from "../server/model";
import { following, syntaxError, word } from "./arguments";
import { parseId } from "./stream-ids";
import {
  deleteReferences,
  isReferenced,
  isReferenceStrategy,
  type ReferenceStrategy,
} from "./stream-references";

export interface Trim {
  readonly strategy: "MAXLEN" | "MINID";
  readonly isApproximate: boolean;
  readonly length: number;
  readonly minimum: StreamId;
}

/** The options of a command that shortens a stream, as far as they have been read. */
export class TrimOptions {
  private trim: Trim | null = null;
  private limit: number | null = null;
  private references: ReferenceStrategy | null = null;

  constructor(private readonly caller: Caller) {}

  /** Reads the option that stands there; the index of the argument behind it, or `from` if it is another option. */
  read(args: readonly string[], from: number): number {
    const option = word(args, from);
    if (option === "LIMIT") {
      this.limit = readLimit(args, from);
      return from + 2;
    }
    if (
      isReferenceStrategy(option) &&
      this.references === null &&
      this.caller.engine.version.name === "8.2"
    ) {
      this.references = option;
      return from + 1;
    }
    if (option !== "MAXLEN" && option !== "MINID") return from;
    if (this.trim !== null) {
      throw new ErrorReply("ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
    }
    return this.readThreshold(option, args, from + 1);
  }

  /** All options have been read; XTRIM cannot do without a strategy. */
  check(needsStrategy: boolean): void {
    const { trim, limit } = this;
    if (trim === null && limit !== null && limit > 0) {
      throw new ErrorReply("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
    }
    if (trim === null && needsStrategy) {
      throw new ErrorReply("ERR syntax error, XTRIM must be called with a trimming strategy");
    }
    if (limit !== null && trim?.isApproximate !== true) {
      throw new ErrorReply("ERR syntax error, LIMIT cannot be used without the special ~ option");
    }
  }

  /** Shortens the stream; how many entries went. */
  apply(stream: StreamValue): number {
    const { trim, references } = this;
    if (trim === null) return 0;
    const excess =
      trim.strategy === "MAXLEN" ? Math.max(0, stream.size - trim.length) : stream.indexOf(trim.minimum);
    const isKept = references === null || references === "KEEPREF";
    if (trim.isApproximate) return isKept ? stream.removeFirst(this.inNodes(excess, stream.size)) : 0;
    if (isKept) return stream.removeFirst(excess);
    return references === "DELREF"
      ? removeWithReferences(stream, excess)
      : removeUnreferenced(stream, excess, trim);
  }

  private readThreshold(strategy: Trim["strategy"], args: readonly string[], from: number): number {
    let index = from;
    const sign = args[index];
    const isApproximate = sign === "~";
    // A sign with nothing behind it is taken for the threshold.
    if ((sign === "~" || sign === "=") && index + 1 < args.length) index++;
    const threshold = args[index++];
    if (threshold === undefined) throw syntaxError();
    const length = strategy === "MAXLEN" ? integerOf(threshold) : 0;
    if (length < 0) throw new ErrorReply("ERR The MAXLEN argument must be >= 0.");
    const minimum = strategy === "MINID" ? parseId(threshold) : 0n;
    this.trim = { strategy, isApproximate, length, minimum };
    return index;
  }

  /** Whole nodes only, and no more entries than the limit; the last node is whole if all of it goes. */
  private inNodes(excess: number, size: number): number {
    const node = this.caller.engine.configuration.number("stream-node-max-entries") || 100;
    const limit = (this.limit ?? node * 100) || Number.POSITIVE_INFINITY;
    if (excess === size && size <= limit) return excess;
    return Math.floor(Math.min(excess, limit) / node) * node;
  }
}

function readLimit(args: readonly string[], index: number): number {
  const limit = integerOf(following(args, index));
  if (limit < 0) throw new ErrorReply("ERR The LIMIT argument must be >= 0.");
  return limit;
}

function removeWithReferences(stream: StreamValue, excess: number): number {
  for (const { id } of stream.entries.slice(0, excess)) deleteReferences(stream, id);
  return stream.removeFirst(excess);
}

/** Entries that a group still needs are passed over; MAXLEN goes on behind it until the stream is short enough. */
function removeUnreferenced(stream: StreamValue, excess: number, { strategy }: Trim): number {
  const before = stream.size;
  const reach = strategy === "MAXLEN" ? before : excess;
  let removed = 0;
  stream.entries = stream.entries.filter(({ id }: StreamEntry, index) => {
    if (index >= reach || removed === excess || isReferenced(stream, id)) return true;
    removed++;
    return false;
  });
  return before - stream.size;
}
