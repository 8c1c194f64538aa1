/**
 * The handshake of a new connection: protocol and credentials, database, name, client info, ready check. All
 * commands are sent in one write. The outcome is known while the last reply is being processed, before any reply
 * to commands behind it. A server without RESP3 gets the login again in its RESP2 form.
 */

import { prepareArguments } from "../command/argument-mappers";
import { type Command, type Completion, Origin } from "../command/command";
import { ownCommand } from "../command/own-command";
import { ConnectionClosedError } from "../errors";
import { hintOnDatabase, hintOnRefusal, isTransientRefusal } from "../observability/hints";
import type { Argument, Reply } from "../protocol/resp-types";
import { addHint } from "../util/error-hint";
import { NAME, VERSION } from "../util/version";
import type { Connection } from "./connection";
import { ConnectionState } from "./connection-state";
import { ServerInfo } from "./server-info";

export type { ServerInfo };

/**
 * A field list that HIMPORT SET refers to by name. A connection loses it when it closes or is reset, so each new one
 * prepares it in its handshake, before any command of the user.
 */
export interface Fieldset {
  readonly name: string | Buffer;
  readonly fields: readonly (string | Buffer)[];
}

export interface HandshakeOptions {
  readonly protocol?: number | undefined;
  readonly replyMapping?: "legacy" | "resp3" | undefined;
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

export const DEFAULT_LOADING_RETRY_MS = 10_000;

export type HandshakeOutcome =
  | { kind: "ready"; info: ServerInfo }
  | { kind: "loading"; delayMs: number }
  /** `isTransient`: the next attempt may succeed, so commands wait. `isLogin`: the login was refused. */
  | { kind: "failed"; error: Error; isTransient: boolean; isLogin?: boolean };

/** `said` is the error text as the server sent it; in the error itself credentials are masked. */
type Answer = { value: Reply; error: null; said: "" } | { value: null; error: Error; said: string };

/** The completion of commands that the connection sends on its own account. */
class Request implements Completion {
  /** The text of the current error reply before its credentials were masked. */
  said: string | null = null;

  constructor(
    private readonly onAnswered: (answer: Answer, command: Command) => void,
    readonly isFormality = false,
  ) {}

  fulfil(command: Command, value: Reply): void {
    this.onAnswered({ value, error: null, said: "" }, command);
  }

  reject(command: Command, error: Error): void {
    const { said } = this;
    this.said = null;
    this.onAnswered({ value: null, error, said: said ?? error.message }, command);
  }
}

/** Keeps the text of an error reply to a request before it is masked. */
export function noteUnmasked({ completion }: Command, error: Error): void {
  if (completion instanceof Request) completion.said = error.message;
}

/** Whether the command belongs to a handshake that ignores its reply. */
export function isFormality({ completion }: Command): boolean {
  return completion instanceof Request && completion.isFormality;
}

/** Sends one command past all queues; never rejects. Options may be of any type: a password can be a number. */
export function request(connection: Connection, name: string, args: unknown[]): Promise<Answer> {
  return new Promise((resolve) => send(connection, [makeRequest(name, args, new Request(resolve))]));
}

export function prepareArgumentsOf({ name, fields }: Fieldset): Argument[] {
  return ["PREPARE", name, ...fields];
}

function makeRequest(name: string, args: unknown[], completion: Request): Command {
  const prepared = prepareArguments({ name, argumentMapper: null }, args);
  return ownCommand(Origin.Connection, name, prepared, completion);
}

function send(connection: Connection, commands: readonly Command[]): void {
  if (connection.state !== ConnectionState.Closed) connection.dispatchBatch(commands);
  else for (const command of commands) command.fail(new ConnectionClosedError());
}

export interface Introduction {
  /**
   * The databases that the connection must be able to select, including those of waiting commands: no command
   * may run in another database because its SELECT was refused. The last database in the list stays selected.
   */
  readonly databases: readonly number[];
  readonly options: HandshakeOptions;
  readonly credentials: Credentials;
}

export interface HandshakeListener {
  /** An error that does not end the connection. */
  onError(error: Error): void;
  /** Commands follow the handshake in the same write. */
  isFollowed?(): boolean;
  /** The server does not know RESP3. The login is sent again, because the commands behind it ran without one. */
  onSecondLogin?(): void;
  /** Called once, while its last reply is processed: replies to commands behind the handshake follow. */
  onOutcome(outcome: HandshakeOutcome): void;
}

/** Keeps the replies that matter, and judges them when the last one has arrived. */
export class Handshake {
  /** Replies that the outcome waits for. */
  private unanswered = 0;
  /** The server does not know RESP3 and has not checked the credentials. */
  private isRepeated = false;
  private login: Answer | null = null;
  /** The first database that cannot be selected. */
  private select: { readonly db: number; readonly answer: Answer } | null = null;
  private fieldsetErrors: Error[] = [];
  private info: Answer | null = null;
  private readonly question = new Request((answer, command) => {
    this.note(command, answer);
    this.onAnswered();
  });
  private readonly formality = new Request(() => this.onAnswered(), true);

