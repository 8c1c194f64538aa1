/**
 * CLIENT and its subcommands.
 */

import { integerOf } from "../protocol/numbers";
import { ErrorReply, MapReply, OK, type ReplyValue, VerbatimReply } from "../protocol/reply";
import { describeClient } from "../server/client-line";
import type { Caller, ClientSession, Handlers } from "../server/model";
import type { TrackingMode } from "../server/tracking";
import { at, following, syntaxError, word, wrongWords } from "./arguments";
import { checkName, sessionOf } from "./connection";

type Filter = (session: ClientSession) => boolean;

function typeOf(session: ClientSession): string {
  return session.subscriptionCount + session.subscriptions.shardChannels.size > 0 ? "pubsub" : "normal";
}

function filterOf(caller: Caller, name: string, value: string): Filter {
  switch (name) {
    case "ID": {
      const id = integerOf(value, "ERR client-id should be greater than 0");
      return (session) => session.id === id;
    }
    case "ADDR":
      return (session) => session.address === value;
    case "LADDR":
      return (session) => session.localAddress === value;
    case "TYPE": {
      const type = value.toLowerCase();
      if (!["normal", "master", "replica", "slave", "pubsub"].includes(type)) {
        throw new ErrorReply(`ERR Unknown client type '${value}'`);
      }
      return (session) => typeOf(session) === type;
    }
    case "USER":
      if (!caller.engine.acl.users.has(value)) throw new ErrorReply(`ERR No such user '${value}'`);
      return (session) => session.user.name === value;
    case "MAXAGE": {
      const seconds = integerOf(value);
      return (session) => caller.engine.clock.now - session.connectedAt >= seconds * 1000;
    }
    default:
      throw syntaxError();
  }
}

function list(caller: Caller, args: readonly string[]): ReplyValue {
  let sessions = [...caller.engine.sessions.values()];
  const option = word(args, 2);
  if (option === "ID") {
    const ids = args.slice(3).map((text) => integerOf(text, "ERR Invalid client ID"));
    if (ids.length === 0) throw syntaxError();
    sessions = sessions.filter(({ id }) => ids.includes(id));
  } else if (args.length > 2) {
    for (let index = 2; index < args.length; index += 2) {
      const filter = filterOf(caller, word(args, index), following(args, index));
      sessions = sessions.filter(filter);
    }
  }
  return new VerbatimReply(sessions.map((session) => `${describeClient(session)}\n`).join(""));
}

function kill(caller: Caller, args: readonly string[]): ReplyValue {
  const { sessions } = caller.engine;
  if (args.length === 3) {
    const found = [...sessions.values()].find(({ address }) => address === at(args, 2));
    if (found === undefined) throw new ErrorReply("ERR No such client");
    end(caller, found);
    return OK;
  }
  const filters: Filter[] = [];
  let skipsMe = true;
  for (let index = 2; index < args.length; index += 2) {
    const name = word(args, index);
    const value = following(args, index);
    if (name !== "SKIPME") filters.push(filterOf(caller, name, value));
    else if (/^(yes|no)$/i.test(value)) skipsMe = value.toLowerCase() === "yes";
    else throw syntaxError();
  }
  let count = 0;
  for (const session of [...sessions.values()]) {
    if ((skipsMe && session === caller.session) || !filters.every((filter) => filter(session))) continue;
    end(caller, session);
    count++;
  }
  return count;
}

/** The caller itself gets its reply first. */
function end(caller: Caller, session: ClientSession): void {
  if (session === caller.session) setImmediate(() => session.close());
  else session.kill();
}

function tracking(caller: Caller, args: readonly string[]): ReplyValue {
  const session = sessionOf(caller);
  const { engine } = session;
  const isOn = word(args, 2) === "ON";
  if (!isOn && word(args, 2) !== "OFF") throw syntaxError();
  const mode = { isBroadcast: false, optIn: false, optOut: false, noLoop: false, redirect: 0 };
  const prefixes: string[] = [];
  for (let index = 3; index < args.length; index++) {
    const option = word(args, index);
    if (option === "BCAST") mode.isBroadcast = true;
    else if (option === "OPTIN") mode.optIn = true;
    else if (option === "OPTOUT") mode.optOut = true;
    else if (option === "NOLOOP") mode.noLoop = true;
    else if (option === "PREFIX") prefixes.push(following(args, index++));
    else if (option === "REDIRECT") mode.redirect = redirectOf(session, following(args, index++));
    else throw syntaxError();
  }
  if (!isOn) {
    engine.tracking.stop(session);
    return OK;
  }
  checkTracking(mode, prefixes);
  engine.tracking.start(session, { ...mode, prefixes, nextIs: null } satisfies TrackingMode);
  return OK;
}

function redirectOf(session: ClientSession, text: string): number {
  const id = integerOf(text);
  if (!session.engine.sessions.has(id)) {
    throw new ErrorReply("ERR The client ID you want redirect to does not exist");
  }
  return id;
}

function checkTracking(
  mode: { isBroadcast: boolean; optIn: boolean; optOut: boolean },
  prefixes: string[],
): void {
  if (prefixes.length > 0 && !mode.isBroadcast) {
    throw new ErrorReply("ERR PREFIX option requires BCAST mode to be enabled");
  }
  if (mode.isBroadcast && (mode.optIn || mode.optOut)) {
    throw new ErrorReply("ERR OPTIN and OPTOUT are not compatible with BCAST");
  }
  if (mode.optIn && mode.optOut) {
    throw new ErrorReply("ERR You can't use both OPTIN and OPTOUT at the same time");
  }
}

