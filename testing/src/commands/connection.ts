/**
 * The commands about the connection itself: PING, AUTH, HELLO, SELECT, RESET, QUIT.
 */

import { integerOf } from "../protocol/numbers";
import { ErrorReply, MapReply, OK, PONG, type ReplyValue, Status } from "../protocol/reply";
import { logRefusal } from "../server/client-line";
import type { Caller, ClientSession, Handlers } from "../server/model";
import { at, following, word } from "./arguments";

const NAME = /^[!-~]*$/;
const BAD_NAME = "ERR Client names cannot contain spaces, newlines or special characters.";

export function checkName({ engine }: Caller, text: string, message: string = BAD_NAME): string {
  // Servers since Redis 7.2 read it up to the first byte 0, and keep it whole.
  const [name = ""] = engine.version.isModern ? text.split("\0", 1) : [text];
  if (!NAME.test(name)) throw new ErrorReply(message);
  return text;
}

export function sessionOf(caller: Caller): ClientSession {
  if (caller.session === null) throw new ErrorReply("ERR This command needs a connection");
  return caller.session;
}

function ping(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length > 2) throw new ErrorReply("ERR wrong number of arguments for 'ping' command");
  const { session } = caller;
  if (session !== null && caller.protocol === 2 && session.subscriptionCount > 0)
    return ["pong", args[1] ?? ""];
  return args[1] ?? PONG;
}

function logIn(session: ClientSession, name: string, password: string): void {
  const { acl } = session.engine;
  try {
    session.user = acl.authenticate(name, password);
  } catch (error) {
    const context = "toplevel";
    logRefusal(session.engine, session, { reason: "auth", context, object: "auth", username: name });
    throw error;
  }
  session.isAuthenticated = true;
}

function auth(caller: Caller, args: readonly string[]): ReplyValue {
  const session = sessionOf(caller);
  if (args.length > 3) throw new ErrorReply("ERR syntax error");
  const { defaultUser } = session.engine.acl;
  if (args.length === 2 && defaultUser.needsNoPassword) {
    throw new ErrorReply(
      "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
    );
  }
  if (args.length === 2) logIn(session, "default", at(args, 1));
  else logIn(session, at(args, 1), at(args, 2));
  return OK;
}

interface Greeting {
  protocol: 2 | 3;
  login: readonly [string, string] | null;
  name: string | null;
}

function greetingOf(caller: Caller, args: readonly string[]): Greeting {
  const greeting: Greeting = { protocol: sessionOf(caller).protocol, login: null, name: null };
  if (args.length > 1) {
    const version = integerOf(at(args, 1), "ERR Protocol version is not an integer or out of range");
    if (version !== 2 && version !== 3) throw new ErrorReply("NOPROTO unsupported protocol version");
    greeting.protocol = version;
  }
  for (let index = 2; index < args.length; index++) {
    const option = word(args, index);
    if (option === "AUTH" && index + 2 < args.length) {
      greeting.login = [at(args, index + 1), at(args, index + 2)];
      index += 2;
    } else if (option === "SETNAME" && index + 1 < args.length) {
      greeting.name = checkName(caller, following(args, index++));
    } else throw new ErrorReply(`ERR Syntax error in HELLO option '${at(args, index)}'`);
  }
  return greeting;
}

function hello(caller: Caller, args: readonly string[]): ReplyValue {
  const session = sessionOf(caller);
  const { engine } = session;
  const greeting = greetingOf(caller, args);
  if (greeting.login !== null) logIn(session, ...greeting.login);
  if (!session.isAuthenticated) {
    throw new ErrorReply(
      "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
    );
  }
  session.protocol = greeting.protocol;
  if (greeting.name !== null) session.name = greeting.name;
  const { version } = engine;
  const facts: ReplyValue[] = ["server", version.product, "version", version.serverVersion];
  facts.push(
    "proto",
    session.protocol,
    "id",
    session.id,
    "mode",
    engine.cluster === null ? "standalone" : "cluster",
  );
  facts.push("role", engine.cluster?.isReplica ? "replica" : "master");
  if (version.product === "valkey") facts.push("availability_zone", "");
  facts.push("modules", []);
  return new MapReply(facts);
}

function select(caller: Caller, args: readonly string[]): ReplyValue {
  const index = integerOf(at(args, 1), "ERR value is not an integer or out of range");
  if (caller.engine.cluster !== null && index !== 0) {
    throw new ErrorReply("ERR SELECT is not allowed in cluster mode");
  }
  if (caller.engine.allDatabases[index] === undefined) throw new ErrorReply("ERR DB index is out of range");
  caller.databaseIndex = index;
  return OK;
}

function reset(caller: Caller): ReplyValue {
  const session = sessionOf(caller);
  const { engine } = session;
  session.transaction = null;
  session.unwatch();
  session.leaveAllChannels();
  if (session.trackingMode !== null) engine.tracking.stop(session);
  engine.monitors.delete(session);
  session.isMonitor = false;
  session.protocol = 2;
  session.databaseIndex = 0;
  session.name = "";
  session.replyMode = "on";
  session.isAsking = false;
  session.readsReplica = false;
  session.user = engine.acl.defaultUser;
  session.isAuthenticated = session.user.isOpen;
  return new Status("RESET");
}

export const connectionHandlers: Handlers = {
  ping,
  echo: (_caller, args) => at(args, 1),
  auth,
  hello,
  select,
  reset,
  quit(caller) {
    const session = sessionOf(caller);
    session.reply(OK);
    session.close();
    return OK;
  },
  asking(caller) {
    if (caller.engine.cluster === null)
      throw new ErrorReply("ERR This instance has cluster support disabled");
    sessionOf(caller).isAsking = true;
    return OK;
  },
  readonly(caller) {
    if (caller.engine.cluster === null)
      throw new ErrorReply("ERR This instance has cluster support disabled");
    sessionOf(caller).readsReplica = true;
    return OK;
  },
  readwrite(caller) {
    if (caller.engine.cluster === null)
      throw new ErrorReply("ERR This instance has cluster support disabled");
    sessionOf(caller).readsReplica = false;
    return OK;
  },
};
