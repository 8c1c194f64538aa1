/**
 * One replica: its link, and whether it takes reads. It takes reads while it is connected and its last reply
 * to ROLE says that it is connected to its primary. It takes none before the first reply, and none after an
 * error that shows that it cannot serve. It takes none while a reply to ROLE is due and no data arrives.
 * After a pause of this process it takes none until the next reply.
 */

import type { Command } from "../command/command";
import { request } from "../connection/handshake";
import { ServerInfo } from "../connection/server-info";
import type { Link } from "../link/link";
import type { LinkStatus } from "../link/link-state";
import { Distance, type MeasuredTrips, type Reader } from "../link/reader-choice";
import { isHost, parsePort } from "../util/address-checks";
import { clockMs } from "../util/scheduling";

/** Replies of a server that forbids ROLE or does not know it: only its connection can be judged. */
const CANNOT_TELL = /^(?:NOPERM|ERR unknown command)/;

/** No ROLE is in flight. */
const NOT_ASKED = 0;
const NEVER = Number.NEGATIVE_INFINITY;
/** The primary takes over from a replica that cannot serve within this time (docs/replicas.md). */
const SOUND_MS = 1000;

export interface ReplicaAddress {
  readonly host: string;
  readonly port: number;
}

/** Receives the events of a replica's link. */
export interface ReplicaListener {
  readonly onStatus: (status: LinkStatus) => void;
  /** An error reply. Returns true when the command was taken over. */
  readonly onReplyError: (command: Command, error: Error) => boolean;
}

/** The client of one server. */
export interface ServerClient {
  readonly link: Link;
  readonly roundTrips: MeasuredTrips;
}

/** `host:port`. */
export function replicaKey({ host, port }: ReplicaAddress): string {
  return `${host}:${port}`;
}

/** A server that can be chosen for a read. */
class ReadingServer<Client extends ServerClient> {
  zone: string | undefined = undefined;
  private readonly distance: Distance;

  constructor(readonly client: Client) {
    this.distance = new Distance(client.roundTrips);
  }

  get link(): Link {
    return this.client.link;
  }

  distanceMs(nowMs: number): number | null {
    return this.distance.read(nowMs);
  }

  /** Asks for the availability zone, which Valkey 8.1 and later report. */
  learnZone(): void {
    const { connection } = this.link;
    if (connection === null) return;
    void request(connection, "info", ["server"]).then(({ value }) => {
      if (typeof value === "string") this.zone = new ServerInfo(value).kept("availability_zone") || undefined;
    });
  }
}

/** The primary, which is one of the nodes for `scaleReads: "nearest"`. */
export class Primary extends ReadingServer<ServerClient> implements Reader {
  get takesReads(): boolean {
    return this.link.isWritable;
  }
}

export class Replica<Client extends ServerClient = ServerClient>
  extends ReadingServer<Client>
  implements Reader
{
  /** It has left the list of replicas, or its client is closing: it takes no reads and ends when it is idle. */
  isRetired = false;
  /** The time of the latest sign that it is connected to its primary. */
  private soundAtMs = NEVER;
  private askedAtMs = NOT_ASKED;

  get takesReads(): boolean {
    return !this.isRetired && this.link.isWritable && clockMs() - this.soundAtMs < SOUND_MS;
  }

  /** Takes no reads until it has answered the next check. */
  doubt(): void {
    this.soundAtMs = NEVER;
    this.askedAtMs = NOT_ASKED;
  }

  /** Sends ROLE, or notices that the last one has no reply. */
  check(): void {
    const { connection, isWritable } = this.link;
    if (connection === null || !isWritable) return;
    if (this.askedAtMs !== NOT_ASKED) {
      // A replica that is sending a long reply is alive.
      if (connection.lastArrivalMs < this.askedAtMs) this.soundAtMs = NEVER;
      else if (this.soundAtMs !== NEVER) this.soundAtMs = connection.lastArrivalMs;
      return;
    }
    const askedAtMs = clockMs();
    this.askedAtMs = askedAtMs;
    void request(connection, "role", []).then(({ value, error }) => {
      // A reply to a ROLE that was sent before the last `doubt()` proves nothing.
      if (this.askedAtMs !== askedAtMs) return;
      this.askedAtMs = NOT_ASKED;
      const isSound = error === null ? isFollowing(value) : CANNOT_TELL.test(error.message);
      this.soundAtMs = isSound ? askedAtMs : NEVER;
    });
  }
}

/** The replicas in the reply to ROLE of a primary, `[role, offset, [[host, port, offset], ...]]`; null for others. */
export function replicasIn(role: unknown): ReplicaAddress[] | null {
  if (!Array.isArray(role) || role[0] !== "master" || !Array.isArray(role[2])) return null;
  return role[2].flatMap((row: unknown) => {
    const [host, text]: unknown[] = Array.isArray(row) ? row : [];
    const port = parsePort(text);
    return isHost(host) && port !== null ? [{ host, port }] : [];
  });
}

/** Whether a replica that replied `[role, host, port, state, offset]` is connected to its primary. */
function isFollowing(role: unknown): boolean {
  return Array.isArray(role) && role[0] === "slave" && role[3] === "connected";
}
