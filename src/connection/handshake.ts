/**
 * The handshake of a new connection: protocol and credentials, database, name, client info, ready check. All
 * commands are sent in one write; their replies are evaluated afterwards. A server without RESP3 gets the
 * commands again in their RESP2 form.
 */

import { normalizeArguments } from "../command/argument-mappers";
import { Command, type Completion, issuedBy, Origin } from "../command/command";
import { specOf } from "../command/command-table";
import { ConnectionClosedError } from "../errors";
import { hintOnDatabase, hintOnRefusal, isTransientRefusal } from "../observability/hints";
import type { Reply } from "../protocol/resp-types";
import { addHint } from "../util/error-hint";
import type { Connection } from "./connection";
import { ConnectionState } from "./connection-state";
import { type Fieldset, prepareArgumentsOf, unpreparedFieldsets } from "./fieldsets";
import { ServerInfo } from "./server-info";

export type { ServerInfo };

export interface HandshakeOptions {
  readonly protocol?: number | undefined;
  readonly replyMapping?: string | undefined;
  readonly connectionName?: string | null | undefined;
  readonly readOnly?: boolean | undefined;
  readonly disableClientInfo?: boolean | undefined;
  readonly clientInfoTag?: string | undefined;
  readonly enableReadyCheck?: boolean | undefined;
  readonly himportFieldsets?: readonly Fieldset[] | undefined;
  readonly maxLoadingRetryTime?: number | undefined;
}

export interface Credentials {
  readonly username?: string | null | undefined;
  readonly password?: string | null | undefined;
}

/** The client's own version, sent to the server with CLIENT SETINFO. */
export interface ClientIdentity {
  readonly name: string;
  readonly version: string;
}

export type HandshakeOutcome =
  | { kind: "ready"; info: ServerInfo }
  | { kind: "loading"; delayMs: number }
  /**
   * `isTransient`: the next attempt may succeed without any change, so commands wait for it. `isLogin`: the
   * login was refused.
   */
  | { kind: "failed"; error: Error; isTransient: boolean; isLogin?: boolean };

/** `said` is the error text as the server sent it; in the error itself credentials are masked. */
type Answer = { value: Reply; error: null; said: "" } | { value: null; error: Error; said: string };

/** The completion of commands that the connection sends on its own account. */
class Request implements Completion {
  readonly promise = null;
  readonly answer: Promise<Answer>;
  /** The text of the error reply before its credentials were masked. */
  said: string | null = null;
  private settle!: (answer: Answer) => void;

