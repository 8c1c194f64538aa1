/** A script as a caller of commands: the commands that it must not run, and the text of its errors. */

import { scoreTextOf } from "../protocol/numbers";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import { refusalError, refusalOf } from "../server/acl-check";
import { CallerState } from "../server/caller";
import { logRefusal } from "../server/client-line";
import { keysOf } from "../server/command-keys";
import { Flag } from "../server/flags";
import type { Caller, ClientSession, ClusterPlace, CommandEntry } from "../server/model";
import { type LuaValue, RaisedReply } from "./lua-values";

export const NO_ARGUMENTS = {
  redis: "ERR Please specify at least one argument for this redis lib call",
  valkey: "ERR Please specify at least one argument for this call",
} as const;

export class ScriptCaller extends CallerState {
  readonly isScript = true;
  readonly session: ClientSession | null;

  constructor(
    readonly origin: Caller,
    /** EVAL_RO, FCALL_RO and scripts that say so themselves. */
    private readonly isReadonly: boolean,
  ) {
    super(origin.engine);
    this.session = origin.session;
    this.user = origin.user;
    this.databaseIndex = origin.databaseIndex;
    this.isBatch = true;
  }

  /** Runs a command; errors are returned as replies. */
  callCommand(values: readonly LuaValue[]): ReplyValue {
    if (values.length === 0) return new ErrorReply(NO_ARGUMENTS[this.engine.version.product]);
    const args = this.wordsOf(values);
    if (args instanceof ErrorReply) return args;
    try {
      return this.engine.call(this, this.admit(args), args);
    } catch (error) {
      if (error instanceof ErrorReply) return error;
      throw error;
    }
  }

  /** Whether the user may run it; false as well if the rules refuse a key. */
  mayRun(values: readonly LuaValue[]): boolean {
    const args = this.wordsOf(values);
    if (args instanceof ErrorReply) throw new RaisedReply(args.message);
    let entry: CommandEntry;
    try {
      entry = this.engine.lookup(args);
    } catch {
      const library = this.engine.version.product === "valkey" ? "server" : "redis";
      throw new RaisedReply(`ERR Invalid command passed to ${library}.acl_check_cmd()`);
    }
    return refusalOf(this.user, entry, { args, keys: keysOf(entry, args) }) === null;
  }

  /** The words of a command; an error if a value is none. */
  private wordsOf(values: readonly LuaValue[]): string[] | ErrorReply {
    const { version } = this.engine;
    const args: string[] = [];
    for (const value of values) {
      if (typeof value === "string") args.push(value);
      else if (typeof value === "number") args.push(scoreTextOf(value, version.isModern));
      else {
        const subject = version.product === "valkey" ? "Command" : "Lua redis lib command";
        return new ErrorReply(`ERR ${subject} arguments must be strings or integers`);
      }
    }
    return args;
  }

  /** A script stays on its node. */
  private checkSlots(place: ClusterPlace, entry: CommandEntry, args: readonly string[]): void {
    try {
      place.route(this.session as ClientSession, entry, args);
    } catch (error) {
      const isCrossing = (error as Error).message.startsWith("CROSSSLOT");
      throw new ErrorReply(
        isCrossing
          ? "ERR Script attempted to access keys that do not hash to the same slot"
          : "ERR Script attempted to access a non local key in a cluster node",
      );
    }
  }

  private checkUser(entry: CommandEntry, args: readonly string[]): void {
    const { engine, user, session } = this;
    const refused = refusalOf(user, entry, { args, keys: keysOf(entry, args) });
    if (refused === null) return;
    if (session !== null) logRefusal(engine, session, { ...refused, context: "lua", username: user.name });
    throw refusalError(user, refused);
  }

  private admit(args: readonly string[]): CommandEntry {
    const { engine } = this;
    let entry: CommandEntry;
    try {
      entry = engine.lookup(args);
    } catch (error) {
      const brand = engine.version.product === "valkey" ? "" : "Redis ";
      const isUnknown = (error as Error).message.includes("unknown");
      throw new ErrorReply(
        isUnknown
          ? `ERR Unknown ${brand}command called from script`
          : `ERR Wrong number of args calling ${brand}command from script`,
      );
    }
    if ((entry.flags & Flag.NoScript) !== 0) {
      const brand = engine.version.product === "valkey" ? "Valkey" : "Redis";
      throw new ErrorReply(`ERR This ${brand} command is not allowed from script`);
    }
    if (this.isReadonly && (entry.flags & Flag.Write) !== 0) {
      throw new ErrorReply("ERR Write commands are not allowed from read-only scripts.");
    }
    if (!this.user.mayDoAll) this.checkUser(entry, args);
    if (engine.cluster !== null && this.session !== null) this.checkSlots(engine.cluster, entry, args);
    return entry;
  }
}