function caching(caller: Caller, args: readonly string[]): ReplyValue {
  const mode = sessionOf(caller).trackingMode;
  if (mode === null || !(mode.optIn || mode.optOut)) {
    throw new ErrorReply(
      "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
    );
  }
  const choice = word(args, 2);
  if (choice !== "YES" && choice !== "NO") throw syntaxError();
  if (choice === "YES" && !mode.optIn) {
    throw new ErrorReply("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
  }
  if (choice === "NO" && !mode.optOut) {
    throw new ErrorReply("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
  }
  mode.nextIs = choice === "YES" ? "yes" : "no";
  return OK;
}

function trackingInfo(caller: Caller): ReplyValue {
  const mode = sessionOf(caller).trackingMode;
  const flags: string[] = [mode === null ? "off" : "on"];
  if (mode?.isBroadcast) flags.push("bcast");
  if (mode?.optIn) flags.push("optin");
  if (mode?.optOut) flags.push("optout");
  if (mode?.nextIs === "yes") flags.push("caching-yes");
  if (mode?.nextIs === "no") flags.push("caching-no");
  if (mode?.noLoop) flags.push("noloop");
  return new MapReply([
    "flags",
    flags,
    "redirect",
    mode?.redirect ?? -1,
    "prefixes",
    [...(mode?.prefixes ?? [])],
  ]);
}

function setInfo(caller: Caller, args: readonly string[]): ReplyValue {
  const session = sessionOf(caller);
  const name = at(args, 2).toLowerCase();
  const value = at(args, 3);
  if (name !== "lib-name" && name !== "lib-ver") {
    throw new ErrorReply(`ERR Unrecognized option '${at(args, 2)}'`);
  }
  checkName(caller, value, `ERR ${name} cannot contain spaces, newlines or special characters.`);
  session.library = { ...session.library, [name === "lib-name" ? "name" : "version"]: value };
  return OK;
}

function replyMode(caller: Caller, args: readonly string[]): ReplyValue {
  const session = sessionOf(caller);
  switch (word(args, 2)) {
    case "ON":
      session.replyMode = "on";
      return OK;
    case "OFF":
      session.replyMode = "off";
      return OK;
    case "SKIP":
      if (session.replyMode === "on" || session.replyMode === "skip") session.replyMode = "skip-next";
      return OK;
    default:
      throw syntaxError();
  }
}

function unblock(caller: Caller, args: readonly string[]): ReplyValue {
  const id = integerOf(at(args, 2));
  const mode = args.length > 3 ? word(args, 3) : "TIMEOUT";
  if (mode !== "TIMEOUT" && mode !== "ERROR") {
    throw new ErrorReply("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  }
  const session = caller.engine.sessions.get(id);
  if (session === undefined) return 0;
  const error = mode === "ERROR" ? new ErrorReply("UNBLOCKED client unblocked via CLIENT UNBLOCK") : null;
  return caller.engine.blocking.unblock(session, error) ? 1 : 0;
}

function pause(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length > 4) throw new ErrorReply(wrongWords("CLIENT", "pause"));
  const time = integerOf(at(args, 2), "ERR timeout is not an integer or out of range");
  if (time < 0) throw new ErrorReply("ERR timeout is negative");
  const mode = args.length > 3 ? word(args, 3) : "ALL";
  if (mode !== "WRITE" && mode !== "ALL") throw new ErrorReply("ERR CLIENT PAUSE mode must be WRITE or ALL");
  const { engine } = caller;
  const until = Math.max(engine.clock.now + time, engine.pause?.until ?? 0);
  // A pause that holds already is not made weaker.
  engine.pause = { until, onlyWrites: mode === "WRITE" && engine.pause?.onlyWrites !== false };
  return OK;
}

function endPause(caller: Caller): ReplyValue {
  const { engine, session } = caller;
  engine.pause = null;
  for (const other of [...engine.sessions.values()]) if (other !== session) other.goOn();
  return OK;
}

function onOff(args: readonly string[]): boolean {
  const mode = word(args, 2);
  if (mode !== "ON" && mode !== "OFF") throw syntaxError();
  return mode === "ON";
}

export const clientHandlers: Handlers = {
  "client|id": (caller) => sessionOf(caller).id,
  "client|getname": (caller) => sessionOf(caller).name || null,
  "client|setname"(caller, args) {
    sessionOf(caller).name = checkName(caller, at(args, 2));
    return OK;
  },
  "client|setinfo": setInfo,
  "client|info": (caller) => new VerbatimReply(`${describeClient(sessionOf(caller))}\n`),
  "client|list": list,
  "client|kill": kill,
  "client|tracking": tracking,
  "client|caching": caching,
  "client|trackinginfo": trackingInfo,
  "client|getredir": (caller) => sessionOf(caller).trackingMode?.redirect ?? -1,
  "client|reply": replyMode,
  "client|unblock": unblock,
  "client|pause": pause,
  "client|unpause": endPause,
  "client|no-evict"(caller, args) {
    sessionOf(caller).isNoEvict = onOff(args);
    return OK;
  },
  "client|no-touch"(caller, args) {
    sessionOf(caller).isNoTouch = onOff(args);
    return OK;
  },
};
