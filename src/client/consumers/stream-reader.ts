/**
 * Reads the streams of one slot over a connection of the pool while messages are wanted: first messages that no living
 * consumer holds, then new ones. After any failure, it borrows a connection again, so it follows failovers and moved slots.
 *
 *   demand -> connection -> XAUTOCLAIM, XPENDING (before Redis 8.4) -> XREADGROUP BLOCK [CLAIM] -> offer
 *
 * It must not lose a message that the server has already delivered: when it stops, it ends the blocked call at the server
 * and still offers its reply.
 */

import { type Command, CommandState } from "../../command/command";
import { LEGACY_SHAPE } from "../../command/command-spec";
import { slotOfKey } from "../../command/slot";
import { ReplyError } from "../../errors";
import { ConsumerGroupMissingError } from "../../leases/lease-errors";
import { unblocking } from "../../link/current-connection";
import { Unblocker } from "../../link/unblocker";
import { debugLog } from "../../util/debug";
import { clockMs, startTimer, stopTimer } from "../../util/scheduling";
import { LEND } from "../client-base";
import type { Loan } from "../leases/loan";
import { type ConsumingClient, commandOf, isGroupMissing, isPassing, Pauses } from "./consuming-client";
import type { DeliveredEntry, Source, Value } from "./delivery";

// The link needs the class when a blocked call is ended. Loading its file could fail at that time.
unblocking.provide({ Unblocker });

export interface ReadSettings {
  readonly group: string;
  readonly consumer: string;
  readonly count: number;
  readonly blockMs: number;
  readonly claimIdleMs: number;
  /** The ID after which a new group reads; false: the group must exist. */
  readonly create: string | false;
  readonly buffers: boolean;
  /** The database of the client at the call of `consume()`. */
  readonly db: number;
}

/** Receives the messages. */
export interface Intake {
  /** Resolves when messages are wanted, or when the reader has been stopped. */
  demand(): Promise<void>;
  offer(source: Source, entry: DeliveredEntry): void;
  /** The reader has given up. */
  fail(error: Error): void;
}

/** With CLAIM, two numbers follow: the idle time, and the number of deliveries before this one. */
type Entry = readonly [id: Value, pairs: readonly Value[] | null, idleMs?: number, earlier?: number];

/** An idle consumer looks for claimable messages this many times within `claimIdleMs`. */
const LOOKS = 4;
const FIRST_CURSOR = "0-0";
const debug = debugLog("consumer");

export class StreamReader {
  private readonly byKey: ReadonlyMap<string, Source>;
  private loan: Loan | null = null;
  private blocked: Command | null = null;
  private nextClaimMs = 0;
  private isStopped = false;
  private pause: NodeJS.Timeout | undefined;
  private wakeUp = (): void => {};
  private tellStopped!: (nothing: null) => void;
  private readonly stopped = new Promise<null>((resolve) => {
    this.tellStopped = resolve;
  });

  constructor(
    private readonly client: ConsumingClient,
    /** All in one slot of a cluster. */
    private readonly sources: readonly Source[],
    private readonly settings: ReadSettings,
    private readonly intake: Intake,
  ) {
    this.byKey = new Map(sources.map((source) => [source.key, source]));
  }

  /** Resolves when the reader was stopped or has given up, and its connection is released. */
  async run(): Promise<void> {
    const pauses = new Pauses();
    for (;;) {
      await this.intake.demand();
      if (this.isStopped) break;
      try {
        const loan = this.loan ?? (await this.lend());
        if (loan === null || this.isStopped) break;
        await this.read(loan);
        pauses.reset();
      } catch (error) {
        debug("reading failed: %s", error);
        await this.release();
        if (this.isStopped) break;
        if (!isPassing(error, this.client)) {
          this.intake.fail(error as Error);
          break;
        }
        await this.sleep(pauses.next());
      }
    }
    await this.release();
  }

  /** Reads no further. A blocked call ends at the server. */
  stop(): void {
    this.isStopped = true;
    this.tellStopped(null);
    this.wakeUp();
    const { blocked } = this;
    // A lost connection would keep other commands waiting; the release limits that time.
    if (blocked === null) void this.loan?.release();
    else if (blocked.state === CommandState.Sent) blocked.extra?.recall?.();
    else blocked.fulfil(null, LEGACY_SHAPE);
  }

  private async lend(): Promise<Loan | null> {
    const [{ key }] = this.sources as [Source];
    const lending = this.client[LEND](() => slotOfKey(key), { ownDb: this.settings.db });
    const loan = await Promise.race([lending, this.stopped]);
    if (loan === null) {
      lending.then(
        (late) => late.release(),
        () => {},
      );
    }
    this.loan = loan;
    return loan;
  }

  private async release(): Promise<void> {
    const { loan } = this;
    this.loan = null;
    await loan?.release();
  }

  private async read(loan: Loan): Promise<void> {
    try {
      const isClaiming = hasClaimOption(loan);
      if (!isClaiming && clockMs() >= this.nextClaimMs && (await this.claim(loan))) return;
      if (!this.isStopped) await this.readNew(loan, isClaiming);
    } catch (error) {
      if (!isGroupMissing(error)) throw error;
      await this.createGroups(loan, error);
    }
  }