  constructor(
    private readonly connection: Connection,
    private readonly introduction: Introduction,
    private readonly listener: HandshakeListener,
  ) {}

  /** Sends its commands together. Commands that are dispatched next share their write. */
  begin(protocol: 2 | 3 = this.introduction.options.protocol === 2 ? 2 : 3): void {
    const { connection } = this;
    if (protocol === 2) connection.setProtocol(2);
    const commands = this.commandsFor(protocol);
    // One more, because there may be no command, or all of them may fail immediately.
    this.unanswered = commands.length + 1;
    send(connection, commands);
    this.onAnswered();
  }

  private onAnswered(): void {
    if (--this.unanswered !== 0) return;
    if (this.isRepeated) this.repeat();
    else this.listener.onOutcome(this.judge());
  }

  private commandsFor(protocol: 2 | 3): Command[] {
    const { databases, options, credentials } = this.introduction;
    const { connectionName, clientInfoTag: tag, disableClientInfo } = options;
    const commands: Command[] = [];
    const ask = (name: string, args: unknown[], completion = this.question): void =>
      void commands.push(makeRequest(name, args, completion));
    const words = wordsOfLogin(credentials, protocol);
    if (words !== null) ask(...words);
    // A new connection uses database 0.
    if (databases.some((db) => db !== 0)) for (const db of databases) ask("select", [String(db)]);
    if (connectionName) ask("client", ["setname", connectionName], this.formality);
    if (options.readOnly) ask("readonly", [], this.formality);
    if (!disableClientInfo) {
      ask("client", ["SETINFO", "LIB-VER", VERSION], this.formality);
      ask("client", ["SETINFO", "LIB-NAME", tag ? `${NAME}(${tag})` : NAME], this.formality);
      // The ID by which the server identifies this connection. With RESP3, HELLO returns it.
      if (protocol === 2) ask("client", ["ID"]);
    }
    for (const one of options.himportFieldsets ?? []) ask("himport", prepareArgumentsOf(one));
    if (options.enableReadyCheck) ask("info", []);
    return commands;
  }

  private note({ spec, args }: Command, answer: Answer): void {
    const { connection } = this;
    switch (spec.lowerName) {
      case "hello":
      case "auth":
        this.login = answer;
        if (answer.error === null && spec.lowerName === "hello") noteHello(connection, answer.value);
        else if (spec.lowerName === "hello" && lacksResp3(answer.said)) this.downgrade();
        break;
      case "select":
        if (answer.error !== null) this.select ??= { db: Number(args[0]), answer };
        break;
      case "client":
        connection.clientId = wholeNumber(answer.value);
        break;
      case "himport":
        if (answer.error !== null) this.fieldsetErrors.push(answer.error);
        break;
      case "info":
        this.info = answer;
    }
  }

  /** With credentials, the commands behind HELLO ran without a login, so all of them are sent again. */
  private downgrade(): void {
    const { connection, introduction } = this;
    const { replyMapping, disableClientInfo } = introduction.options;
    if (replyMapping === "resp3") {
      console.warn(
        '[WARN] replyMapping "resp3" was requested, but the server does not support RESP3. Legacy reply shapes are used.',
      );
    }
    this.login = null;
    if (hasAny(introduction.credentials)) {
      this.isRepeated = true;
      return;
    }
    connection.setProtocol(2);
    if (disableClientInfo) return;
    // The outcome must be known before the replies to commands behind the handshake, so it does not wait for this one.
    if (this.listener.isFollowed?.() !== true) this.unanswered++;
    send(connection, [makeRequest("client", ["ID"], this.question)]);
  }