  constructor() {
    this.answer = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  fulfil(_command: Command, value: Reply): void {
    this.settle({ value, error: null, said: "" });
  }

  reject(_command: Command, error: Error): void {
    this.settle({ value: null, error, said: this.said ?? error.message });
  }
}

/** Keeps the text of an error reply to a request before it is masked. */
export function noteUnmasked(command: Command, error: Error): void {
  if (command.completion instanceof Request) command.completion.said = error.message;
}

/** Sends one command past all queues; never rejects. Options may be of any type: a password can be a number. */
export function request(connection: Connection, name: string, args: unknown[]): Promise<Answer> {
  const asked = new Request();
  dispatchAll(connection, [ownCommand(name, args, asked)]);
  return asked.answer;
}

/** A command that the connection sends on its own account. */
export function ownCommand(name: string, args: unknown[], completion: Completion): Command {
  const command = new Command(specOf(name), normalizeArguments(args, name), false, completion);
  return issuedBy(Origin.Connection, command);
}

function dispatchAll(connection: Connection, commands: readonly Command[]): void {
  const isClosed = connection.state === ConnectionState.Closed;
  for (const command of commands) {
    if (isClosed) command.fail(new ConnectionClosedError());
    else connection.dispatch(command);
  }
}

/** Prepares a fieldset on the server; resolves with null on success. Until then it counts as unprepared. */
export function prepareFieldset(connection: Connection, fieldset: Fieldset): Promise<Error | null> {
  return noteFieldset(connection, fieldset, request(connection, "himport", prepareArgumentsOf(fieldset)));
}

function noteFieldset(
  connection: Connection,
  fieldset: Fieldset,
  answer: Promise<Answer>,
): Promise<Error | null> {
  const unprepared = unpreparedFieldsets(connection);
  const asked = answer.then(({ error }) => {
    if (error === null) unprepared.delete(fieldset);
    else unprepared.set(fieldset, null);
    return error;
  });
  unprepared.set(fieldset, asked);
  return asked;
}

/** The databases that a connection must be able to select. */
export interface Databases {
  /** The database that is selected when it is ready. */
  readonly db: number;
  /**
   * The databases of commands that wait for it: a command must not run in another database because its SELECT
   * was refused.
   */
  readonly otherDbs?: readonly number[];
}

/** The identity of the client and its settings. */
export interface Introduction extends Databases {
  readonly options: HandshakeOptions;
  readonly credentials: Credentials;
  readonly identity: ClientIdentity;
}

/** Runs the handshake; `onError` receives errors that do not end the connection. */
export async function handshake(
  connection: Connection,
  introduction: Introduction,
  onError: (error: Error) => void,
): Promise<HandshakeOutcome> {
  const { options } = introduction;
  const wanted = options.protocol === 2 ? 2 : 3;
  const first = await introduce(connection, introduction, wanted);
  if (!first.isDowngraded) return noteServer(connection, judge(first, introduction, onError));
  if (options.replyMapping === "resp3") {
    console.warn(
      '[WARN] replyMapping "resp3" was requested, but the server does not support RESP3. Legacy reply shapes are used.',
    );
  }
  const second = await introduce(connection, introduction, 2);
  return noteServer(connection, judge(second, introduction, onError));
}

/** Records the server's identity from INFO. */
function noteServer(connection: Connection, outcome: HandshakeOutcome): HandshakeOutcome {
  if (outcome.kind === "ready") {
    const { info } = outcome;
    connection.serverMode = info.kept("redis_mode") ?? info.kept("server_mode") ?? connection.serverMode;
    connection.serverRunId = info.kept("run_id") ?? null;
    connection.serverVersion = versionIn(info) ?? connection.serverVersion;
  }
  return outcome;
}

/** Valkey also reports the version of Redis with which it is compatible. */
function versionIn(info: ServerInfo): string | null {
  for (const name of ["valkey", "redis"]) {
    const version = info.kept(`${name}_version`);
    if (version !== undefined) return `${name} ${version}`;
  }
  return null;
}

interface Answers {
  isDowngraded: boolean;
  login: Answer | null;
  selects: { readonly db: number; readonly answer: Answer }[];
  fieldsets: readonly (Error | null)[];
  info: Answer | null;
}

async function introduce(
  connection: Connection,
  introduction: Introduction,
  protocol: 2 | 3,
): Promise<Answers> {
  const { login, dbs, selected, formalities, id, fieldsets, info } = say(connection, introduction, protocol);
  const loginAnswer = await login;
  if (loginAnswer !== null && protocol === 3) noteHello(connection, loginAnswer);
  if (protocol === 2) connection.setProtocol(2);
  const [selects, prepared, infoAnswer, idAnswer] = await Promise.all([
    Promise.all(selected),
    Promise.all(fieldsets),
    info,
    id,
    formalities.answered,
  ]);
  if (idAnswer !== null) connection.clientId = wholeNumber(idAnswer.value);
  return {
    isDowngraded: protocol === 3 && loginAnswer !== null && lacksResp3(loginAnswer.said),
    login: loginAnswer,
    selects: selects.map((answer, index) => ({ db: dbs[index] as number, answer })),
    fieldsets: prepared,
    info: infoAnswer,
  };
}

/** The pending replies, in the order of the requests. */
interface Said {
  readonly login: Promise<Answer> | null;
  readonly dbs: readonly number[];
  readonly selected: readonly Promise<Answer>[];
  readonly formalities: Formalities;
  readonly id: Promise<Answer> | null;
  readonly fieldsets: readonly Promise<Error | null>[];
  readonly info: Promise<Answer> | null;
}

/**
 * Sends the commands, in the order of the fields. It is separate from the function that awaits the replies: the
 * engine counts each await as a call, and would compile all of this after some hundred connections. For the
 * same reason the commands are dispatched together.
 */
function say(connection: Connection, introduction: Introduction, protocol: 2 | 3): Said {
  const { options, credentials } = introduction;
  const list: Command[] = [];
  const ask = (name: string, args: unknown[]): Promise<Answer> => {
    const asked = new Request();
    list.push(ownCommand(name, args, asked));
    return asked.answer;
  };
  const words = wordsOfLogin(credentials, protocol);
  const dbs = databasesOf(introduction);
  const said: Said = {
    login: words === null ? null : ask(...words),
    dbs,
    selected: dbs.map((db) => ask("select", [String(db)])),
    formalities: new Formalities(introduction, list),
    // With RESP3, HELLO has returned it already. The server identifies this connection by it.
    id: protocol === 2 && !options.disableClientInfo ? ask("client", ["ID"]) : null,
    fieldsets: (options.himportFieldsets ?? []).map((one) =>
      noteFieldset(connection, one, ask("himport", prepareArgumentsOf(one))),
    ),
    info: options.enableReadyCheck ? ask("info", []) : null,
  };
  dispatchAll(connection, list);
  return said;
}

/**
 * Commands of a handshake that may fail: their replies are ignored, and one promise reports that all have
 * arrived.
 */
class Formalities implements Completion {
  readonly promise = null;
  /** Null without such commands. */
  readonly answered: Promise<void> | null = null;
  private unanswered = 0;
  private settle: (() => void) | null = null;

