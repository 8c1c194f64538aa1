/**
 * One connection: its bytes in, its replies out, and its state (protocol, database, user,
 * transaction, subscriptions). Requests run one after the other; a connection that is held (it
 * waits for data, for a fault's delay, for the interpreter to load) keeps the rest for later.
 */

import { BLOCKED, ErrorReply, NoReply, QUEUED, type ReplyValue } from "../protocol/reply";
import { writePush, writeReply } from "../protocol/reply-writer";
import { RequestError, RequestParser } from "../protocol/request-parser";
import { refusalError, refusalOf } from "./acl-check";
import { CallerState } from "./caller";
import { logRefusal } from "./client-line";
import { keysOf } from "./command-keys";
import { Flag } from "./flags";
import type { ClientSession, CommandEntry, ReplyMode, ServerEngine } from "./model";
import type { TrackingMode } from "./tracking";
import type { Transaction } from "./transaction";
import type { WatchList } from "./watch-list";

/** The carrier of the bytes of a connection. */
export interface Transport {
  readonly remoteAddress: string;
  readonly localAddress: string;
  write(bytes: string): void;
  /** Sends the written bytes, then ends the connection. */
  end(): void;
  destroy(): void;
}

/** The commands that a connection in subscriber mode may send in RESP2. */
const SUBSCRIBER_COMMANDS: ReadonlySet<string> = new Set([
  "subscribe",
  "unsubscribe",
  "psubscribe",
  "punsubscribe",
  "ssubscribe",
  "sunsubscribe",
  "ping",
  "quit",
  "reset",
]);
/** Commands that a pause of writes holds as well. */
const MAY_REPLICATE: ReadonlySet<string> = new Set([
  "eval",
  "evalsha",
  "fcall",
  "pfcount",
  "publish",
  "spublish",
]);
/** Commands that run immediately inside MULTI. */
const NEVER_QUEUED: ReadonlySet<string> = new Set(["exec", "discard", "multi", "watch", "quit", "reset"]);

export class Session extends CallerState implements ClientSession {
  readonly isScript = false;
  readonly id: number;
  readonly connectedAt: number;
  name = "";
  library = { name: "", version: "" };
  isAuthenticated: boolean;
  transaction: Transaction | null = null;
  watched: WatchList | null = null;
  trackingMode: TrackingMode | null = null;
  replyMode: ReplyMode = "on";
  /** ASKING was the last command. */
  isAsking = false;
  /** READONLY: a replica answers reads. */
  readsReplica = false;
  isMonitor = false;
  isRunning = false;
  isNoEvict = false;
  isNoTouch = false;
  lastCommand = "NULL";
  lastActiveAt: number;
  readonly subscriptions = {
    channels: new Set<string>(),
    patterns: new Set<string>(),
    shardChannels: new Set<string>(),
  };
  private readonly parser = new RequestParser();
  private output = "";
  private later = "";
  /** A fault's delay or the interpreter's loading holds it. */
  private holds = 0;
  private isClosing = false;
  private delayTimer: NodeJS.Timeout | undefined;
  /** It came while the server was paused. */
  private postponed: string[] | null = null;

  constructor(
    engine: ServerEngine,
    private readonly transport: Transport,
  ) {
    super(engine);
    this.id = engine.takeSessionId();
    this.connectedAt = engine.clock.now;
    this.lastActiveAt = this.connectedAt;
    this.isAuthenticated = engine.acl.defaultUser.isOpen;
    engine.sessions.set(this.id, this);
    engine.connectionCount++;
  }

  get session(): Session {
    return this;
  }

  get address(): string {
    return this.transport.remoteAddress;
  }

  get localAddress(): string {
    return this.transport.localAddress;
  }

  get subscriptionCount(): number {
    return this.subscriptions.channels.size + this.subscriptions.patterns.size;
  }

  /** Bytes have come. */
  receive(chunk: Buffer): void {
    this.parser.push(chunk);
    this.engine.tick();
    this.goOn();
    this.engine.alarm.set();
  }