  private async readNew(loan: Loan, isClaiming: boolean): Promise<void> {
    const { group, consumer, count, blockMs, claimIdleMs, buffers } = this.settings;
    const untilClaimMs = isClaiming ? claimIdleMs / LOOKS : this.nextClaimMs - clockMs();
    const longestMs = Math.max(1, Math.ceil(Math.min(blockMs, untilClaimMs)));
    const words = ["GROUP", group, consumer, "COUNT", count, "BLOCK", longestMs];
    if (isClaiming) words.push("CLAIM", claimIdleMs);
    words.push("STREAMS", ...this.byKey.keys(), ...this.sources.map(() => ">"));
    const command = commandOf("XREADGROUP", words, buffers);
    // Only a command with `extra` can be recalled.
    command.ensureExtra();
    this.blocked = command;
    try {
      for (const [key, entries] of streamsIn(await issue(loan, command))) {
        const source = this.byKey.get(key);
        if (source === undefined) continue;
        for (const [id, pairs, , earlier = 0] of entries)
          this.offer(source, { id, pairs, deliveries: Number(earlier) + 1 });
      }
    } finally {
      this.blocked = null;
    }
  }

  /** Takes messages that no living consumer holds. Returns false if there were none. */
  private async claim(loan: Loan): Promise<boolean> {
    const counts = await Promise.all(this.sources.map((source) => this.claimFrom(loan, source)));
    const isThrough = this.sources.every(({ cursor }) => cursor === FIRST_CURSOR);
    if (isThrough) this.nextClaimMs = clockMs() + this.settings.claimIdleMs / LOOKS;
    return counts.some((count) => count > 0);
  }

  private async claimFrom(loan: Loan, source: Source): Promise<number> {
    const { group, consumer, count, claimIdleMs, buffers } = this.settings;
    const words = [source.key, group, consumer, claimIdleMs, source.cursor, "COUNT", count];
    const reply = await issue(loan, commandOf("XAUTOCLAIM", words, buffers));
    const [cursor, found] = reply as [Value, (Entry | null)[]];
    source.cursor = String(cursor);
    // Servers before 7.0 list deleted entries as null.
    const entries = found.filter((entry) => entry !== null);
    const deliveries = await Promise.all(entries.map(([id]) => this.deliveriesOf(loan, source, String(id))));
    entries.forEach(([id, pairs], index) => {
      // Null: its former consumer has acknowledged it meanwhile.
      const known = deliveries[index] ?? null;
      if (known !== null) this.offer(source, { id, pairs, deliveries: known });
    });
    return entries.length;
  }

  /** XAUTOCLAIM does not return the number of deliveries. */
  private async deliveriesOf(loan: Loan, { key }: Source, id: string): Promise<number | null> {
    // A stopped consumer hands the message back without using the count.
    if (this.isStopped) return 0;
    const { group, consumer } = this.settings;
    const rows = await issue(loan, commandOf("XPENDING", [key, group, id, id, 1, consumer]));
    const [row] = rows as [id: string, consumer: string, idleMs: number, deliveries: number][];
    return row === undefined ? null : Number(row[3]);
  }

  private offer(
    source: Source,
    { id, pairs, deliveries }: { id: Value; pairs: readonly Value[] | null; deliveries: number },
  ): void {
    if (pairs !== null) this.intake.offer(source, { id: String(id), pairs, deliveries });
  }

  private async createGroups(loan: Loan, cause: unknown): Promise<void> {
    const { group, create } = this.settings;
    if (create === false) throw new ConsumerGroupMissingError(group, cause);
    for (const { key } of this.sources) {
      await issue(loan, commandOf("XGROUP", ["CREATE", key, group, create, "MKSTREAM"])).catch((error) => {
        // Another consumer was faster.
        if (!(error instanceof ReplyError && error.message.startsWith("BUSYGROUP "))) throw error;
      });
    }
  }

  private async sleep(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.wakeUp = resolve;
      this.pause = startTimer(resolve, delayMs);
    });
    stopTimer(this.pause);
  }
}

function issue(loan: Loan, command: Command): Promise<unknown> {
  loan.dispatch(command);
  return command.promise;
}

/** XREADGROUP has the option CLAIM from Redis 8.4 on. */
function hasClaimOption({ link }: Loan): boolean {
  const version = /^redis (\d+)\.(\d+)/.exec(link.connection?.serverVersion ?? "");
  if (version === null) return false;
  const [major, minor] = [Number(version[1]), Number(version[2])];
  return major > 8 || (major === 8 && minor >= 4);
}

// RESP2                        [[stream, entries], [stream, entries]]
// RESP3                        [stream, entries, stream, entries]
// RESP3 with resp3 mapping     { stream: entries }
function streamsIn(reply: unknown): [key: string, entries: readonly Entry[]][] {
  if (reply === null) return [];
  if (!Array.isArray(reply)) return Object.entries(reply as Record<string, Entry[]>);
  if (Array.isArray(reply[0])) return reply.map(([key, entries]) => [String(key), entries]);
  const streams: [string, readonly Entry[]][] = [];
  for (let index = 0; index < reply.length; index += 2)
    streams.push([String(reply[index]), reply[index + 1]]);
  return streams;
}
