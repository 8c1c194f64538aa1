/**
 * INFO, CONFIG, COMMAND, DEBUG, TIME and other commands about the server as a whole.
 */

import { integerOf, parseInteger } from "../protocol/numbers";
import {
  ANSWERED,
  ErrorReply,
  MapReply,
  OK,
  type ReplyValue,
  Status,
  VerbatimReply,
} from "../protocol/reply";
import { keysOf } from "../server/command-keys";
import { Flag } from "../server/flags";
import { infoText } from "../server/info";
import type { Caller, CommandEntry, Handlers } from "../server/model";
import { at, NO_SUCH_KEY, NOT_POSITIVE, syntaxError, word } from "./arguments";
import { sessionOf } from "./connection";
import { encodingOf } from "./encodings";

const FLAG_NAMES: readonly (readonly [number, string])[] = [
  [Flag.Write, "write"],
  [Flag.Readonly, "readonly"],
  [Flag.DenyOom, "denyoom"],
  [Flag.Admin, "admin"],
  [Flag.Pubsub, "pubsub"],
  [Flag.NoScript, "noscript"],
  [Flag.Blocking, "blocking"],
  [Flag.Loading, "loading"],
  [Flag.Stale, "stale"],
  [Flag.Fast, "fast"],
  [Flag.NoAuth, "no_auth"],
  [Flag.NoMulti, "no_multi"],
  [Flag.MovableKeys, "movablekeys"],
  [Flag.AllowBusy, "allow_busy"],
];

function describeCommand(entry: CommandEntry): ReplyValue {
  const flags = FLAG_NAMES.filter(([bit]) => (entry.flags & bit) !== 0).map(([, name]) => new Status(name));
  const subcommands = [...(entry.subcommands?.values() ?? [])].map(describeCommand);
  return [entry.name, entry.arity, flags, ...entry.keys, [], [], [], subcommands];
}

function commandInfo(caller: Caller, args: readonly string[]): ReplyValue {
  const { commands } = caller.engine;
  if (args.length === 2) return [...commands.values()].map(describeCommand);
  return args.slice(2).map((name) => {
    const [parent = "", child] = name.toLowerCase().split("|");
    const entry = commands.get(parent);
    const found = child === undefined ? entry : entry?.subcommands?.get(child);
    return found === undefined ? null : describeCommand(found);
  });
}

function getKeys(caller: Caller, args: readonly string[]): ReplyValue {
  const request = args.slice(2);
  let entry: CommandEntry;
  try {
    entry = caller.engine.lookup(request);
  } catch (error) {
    const isUnknown = (error as Error).message.startsWith("ERR unknown");
    throw new ErrorReply(
      isUnknown ? "ERR Invalid command specified" : "ERR Invalid number of arguments specified for command",
    );
  }
  const keys = keysOf(entry, request);
  if (keys.length === 0) throw new ErrorReply("ERR The command has no key arguments");
  return keys;
}

function configSet(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length % 2 === 1) throw syntaxError();
  const pairs: [string, string][] = [];
  for (let index = 2; index < args.length; index += 2) pairs.push([at(args, index), at(args, index + 1)]);
  caller.engine.configuration.set(pairs);
  for (const [name, value] of pairs) {
    if (name.toLowerCase() === "requirepass") caller.engine.acl.setDefaultPassword(value);
  }
  return OK;
}

function debugObject(caller: Caller, args: readonly string[]): ReplyValue {
  const entry = caller.database.find(at(args, 2));
  if (entry === undefined) throw new ErrorReply(NO_SUCH_KEY);
  const encoding = encodingOf(entry, caller.engine);
  return new Status(
    `Value at:0x0 refcount:1 encoding:${encoding} serializedlength:1 lru:1 lru_seconds_idle:0`,
  );
}

