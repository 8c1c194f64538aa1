/**
 * Follows the replies on the connection of a link that change its state: databases, protocol, RESET, MONITOR, QUIT.
 *
 * Judges every error reply: the command fails with it, is sent again, or is redirected by the cluster.
 *
 * After a failover a connection may lead to a server that cannot serve: a former master (READONLY), a replica
 * without its master (MASTERDOWN), one that loads its data (LOADING). Such a server has not run the command, so
 * the link reconnects, resolves the address again and sends it once more. If the error repeats, it goes to the
 * caller, and the next reconnect waits: an application that writes to a replica on purpose sees the error and
 * keeps the connection.
 */

import { type Command, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { type Fate, fateOf } from "../command/fate";
import type { ReplyRules } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import { isFormality, noteUnmasked } from "../connection/handshake";
import type { Subscriptions } from "../connection/subscriptions";
import { ReplyError } from "../errors";
import { hintOnUnknown, isTurnedAway } from "../observability/hints";
import { attachCommand } from "../observability/redact";
import type { Reply } from "../protocol/resp-types";
import { addHint } from "../util/error-hint";
import { clockMs } from "../util/scheduling";
import { callUser } from "../util/user-code";
import type { CurrentConnection } from "./current-connection";
import type { LinkDeps, LinkOptions } from "./link-options";
import type { OfflineQueue } from "./offline-queue";
import { OpenTransaction } from "./open-transaction";
import type { Session } from "./session";

export interface LinkReplyDeps {
  readonly options: LinkOptions;
  readonly current: CurrentConnection;
  readonly offline: OfflineQueue;
  readonly session: Session;
  readonly subscriptions: Subscriptions;
  readonly fieldsets: { recovers(command: Command, error: Error): boolean; prepareAll(): void };
  reconnect(): void;
  onTurnedAway(error: Error): void;
  report(type: string, error: Error): void;
  onQuit(): void;
  onMonitoring(): void;
  updateDirect(): void;
}

const WRONG_SERVER = /^(READONLY|MASTERDOWN|LOADING) /;
const FIRST_QUIET_MS = 1000;
const LONGEST_QUIET_MS = 30_000;

export class LinkReplies implements ReplyRules {
  private quietMs = FIRST_QUIET_MS;
  private lastLeftMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly deps: LinkReplyDeps,
    private readonly cluster: Pick<LinkDeps, "redirects">,
  ) {}

  follow(command: Command, reply: Reply): void {
    // The handshake judges its replies itself.
    if (command.origin === Origin.Connection) return;
    const { deps } = this;
    const { connection } = deps.current;
    const { flags, lowerName } = command.spec;
    if (lowerName === "hello") {
      const version = Number(command.args[0]);
      if (version === 2 || version === 3) connection?.setProtocol(version);
    }
    if ((flags & CommandFlag.Exec) !== 0 && command.group instanceof OpenTransaction)
      command.group.nameErrors(reply);
    // "QUEUED" inside a transaction.
    if ((flags & CommandFlag.Select) !== 0 && String(reply) === "OK")
      deps.current.agreed = Number(command.args[0]);
    if ((flags & CommandFlag.Reset) !== 0) {
      deps.subscriptions.clear();
      connection?.setProtocol(2);
      deps.fieldsets.prepareAll();
    }
    if ((flags & CommandFlag.Monitor) !== 0) {
      if (connection !== null) connection.isMonitoring = true;
      deps.onMonitoring();
    }
    if ((flags & CommandFlag.Quit) !== 0) deps.onQuit();
    deps.updateDirect();
  }

  judge(command: Command, error: Error): boolean {
    const { deps } = this;
    if (command.origin === Origin.Connection) return this.judgeOwn(command, error);
    if (error instanceof ReplyError) attachCommand(error, command.spec.name, command.args);
    if ((command.spec.flags & CommandFlag.Multi) !== 0) this.onMultiRefused(error);
    if (deps.current.unblocker?.takes(command, error)) return true;
    const { message } = error;
    const fate = fateOf(command, { kind: "error reply", message, isServerLeft: false });
    if (fate.ending === null) return this.carryOut(command, fate);
    if (deps.fieldsets.recovers(command, error)) return true;
    if ((command.spec.flags & CommandFlag.Select) !== 0) this.onSelectRefused(command);
    if ((command.spec.flags & CommandFlag.Monitor) !== 0) deps.report("error", error);
    const otherwise = fateOf(command, { kind: "error reply", message, isServerLeft: true });
    if (this.isAskedAgain(command, error) && this.carryOut(command, otherwise)) return true;
    if (this.cluster.redirects(command, error)) return true;
    if (this.leavesServer(error) && this.carryOut(command, otherwise)) return true;
    addHint(error, hintOnUnknown(error.message, deps.current.connection?.serverMode ?? null));
    return false;
  }

  /** Handles an error of the connection's own command. Ignored errors are not even described. */
  private judgeOwn(command: Command, error: Error): boolean {
    const { current } = this.deps;
    const isEarly = current.connection?.state === ConnectionState.Handshaking;
    const turnsAway = isEarly && isTurnedAway(error.message);
    if (!turnsAway && isFormality(command)) {
      command.fulfilMapped(null);
      return true;
    }
    noteUnmasked(command, error);
    if (error instanceof ReplyError) attachCommand(error, command.spec.name, command.args);
    if (turnsAway) this.deps.onTurnedAway(error);
    return false;
  }

  /** A connection is ready: leaving the previous one was right if this one leads to a master. */
  onArrival(role: string | undefined): void {
    if (role === "master") this.quietMs = FIRST_QUIET_MS;
  }

  /** MULTI has failed, so the commands behind it are not a transaction. */
  private onMultiRefused({ message }: Error): void {
    // Inside a transaction, which continues.
    if (message.includes("nested")) return;
    this.deps.session.selected.abandonOpen();
    this.deps.current.abandonOpen();
  }

  /** A SELECT has failed: the previous database is still selected, unless another SELECT followed. */
  private onSelectRefused(command: Command): void {
    const { session, current } = this.deps;
    if (session.selected.db !== Number(command.args[0])) return;
    session.selected.db = command.db;
    current.setDb(command.db);
  }

  /** Returns true when the command is sent again. */
  private carryOut(command: Command, { does, endsBatch }: Fate): boolean {
    const { current, offline } = this.deps;
    if (endsBatch) command.group?.refuse();
    if (does === "goes again on the next connection") offline.requeue(command);
    else if (does === "goes again on this connection") {
      // It is sent with the text of its script.
      current.connection?.scripts.forget(command.extra?.script?.sha ?? "");
      current.resend(command);
    } else return false;
    return true;
  }

  /** Asks `reconnectOnError`, and reconnects if it says so. Returns true if the command is sent again. */
  private isAskedAgain(command: Command, error: Error): boolean {
    const decide = this.deps.options.reconnectOnError;
    if (typeof decide !== "function" || (command.spec.flags & CommandFlag.IgnoresReconnectOnError) !== 0)
      return false;
    const verdict = callUser(() => decide(error));
    if (verdict === 2 || verdict === true || verdict === 1) this.deps.reconnect();
    return verdict === 2;
  }

  /** The server cannot serve: reconnects to another one. */
  private leavesServer(error: Error): boolean {
    const { options, current } = this.deps;
    const { connection } = current;
    if (!WRONG_SERVER.test(error.message) || options.readOnly || options.role === "slave") return false;
    if (typeof options.reconnectOnError === "function" || typeof options.retryStrategy !== "function")
      return false;
    if (connection?.state !== ConnectionState.Draining && !this.mayLeave()) return false;
    if (connection?.state === ConnectionState.Ready) this.deps.reconnect();
    return true;
  }

  private mayLeave(): boolean {
    const nowMs = clockMs();
    const sinceMs = nowMs - this.lastLeftMs;
    if (sinceMs < this.quietMs) return false;
    this.quietMs =
      sinceMs > 2 * LONGEST_QUIET_MS ? FIRST_QUIET_MS : Math.min(this.quietMs * 2, LONGEST_QUIET_MS);
    this.lastLeftMs = nowMs;
    return true;
  }
}
