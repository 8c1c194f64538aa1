/**
 * Sends the reads of a client to the replicas of its server, and all other commands to the primary. The primary serves a
 * read if no replica can take it, if the read could miss a write of this client (`readYourWrites`), or if it depends on
 * the state of the connection: MULTI, WATCH, a cursor. A read that a replica returns or loses is sent to the primary once.
 *
 *   commands -> ReplicaReads -> the link of the primary
 *                          \--> the link of a replica --(lost, LOADING, MASTERDOWN ...)--> the link of the primary
 *
 * One server serves all reads of a batch that make the same choice. The rows of a pipeline keep their order, because each
 * command knows its position.
 */

import { flagsOf, isIndependent } from "../command/batch";
import { type Command, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { ownCommand } from "../command/own-command";
import { hasCursor, isReplicaRead } from "../command/replica-read";
import type { Connection } from "../connection/connection";
import { request } from "../connection/handshake";
import type { Link } from "../link/link";
import type { LinkStatus } from "../link/link-state";
import { chooseReader, type Reader, type ReaderPreference } from "../link/reader-choice";
import { followDb } from "../link/selected-db";
import { SESSION_FLAGS } from "../link/session";
import { type Looker, sharedIntervals } from "../util/shared-interval";
import { callUser } from "../util/user-code";
import { type OwnWrites, WriteNotes, WriteObserver } from "./own-writes";
import {
  Primary,
  Replica,
  type ReplicaAddress,
  type ReplicaListener,
  replicaKey,
  replicasIn,
  type ServerClient,
} from "./replica";

/** In ms. Two checks fit into the promised second: one sends the request, the next one reads the reply. */
const CHECK_MS = 400;
/** The server could not serve the read, and has not run it. A script may be unknown at a replica only. */
const CANNOT_SERVE = /^(?:LOADING|MASTERDOWN|BUSY|CLUSTERDOWN) /;
const ELSEWHERE = /^NOSCRIPT /;

export interface ReplicaReadsDeps<Client extends ServerClient> {
  /** Null: those that the primary reports. */
  readonly addresses: readonly ReplicaAddress[] | null;
  /** Calls without a choice of their own go to the primary. */
  readonly isOnRequest: boolean;
  readonly preference: ReaderPreference;
  /** Null: reads do not depend on writes. */
  readonly writes: OwnWrites | null;
  open(address: ReplicaAddress, listener: ReplicaListener): Client;
  /** The reachable address of a replica that the primary reports. */
  reach(address: ReplicaAddress): ReplicaAddress;
}

export class ReplicaReads<Client extends ServerClient = ServerClient> implements Dispatcher, Looker {
  private readonly replicas = new Map<string, Replica<Client>>();
  private readonly self: Primary;
  /** The servers among which a read chooses. */
  private readers: readonly Reader[] = [];
  /** The candidates for a read that requires a replica. */
  private ofReplicas: readonly Replica<Client>[] = [];
  private readonly link: Link;
  /** Reads that wait for the primary. */
  private returned: Command[] = [];
  private wanted: ReadonlyMap<string, ReplicaAddress>;
  /** The connection over which the primary was asked for its replicas and has not replied. */
  private asked: Connection | null = null;
  /** False from a new connection to the primary, which may be another server, until the reply about its replicas. */
  private isWantedKnown = true;
  /** Resolvers of `leave()`. */
  private whenEnded: (() => void)[] = [];

  constructor(
    private readonly primary: Dispatcher,
    client: ServerClient,
    private readonly deps: ReplicaReadsDeps<Client>,
  ) {
    this.link = client.link;
    this.self = new Primary(client);
    this.wanted = byKey(deps.addresses ?? []);
  }

  // --- Dispatcher --------------------------------------------------------------------------

  dispatch(command: Command): void {
    const replica = this.mayLeavePrimary(command) ? this.choose(isForReplica(command)) : null;
    if (replica === null) this.primary.dispatch(command);
    else this.linkOf(replica).dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    const parts =
      (flagsOf(commands) & SESSION_FLAGS) === 0 ? this.divide(commands) : new Map([[null, commands]]);
    for (const [replica, part] of parts) {
      if (replica === null) {
        this.primary.dispatchBatch(part);
        continue;
      }
      // Each read of a pipeline may be repeated alone.
      for (const command of part) if (!isIndependent(command.batch)) command.batch = null;
      this.linkOf(replica).dispatchBatch(part);
    }
  }

  /** The commands of a batch by the replica that serves them; null: the primary, which comes first. */
  private divide(commands: readonly Command[]): Map<Replica<Client> | null, Command[]> {
    const choices = new Map<boolean, Replica<Client> | null>();
    const parts = new Map<Replica<Client> | null, Command[]>([[null, []]]);
    for (const command of commands) {
      let replica: Replica<Client> | null = null;
      if (this.mayLeavePrimary(command)) {
        const isForced = isForReplica(command);
        if (!choices.has(isForced)) choices.set(isForced, this.choose(isForced));
        replica = choices.get(isForced) ?? null;
      }
      const part = parts.get(replica);
      if (part === undefined) parts.set(replica, [command]);
      else part.push(command);
    }
    if (parts.get(null)?.length === 0) parts.delete(null);
    return parts;
  }

  /** The dispatcher in front of all others of the client. Its writes may be sent on any connection. */
  observe(next: Dispatcher): WriteObserver | null {
    const { writes } = this.deps;
    return writes === null ? null : new WriteObserver(next, writes);
  }

  /** Observes the writes on another connection of the client. */
  makeNotes(): WriteNotes | null {
    const { writes } = this.deps;
    return writes === null ? null : new WriteNotes(writes);
  }

  // --- lifecycle ---------------------------------------------------------------------------

  /** The state of the primary's link has changed. */
  onStatus(status: LinkStatus): void {
    if (status === "connecting") {
      sharedIntervals.join(this, CHECK_MS);
      this.openMissing();
    } else if (status === "ready") {
      this.isWantedKnown = this.deps.addresses !== null;
      for (const replica of this.replicas.values()) replica.doubt();
      this.discover();
      this.checkReplicas();
      this.learnZoneOf(this.self);
    } else if (status === "end") {
      sharedIntervals.leave(this, CHECK_MS);
      this.sendReturned();
      for (const replica of this.replicas.values()) retire(replica);
    }
  }

  /** Sends QUIT after all reads. Resolves when the connections to the replicas have ended. */
  leave(): Promise<void> {
    sharedIntervals.leave(this, CHECK_MS);
    const ended = new Promise<void>((resolve) => {
      this.whenEnded.push(resolve);
    });
    for (const replica of this.replicas.values()) {
      if (replica.link.isWritable) replica.link.dispatch(quitOfClient());
      else retire(replica);
    }
    this.onFewer();
    return ended;
  }

  look(): boolean {
    this.sendReturned();
    this.discover();
    this.openMissing();
    this.checkReplicas();
    return true;
  }

  private checkReplicas(): void {
    if (!this.isWantedKnown) return;
    for (const [key, replica] of this.replicas) {
      if (!this.wanted.has(key)) replica.isRetired = true;
      if (!replica.isRetired) replica.check();
      // The watchdog of the link closes a dead connection.
      else if (replica.link.isIdle && !replica.link.isClosing) replica.link.disconnect();
    }
  }

  /** The replicas by `host:port`. */
  get all(): ReadonlyMap<string, Replica<Client>> {
    return this.replicas;
  }

  get links(): Link[] {
    return [...this.replicas.values()].map(({ link }) => link);
  }

  // --- private -----------------------------------------------------------------------------

  /** An address whose former connection is still closing waits for the next check. */
  private openMissing(): void {
    for (const [key, address] of this.wanted) {
      if (this.replicas.has(key)) continue;
      this.replicas.set(key, this.open(key, address));
      this.noteReaders();
    }
  }

  private noteReaders(): void {
    const { isNearest } = this.deps.preference;
    this.ofReplicas = [...this.replicas.values()];
    this.readers = isNearest ? [this.self, ...this.ofReplicas] : this.ofReplicas;
  }

  private learnZoneOf(server: Primary | Replica<Client>): void {
    if (this.deps.preference.zone !== undefined) server.learnZone();
  }

  /** Asks the primary for its replicas, unless the reply would be part of a transaction opened by hand. */
  private discover(): void {
    const { connection, isWritable, mode, session } = this.link;
    if (this.deps.addresses !== null || connection === null || this.asked === connection) return;
    if (!isWritable || mode !== "normal" || session.isInTransaction) return;
    this.asked = connection;
    void request(connection, "role", []).then(({ value }) => {
      // A former connection may lead to another server.
      if (this.asked !== connection) return;
      this.asked = null;
      const found = replicasIn(value);
      if (found === null || this.link.isLeaving) return;
      this.wanted = byKey(found.map((address) => callUser(() => this.deps.reach(address)) ?? address));
      this.openMissing();
      if (this.isWantedKnown) return;
      this.isWantedKnown = true;
      this.checkReplicas();
    });
  }

  private open(key: string, address: ReplicaAddress): Replica<Client> {
    const replica: Replica<Client> = new Replica(
      this.deps.open(address, {
        onStatus: (status) => this.onReplicaStatus(key, replica, status),
        onReplyError: (command, error) => this.onReplyError(replica, command, error),
      }),
    );
    replica.link.connect().catch(() => {});
    return replica;
  }

  private onReplicaStatus(key: string, replica: Replica<Client>, status: LinkStatus): void {
    if (status === "ready") {
      replica.doubt();
      if (this.isWantedKnown) replica.check();
      this.learnZoneOf(replica);
    } else if (status === "reconnecting" || status === "end") {
      // The link has decided which of its commands may be sent again.
      for (const command of replica.link.offline.takeAll()) this.returned.push(command);
      this.sendReturned();
    }
    if (status !== "end") return;
    if (this.replicas.get(key) === replica) this.replicas.delete(key);
    this.noteReaders();
    this.onFewer();
  }

  private onReplyError(replica: Replica<Client>, command: Command, error: Error): boolean {
    const cannotServe = CANNOT_SERVE.test(error.message);
    if (cannotServe) replica.doubt();
    else if (!ELSEWHERE.test(error.message)) return false;
    this.returned.push(command);
    this.sendReturned();
    return true;
  }

  /**
   * Sends reads that replicas have returned to the primary, in the database of their call. A transaction opened by hand must
   * not contain them, so they wait for its end.
   */
  private sendReturned(): void {
    const { link } = this;
    if (link.session.isInTransaction && !link.isLeaving) return;
    const { returned } = this;
    this.returned = [];
    for (const command of returned) {
      if (!link.isWritable) link.queueUnsent(command);
      else {
        link.current.send(command);
        link.current.select(link.session.selected.db);
      }
    }
  }

  private onFewer(): void {
    if (this.replicas.size > 0) return;
    for (const resolve of this.whenEnded.splice(0)) resolve();
  }

  /** Whether a replica may serve the command. */
  private mayLeavePrimary(command: Command): boolean {
    if (!isReplicaRead(command)) return false;
    const { spec, args, extra } = command;
    const { session, isLeaving } = this.link;
    if (isLeaving || session.isWatching || session.isDelicate || session.isDbOpen) return false;
    if ((flagsFor(spec, args) & CommandFlag.Blocking) !== 0 || hasCursor(spec)) return false;
    // The server reports changes of a cached key on the connection of its read.
    if (extra !== null && extra.tracked !== null) return false;
    const readFrom = extra?.readFrom ?? null;
    if (readFrom !== null) return readFrom === "replica";
    return !this.deps.isOnRequest && this.deps.writes?.concerns(command) !== true;
  }

  private choose(mustBeReplica: boolean): Replica<Client> | null {
    const chosen = chooseReader<Reader>(mustBeReplica ? this.ofReplicas : this.readers, this.deps.preference);
    return chosen instanceof Replica ? chosen : null;
  }

  /** The link of a replica, switched to the database of the primary's link. */
  private linkOf({ link }: Replica<Client>): Link {
    followDb(link, this.link.session.selected.db);
    return link;
  }
}

function isForReplica({ extra }: Command): boolean {
  return extra?.readFrom === "replica";
}

function byKey(addresses: readonly ReplicaAddress[]): Map<string, ReplicaAddress> {
  return new Map(addresses.map((address) => [replicaKey(address), address]));
}

function retire(replica: Replica): void {
  replica.isRetired = true;
  replica.link.disconnect();
}

function quitOfClient(): Command {
  return ownCommand(Origin.Client, "quit");
}