  /** @param list Receives the commands. */
  constructor(
    { options, identity }: Introduction,
    private readonly list: Command[],
  ) {
    const { connectionName, clientInfoTag: tag } = options;
    if (connectionName) this.add("client", ["setname", connectionName]);
    if (options.readOnly) this.add("readonly", []);
    if (!options.disableClientInfo) {
      this.add("client", ["SETINFO", "LIB-VER", identity.version]);
      this.add("client", ["SETINFO", "LIB-NAME", tag ? `${identity.name}(${tag})` : identity.name]);
    }
    if (this.unanswered > 0) this.answered = new Promise((resolve) => (this.settle = resolve));
  }

  fulfil(): void {
    if (--this.unanswered === 0) this.settle?.();
  }

  reject(): void {
    this.fulfil();
  }

  private add(name: string, args: unknown[]): void {
    this.unanswered++;
    this.list.push(ownCommand(name, args, this));
  }
}

/** Whether the reply is ignored. */
export function isFormality({ completion }: Command): boolean {
  return completion instanceof Formalities;
}

/** Records the reply to HELLO, a map that arrives as an object or as a flat list. */
function noteHello(connection: Connection, { value, error }: Answer): void {
  if (error !== null) return;
  connection.setProtocol(3);
  const told = (Array.isArray(value) ? mapOf(value) : (value ?? {})) as Record<string, Reply>;
  connection.clientId = wholeNumber(told["id"]);
  connection.serverMode = String(told["mode"] ?? "") || null;
  if (told["version"] !== undefined) {
    connection.serverVersion = `${String(told["server"])} ${String(told["version"])}`;
  }
}

function mapOf(list: readonly Reply[]): Record<string, Reply> {
  const map: Record<string, Reply> = Object.create(null);
  for (let index = 0; index + 1 < list.length; index += 2)
    map[String(list[index])] = list[index + 1] as Reply;
  return map;
}

/** The databases to select, in this order; a new connection has 0. */
function databasesOf({ db, otherDbs = [] }: Databases): readonly number[] {
  return db === 0 && otherDbs.length === 0 ? [] : [...otherDbs, db];
}

function wordsOfLogin(
  { username, password }: Credentials,
  protocol: 2 | 3,
): [name: string, args: unknown[]] | null {
  const hasCredentials = Boolean(username) || Boolean(password);
  if (protocol === 3) {
    return ["hello", hasCredentials ? ["3", "AUTH", username || "default", password ?? ""] : ["3"]];
  }
  if (!hasCredentials) return null;
  return ["auth", username ? [username, password ?? ""] : [password ?? ""]];
}

function wholeNumber(value: unknown): number | null {
  return Number.isInteger(Number(value ?? Number.NaN)) ? Number(value) : null;
}

function lacksResp3(said: string): boolean {
  return said.startsWith("NOPROTO") || /unknown command/i.test(said);
}

function judge(
  said: Answers,
  { options, credentials }: Introduction,
  onError: (error: Error) => void,
): HandshakeOutcome {
  const { login, selects } = said;
  if (login !== null && login.error !== null && !isHarmless(login.said)) {
    return refused(login, Boolean(credentials.password), true);
  }
  // A command that was issued for this database must not run in another one.
  for (const { db, answer } of selects) {
    if (answer.error === null) continue;
    addHint(answer.error, hintOnDatabase(db, answer.said));
    return { kind: "failed", error: answer.error, isTransient: isTransientRefusal(answer.said) };
  }
  for (const error of said.fieldsets) if (error !== null) onError(error);
  if (said.info === null) return { kind: "ready", info: new ServerInfo("") };
  const outcome = judgeInfo(said.info, options);
  return outcome.kind === "failed" ? refused(said.info, Boolean(credentials.password)) : outcome;
}

function refused({ error, said }: Answer, hasPassword: boolean, isLogin = false): HandshakeOutcome {
  addHint(error as Error, hintOnRefusal(said, hasPassword));
  return { kind: "failed", error: error as Error, isTransient: isTransientRefusal(said), isLogin };
}

/** Evaluates the reply to INFO: ready, or loading its data and to be asked again. */
export function judgeInfo(answer: Answer, options: HandshakeOptions): HandshakeOutcome {
  if (answer.error !== null) {
    if (!answer.said.includes("NOPERM")) {
      return { kind: "failed", error: answer.error, isTransient: isTransientRefusal(answer.said) };
    }
    console.warn(
      `Skipping the ready check because INFO command fails: "${answer.error.message}". You can disable ready check with "enableReadyCheck".`,
    );
    return { kind: "ready", info: new ServerInfo("") };
  }
  const info = new ServerInfo(String(answer.value));
  if ((info.field("loading") ?? "0") === "0") return { kind: "ready", info };
  const etaMs = Number(info.field("loading_eta_seconds") ?? 1) * 1000;
  const maxMs = options.maxLoadingRetryTime ?? 10000;
  return { kind: "loading", delayMs: Number.isFinite(etaMs) ? Math.min(etaMs, maxMs) : maxMs };
}

/** Errors of AUTH that mean that no login was needed; reported once and ignored. */
function isHarmless(said: string): boolean {
  if (said.includes("no password is set")) {
    console.warn("[WARN] Redis server does not require a password, but a password was supplied.");
  } else if (said.includes("without any password configured for the default user")) {
    console.warn(
      "[WARN] This Redis server's `default` user does not require a password, but a password was supplied",
    );
  } else if (said.includes("wrong number of arguments for 'auth' command")) {
    console.warn(
      `[ERROR] The server returned "wrong number of arguments for 'auth' command". You are probably passing both username and password to Redis version 5 or below. You should only pass the 'password' option for Redis version 5 and under.`,
    );
  } else return false;
  return true;
}