/** DEBUG of real servers has dozens of forms; these are the ones that tests use. */
function debug(caller: Caller, args: readonly string[]): ReplyValue {
  const { engine } = caller;
  switch (word(args, 1)) {
    case "SLEEP": {
      const goOn = sessionOf(caller).hold();
      setTimeout(
        () => {
          sessionOf(caller).reply(OK);
          goOn();
        },
        Number(at(args, 2)) * 1000,
      );
      return ANSWERED;
    }
    case "OBJECT":
      return debugObject(caller, args);
    case "SET-ACTIVE-EXPIRE":
    case "JMAP":
      return OK;
    case "ERROR":
      throw new ErrorReply(at(args, 2));
    default:
      throw new ErrorReply(
        `ERR TestServer does not support DEBUG ${word(args, 1)} of version ${engine.version.name}`,
      );
  }
}

function time(caller: Caller): ReplyValue {
  const { now } = caller.engine.clock;
  return [String(Math.floor(now / 1000)), String((now % 1000) * 1000)];
}

function memoryUsage(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 2);
  const value = caller.database.find(key)?.value;
  if (value === undefined) return null;
  return 56 + key.length + (typeof value === "string" ? value.length : 64 * value.size);
}

function slowlogGet(_caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length > 2 && integerOf(at(args, 2)) < -1)
    throw new ErrorReply("ERR count should be greater than or equal to -1");
  return [];
}

function wait(caller: Caller, args: readonly string[]): ReplyValue {
  if (integerOf(at(args, 2), "ERR timeout is not an integer or out of range") < 0) {
    throw new ErrorReply("ERR timeout is negative");
  }
  // There are no replicas that could confirm.
  integerOf(at(args, 1));
  return caller.engine.cluster?.replicaCount ?? 0;
}

/** The server has no file to write and no replicas; a waiting caller gets zeros when its timeout is over. */
function waitaof(_caller: Caller, args: readonly string[]): ReplyValue {
  const local = integerOf(at(args, 1));
  if (local !== 0 && local !== 1) {
    throw new ErrorReply("ERR value is out of range, value must between 0 and 1");
  }
  const replicas = parseInteger(at(args, 2));
  if (replicas === null || replicas < 0) throw new ErrorReply(NOT_POSITIVE);
  if (integerOf(at(args, 3), "ERR timeout is not an integer or out of range") < 0) {
    throw new ErrorReply("ERR timeout is negative");
  }
  if (local === 1) {
    throw new ErrorReply("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
  }
  return [0, 0];
}

export const serverHandlers: Handlers = {
  info: (caller, args) => new VerbatimReply(infoText(caller.engine, args.slice(1))),
  time,
  lolwut: (caller) => new VerbatimReply(`Redis ver. ${caller.engine.version.redisVersion}\n`),
  command: (caller) => [...caller.engine.commands.values()].map(describeCommand),
  "command|count": (caller) => caller.engine.commands.size,
  "command|info": commandInfo,
  "command|list"(caller, args) {
    if (args.length > 2) throw syntaxError();
    return [...caller.engine.commands.keys()];
  },
  "command|getkeys": getKeys,
  "config|get": (caller, args) => new MapReply(caller.engine.configuration.matching(args.slice(2))),
  "config|set": configSet,
  "config|resetstat"(caller) {
    caller.engine.resetCounts();
    return OK;
  },
  "config|rewrite"() {
    throw new ErrorReply("ERR The server is running without a config file");
  },
  debug,
  role: (caller) => (caller.engine.cluster === null ? ["master", 0, []] : caller.engine.cluster.role()),
  "memory|usage": memoryUsage,
  "memory|purge": () => OK,
  "memory|doctor": () =>
    new VerbatimReply(
      "Hi Sam, this instance is empty or is using very little memory, my issue detector can't be used in these conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam and I will be back to our programming as soon as I finished rebooting.\n",
    ),
  "slowlog|get": slowlogGet,
  "slowlog|len": () => 0,
  "slowlog|reset": () => OK,
  "latency|latest": () => [],
  "latency|history": () => [],
  "latency|reset": () => 0,
  "module|list": () => [],
  lastsave: (caller) => Math.floor(caller.engine.startedAt / 1000),
  wait,
  waitaof,
  monitor(caller) {
    const session = sessionOf(caller);
    if (!session.isMonitor) caller.engine.monitors.add(session);
    session.isMonitor = true;
    return OK;
  },
};