  /** Runs the received requests that may run now. */
  goOn(): void {
    while (!this.isClosing && this.holds === 0 && !this.engine.blocking.isWaiting(this)) {
      const args = this.postponed ?? this.nextRequest();
      if (args === null) break;
      if (args.length === 0) continue;
      this.postponed = this.engine.pause === null || !this.mustWait(args) ? null : args;
      if (this.postponed !== null) break;
      if (this.engine.faults.delayMs > 0) this.runLater(args, this.engine.faults.delayMs);
      else this.run(args);
    }
    this.flush();
  }

  /** Whether a pause holds this request: all requests, or those that may write. */
  private mustWait(args: readonly string[]): boolean {
    if (this.engine.pause?.onlyWrites === false) return true;
    const { transaction } = this;
    const mayWrite = (flags: number, name: string): boolean =>
      (flags & Flag.Write) !== 0 || MAY_REPLICATE.has(name);
    const name = (args[0] as string).toLowerCase();
    if (name === "exec")
      return transaction?.commands.some(({ entry }) => mayWrite(entry.flags, entry.name)) ?? false;
    const entry = this.engine.commands.get(name);
    return entry !== undefined && transaction === null && mayWrite(entry.flags, entry.name);
  }

  private runLater(args: string[], delayMs: number): void {
    const goOn = this.hold();
    this.delayTimer = setTimeout(() => {
      this.run(args);
      goOn();
    }, delayMs);
  }

  write(bytes: string): void {
    this.output += bytes;
    if (!this.isRunning) this.flush();
  }

  /** An unrequested message; sent immediately, or after the replies of the current run. */
  push(values: readonly ReplyValue[]): void {
    this.write(writePush(values, this.protocol));
  }

  /** As `push`, but behind the reply of the command that runs now. */
  pushLater(values: readonly ReplyValue[]): void {
    if (this.isRunning) this.later += writePush(values, this.protocol);
    else this.push(values);
  }

  flush(): void {
    if (this.output === "") return;
    const bytes = this.output;
    this.output = "";
    this.transport.write(bytes);
  }

  /** It waited and has its answer. */
  unblock(reply: ReplyValue): void {
    this.reply(reply);
    this.goOn();
  }

  reply(value: ReplyValue): void {
    if (value instanceof NoReply) return;
    if (this.replyMode === "on") this.output += writeReply(value, this.protocol);
    else if (this.replyMode === "skip") this.replyMode = "on";
  }