  private repeat(): void {
    this.isRepeated = false;
    this.select = null;
    this.fieldsetErrors = [];
    this.listener.onSecondLogin?.();
    this.begin(2);
  }

  private judge(): HandshakeOutcome {
    const { login, select, info, introduction } = this;
    if (login !== null && login.error !== null && !isHarmless(login.said))
      return refused(login, introduction, true);
    // A command that was issued for this database must not run in another one.
    if (select !== null) {
      const { error, said } = select.answer;
      addHint(error as Error, hintOnDatabase(select.db, said));
      return { kind: "failed", error: error as Error, isTransient: isTransientRefusal(said) };
    }
    for (const error of this.fieldsetErrors) this.listener.onError(error);
    if (info === null) return { kind: "ready", info: new ServerInfo("") };
    return judgeInfo(this.connection, info, introduction);
  }
}

/** Records the server's identity from INFO. */
function noteServer(connection: Connection, info: ServerInfo): void {
  connection.serverMode = info.kept("redis_mode") ?? info.kept("server_mode") ?? connection.serverMode;
  connection.serverRunId = info.kept("run_id") ?? null;
  connection.serverVersion = versionIn(info) ?? connection.serverVersion;
}

/** Valkey also reports the version of Redis with which it is compatible. */
function versionIn(info: ServerInfo): string | null {
  for (const name of ["valkey", "redis"]) {
    const version = info.kept(`${name}_version`);
    if (version !== undefined) return `${name} ${version}`;
  }
  return null;
}

/** Records the reply to HELLO, a map that arrives as an object or as a flat list. */
function noteHello(connection: Connection, value: Reply): void {
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

/** Without credentials, the connection acts as the user `default` without a password. */
export function hasAny({ username, password }: Credentials): boolean {
  return Boolean(username) || Boolean(password);
}

function wordsOfLogin(credentials: Credentials, protocol: number): [name: string, args: unknown[]] | null {
  const { username, password } = credentials;
  if (protocol === 3) {
    return ["hello", hasAny(credentials) ? ["3", "AUTH", username || "default", password ?? ""] : ["3"]];
  }
  if (!hasAny(credentials)) return null;
  return ["auth", username ? [username, password ?? ""] : [password ?? ""]];
}

function wholeNumber(value: unknown): number | null {
  return Number.isInteger(Number(value ?? Number.NaN)) ? Number(value) : null;
}

function lacksResp3(said: string): boolean {
  return said.startsWith("NOPROTO") || /unknown command/i.test(said);
}

function refused(
  { error, said }: Answer,
  { credentials }: Pick<Introduction, "credentials">,
  isLogin = false,
): HandshakeOutcome {
  addHint(error as Error, hintOnRefusal(said, Boolean(credentials.password)));
  return { kind: "failed", error: error as Error, isTransient: isTransientRefusal(said), isLogin };
}

/** Evaluates the reply to INFO: the server is ready, or is loading its data and must be asked again. */
export function judgeInfo(
  connection: Connection,
  answer: Answer,
  introduction: Pick<Introduction, "options" | "credentials">,
): HandshakeOutcome {
  if (answer.error !== null) {
    if (!answer.said.includes("NOPERM")) return refused(answer, introduction);
    console.warn(
      `Skipping the ready check because INFO command fails: "${answer.error.message}". You can disable ready check with "enableReadyCheck".`,
    );
    return { kind: "ready", info: new ServerInfo("") };
  }
  const info = new ServerInfo(String(answer.value));
  if ((info.fields["loading"] ?? "0") === "0") {
    noteServer(connection, info);
    return { kind: "ready", info };
  }
  const etaMs = Number(info.fields["loading_eta_seconds"] ?? 1) * 1000;
  const maxMs = introduction.options.maxLoadingRetryTime ?? DEFAULT_LOADING_RETRY_MS;
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
