/**
 * HyperLogLog: PFADD, PFCOUNT, PFMERGE.
 */

import { HyperLogLog } from "../keyspace/hyperloglog";
import { ErrorReply, OK, type ReplyValue, Status } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, word } from "./arguments";

const NOT_ONE = "WRONGTYPE Key is not a valid HyperLogLog string value.";
const CORRUPTED = "INVALIDOBJ Corrupted HLL object detected";

function read(caller: Caller, key: string): HyperLogLog | undefined {
  const text = caller.database.readString(key);
  if (text === undefined) return undefined;
  if (!HyperLogLog.isOne(text)) throw new ErrorReply(NOT_ONE);
  const found = HyperLogLog.parse(text);
  if (found === null) throw new ErrorReply(CORRUPTED);
  return found;
}

function write(caller: Caller, key: string, log: HyperLogLog): void {
  caller.database.set(key, log.toString(), { expireAt: "keep", form: "raw" });
}

function pfadd(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 1);
  const present = read(caller, key);
  const log = present ?? HyperLogLog.empty();
  let isChanged = present === undefined;
  for (const element of args.slice(2)) if (log.add(element)) isChanged = true;
  if (!isChanged) return 0;
  log.touch();
  write(caller, key, log);
  caller.database.modified(key, "$", "pfadd");
  return 1;
}

function pfcount(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length === 2) {
    const log = read(caller, at(args, 1));
    if (log === undefined) return 0;
    const { value, isFresh } = log.count();
    // The string keeps its estimate until it changes.
    if (!isFresh) {
      write(caller, at(args, 1), log);
      caller.database.touched(at(args, 1));
    }
    return value;
  }
  const all = HyperLogLog.empty();
  for (const key of args.slice(1)) {
    const log = read(caller, key);
    if (log !== undefined) all.merge(log);
  }
  return all.registers.some((value) => value > 0) ? all.count().value : 0;
}

function pfmerge(caller: Caller, args: readonly string[]): ReplyValue {
  const target = at(args, 1);
  const sources = args.slice(1).map((key) => read(caller, key));
  const merged = sources[0] ?? HyperLogLog.empty();
  for (const log of sources.slice(1)) if (log !== undefined) merged.merge(log);
  merged.touch();
  write(caller, target, merged);
  caller.database.modified(target, "$", "pfadd");
  return OK;
}

function pfdebug(caller: Caller, args: readonly string[]): ReplyValue {
  const log = read(caller, at(args, 2));
  if (log === undefined) throw new ErrorReply("ERR The specified key does not exist");
  switch (word(args, 1)) {
    case "ENCODING":
      return new Status(log.encoding);
    case "GETREG":
      return [...log.registers];
    case "TODENSE": {
      const isSparse = log.encoding === "sparse";
      log.densify();
      write(caller, at(args, 2), log);
      return isSparse ? 1 : 0;
    }
    default:
      throw new ErrorReply(`ERR Unknown PFDEBUG subcommand '${at(args, 1)}'`);
  }
}

export const hyperLogLogHandlers: Handlers = { pfadd, pfcount, pfmerge, pfdebug };