  /** Keeps requests until the returned function is called. */
  hold(): () => void {
    this.holds++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.holds--;
      this.engine.tick();
      this.goOn();
      this.engine.alarm.set();
    };
  }

  /** Sends the pending replies, then ends the connection. */
  close(): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.flush();
    this.transport.end();
    this.forget();
  }

  /** Ends the connection immediately. */
  kill(): void {
    this.isClosing = true;
    this.transport.destroy();
    this.forget();
  }

  /** The other side is gone. */
  forget(): void {
    this.isClosing = true;
    clearTimeout(this.delayTimer);
    const { engine } = this;
    if (!engine.sessions.delete(this.id)) return;
    engine.blocking.forget(this);
    engine.monitors.delete(this);
    this.unwatch();
    if (this.trackingMode !== null) engine.tracking.stop(this);
    this.leaveAllChannels();
  }

  unwatch(): void {
    if (this.watched === null) return;
    this.watched = null;
    this.engine.watchCount--;
  }

  leaveAllChannels(): void {
    for (const kind of ["channels", "patterns", "shardChannels"] as const) {
      for (const name of this.subscriptions[kind]) this.engine.pubsub.remove(kind, name, this);
      this.subscriptions[kind].clear();
    }
  }

  private nextRequest(): string[] | null {
    try {
      return this.parser.next();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.reply(new ErrorReply(`ERR Protocol error: ${error.message}`));
      this.close();
      return null;
    }
  }

  private run(args: string[]): void {
    this.isRunning = true;
    const { engine } = this;
    try {
      this.lastActiveAt = engine.clock.now;
      if (engine.faults.isActive && engine.faults.intercept(this, args)) return;
      this.replyMode = this.replyMode === "skip-next" ? "skip" : this.replyMode;
      const reply = this.outcomeOf(args);
      this.reply(reply);
      if (this.later !== "") {
        this.output += this.later;
        this.later = "";
      }
    } finally {
      this.isRunning = false;
    }
    if (engine.blocking.size > 0) engine.blocking.serve();
  }

  private outcomeOf(args: string[]): ReplyValue {
    let entry: CommandEntry;
    try {
      entry = this.admit(args);
    } catch (error) {
      if (!(error instanceof ErrorReply)) throw error;
      const reply = this.refused(args, error);
      this.endOneShots("");
      return reply;
    }
    this.lastCommand = entry.name;
    const { engine, transaction } = this;
    if (transaction !== null && !NEVER_QUEUED.has(entry.name)) {
      transaction.add(entry, args);
      return QUEUED;
    }
    if (
      entry.group === "scripting"
        ? !engine.scripting.isLoaded
        : entry.name === "exec" && transaction?.needsScripting
    ) {
      return this.afterLoading(entry, args);
    }
    const reply = engine.call(this, entry, args);
    this.endOneShots(entry.name);
    return reply;
  }

  /** A refused EXEC ends the transaction, any other command spoils it. */
  private refused(args: readonly string[], error: ErrorReply): ErrorReply {
    if (args[0]?.toLowerCase() !== "exec") {
      this.transaction?.spoil();
      return error;
    }
    this.transaction = null;
    this.unwatch();
    const reason = error.message.startsWith("ERR ") ? error.message.slice(4) : error.message;
    return new ErrorReply(`EXECABORT Transaction discarded because of: ${reason}`);
  }

  /** The interpreter is loaded when the first script comes; the connection waits for it. */
  private afterLoading(entry: CommandEntry, args: readonly string[]): ReplyValue {
    const goOn = this.hold();
    this.engine.scripting.load().then(
      () => {
        this.reply(this.engine.call(this, entry, args));
        this.endOneShots(entry.name);
        this.engine.blocking.serve();
        goOn();
      },
      (error: Error) => {
        this.reply(new ErrorReply(`ERR ${error.message}`));
        goOn();
      },
    );
    return BLOCKED;
  }

  /** The state that holds for one command, refused or not, or for one transaction. */
  private endOneShots(name: string): void {
    if (this.transaction !== null) return;
    if (this.isAsking && name !== "asking") this.isAsking = false;
    const mode = this.trackingMode;
    if (mode !== null && mode.nextIs !== null && !name.startsWith("client|")) mode.nextIs = null;
  }

  private checkUser(entry: CommandEntry, args: readonly string[]): void {
    const { engine, user } = this;
    const refused = refusalOf(user, entry, { args, keys: keysOf(entry, args) });
    if (refused === null) return;
    const context = this.transaction === null ? "toplevel" : "multi";
    logRefusal(engine, this, { ...refused, context, username: user.name });
    throw refusalError(user, refused);
  }

  /** Everything that is checked before a command runs or is queued. Throws the error reply. */
  private admit(args: string[]): CommandEntry {
    const entry = this.engine.lookup(args);
    try {
      this.check(entry, args);
    } catch (error) {
      this.engine.countOf(entry).rejected++;
      throw error;
    }
    return entry;
  }

  private check(entry: CommandEntry, args: string[]): void {
    const { engine } = this;
    if (!this.isAuthenticated && (entry.flags & Flag.NoAuth) === 0) {
      throw new ErrorReply("NOAUTH Authentication required.");
    }
    if (!this.user.mayDoAll) this.checkUser(entry, args);
    if (engine.cluster !== null) engine.cluster.route(this, entry, args);
    if (this.protocol === 2 && this.subscriptionCount + this.subscriptions.shardChannels.size > 0) {
      if (!SUBSCRIBER_COMMANDS.has(entry.name)) throw new ErrorReply(inSubscriberMode(entry.name));
    }
    if (this.transaction !== null && (entry.flags & Flag.NoMulti) !== 0) {
      throw new ErrorReply(notInTransaction(entry, engine.version.product));
    }
    if (engine.faults.isActive) engine.faults.refuse(entry.flags);
  }
}

function notInTransaction(entry: CommandEntry, product: string): string {
  const command = product === "valkey" ? `Command '${entry.name}'` : "Command";
  return `ERR ${command} not allowed inside a transaction`;
}

function inSubscriberMode(name: string): string {
  return (
    `ERR Can't execute '${name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET ` +
    "are allowed in this context"
  );
}
