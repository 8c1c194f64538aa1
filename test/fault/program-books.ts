/**
 * The books of one random program: every command that was issued, what its caller was told, and
 * in the end what the server has. `audit` names what contradicts the guarantees.
 *
 * A command that runs leaves a trace in one of two places: PUSH appends the number of the command to a
 * list, INCR counts. Numbers follow the order of issue.
 */

import type { RetryPolicy } from "../../src/command/command-extra";
import { DATABASES, type Member } from "../support/random-program";

type Failure = Error & { readonly code?: string; readonly details?: { readonly mayHaveRun: boolean } };

/** The databases in which what is issued now may run: more than one while a SELECT is in doubt. */
export class Place {
  constructor(readonly databases: Set<number>) {}
}

/** Commands that run together or not at all. */
export interface Unit {
  readonly entries: Entry[];
  /** Something that it guarded had changed: it must not run. */
  isForbidden: boolean;
}

export type Fate = "pending" | "done" | "unknown" | "not run";

export interface Entry {
  readonly number: number;
  readonly member: Member | "other";
  readonly place: Place;
  readonly policy: RetryPolicy;
  readonly unit: Unit | null;
  /** The commands of a bulk are issued when there is room, not when they are noted: they have keys of their own. */
  readonly line: string;
  fate: Fate;
  value: unknown;
  settled: number;
  /** The outcome as the caller was told it, for messages. */
  told: string;
}

/** The entries of one list at the server, for each database. */
export interface Found {
  readonly list: readonly string[];
  readonly count: number;
}

const MAY_HAVE_RUN = new Set(["OUTCOME_UNKNOWN", "COMMAND_LOST", "BULK_ABORTED"]);
const TELL_THEMSELVES = new Set(["COMMAND_TIMEOUT", "ABORTED_BY_SIGNAL"]);
const DID_NOT_RUN = new Set(["ABORTED", "CONNECTION_CLOSED", "WATCH_LOST", "MAX_RETRIES"]);
/** A command that they refuse was never taken: nothing that follows may rely on it. */
const NOT_TAKEN = new Set(["OFFLINE_QUEUE_DISABLED", "BOUNDS_EXCEEDED"]);
const NOT_WHILE_LISTENING =
  /^(ERR|EXECABORT Transaction discarded because of:) Can't execute '\w+': only \(P\|S\)SUBSCRIBE/;

export class Books {
  readonly entries: Entry[] = [];
  readonly faults: string[] = [];
  place: Place;
  /** Its connection may be in subscriber mode, which refuses most commands. */
  mayListen = false;

  constructor(
    db: number,
    private readonly hasRefusal: (code: string) => boolean,
  ) {
    this.place = new Place(new Set([db]));
  }

  fault(text: string): void {
    this.faults.push(text);
  }

  enter(member: Entry["member"], policy: RetryPolicy, unit: Unit | null = null, line = ""): Entry {
    const entry: Entry = {
      number: this.entries.length,
      member,
      // Commands that are issued later are issued wherever the program is by then.
      place: line === "" ? this.place : new Place(new Set(DATABASES)),
      policy,
      unit,
      line,
      fate: "pending",
      value: undefined,
      settled: 0,
      told: "nothing",
    };
    this.entries.push(entry);
    unit?.entries.push(entry);
    return entry;
  }

  openUnit(): Unit {
    return { entries: [], isForbidden: false };
  }

  /** To be called before a SELECT is entered; what it returns is told how the SELECT ended. */
  move(db: number): (error: unknown) => void {
    const before = this.place;
    const place = new Place(new Set([db]));
    this.place = place;
    return (error) => {
      if (error === null) return;
      for (const other of before.databases) place.databases.add(other);
      if (NOT_TAKEN.has((error as Failure).code ?? "") && this.place === place) this.place = before;
    };
  }

  /** The outcome as the caller was told it, once. */
  settle(entry: Entry, error: unknown, value: unknown): void {
    if (++entry.settled > 1) return;
    entry.value = value;
    entry.told = error === null ? JSON.stringify(value) : String((error as Failure).code);
    if (error === null) {
      entry.fate = "done";
      this.checkReply(entry, value);
    } else entry.fate = this.fateOf(entry, error as Failure);
  }

  settleAll(entries: readonly Entry[], error: unknown): void {
    for (const entry of entries) this.settle(entry, error, undefined);
  }

  audit(found: ReadonlyMap<string, readonly Found[]>, losses: number): void {
    for (const { settled, number, member } of this.entries) {
      if (settled !== 1) this.fault(`${member} ${number} settled ${settled} times`);
    }
    for (const [line, databases] of found) {
      const entries = this.entries.filter((entry) => entry.line === line);
      for (const [db, { list }] of databases.entries()) this.auditList(entries, list, db);
      this.auditRuns(entries, databases, losses);
      this.auditCounter(entries, databases, losses);
    }
    this.auditUnits(found);
  }

  // --- inside ------------------------------------------------------------------------------

  private checkReply({ number, member }: Entry, value: unknown): void {
    const text = Buffer.isBuffer(value) ? `buffer ${value}` : value;
    const expected: Partial<Record<Entry["member"], unknown>> = {
      echo: `token ${number}`,
      buffer: `buffer token ${number}`,
      select: "OK",
    };
    const isRight =
      member in expected
        ? text === expected[member]
        : member === "other" || (member !== "wrong" && typeof value === "number" && value > 0);
    if (!isRight) this.fault(`${member} ${number} got ${String(text)}`);
  }

  private fateOf({ number, member }: Entry, error: Failure): Fate {
    const { code = "", message } = error;
    if (MAY_HAVE_RUN.has(code)) return "unknown";
    if (TELL_THEMSELVES.has(code)) return error.details?.mayHaveRun === false ? "not run" : "unknown";
    if (DID_NOT_RUN.has(code)) return "not run";
    if (NOT_TAKEN.has(code) && this.hasRefusal(code)) return "not run";
    if (code === "REPLY" && member === "wrong" && message === `MINE ${number}`) return "done";
    const isListening = code === "SUBSCRIBER_MODE" || (code === "REPLY" && NOT_WHILE_LISTENING.test(message));
    if (isListening && this.mayListen) return "not run";
    this.fault(`${member} ${number} failed with ${code} ${message}`);
    return "unknown";
  }

  /** First runs are in the order of issue, where they were to run. */
  private auditList(entries: readonly Entry[], list: readonly string[], db: number): void {
    const known = new Map(entries.map((entry) => [String(entry.number), entry]));
    let last = -1;
    const seen = new Set<string>();
    for (const element of list) {
      const entry = known.get(tokenOf(element));
      if (entry === undefined) this.fault(`${element} in database ${db} is nobody's`);
      if (entry === undefined || seen.has(tokenOf(element))) continue;
      seen.add(tokenOf(element));
      if (!entry.place.databases.has(db)) {
        this.fault(`push ${entry.number} ran in database ${db}, not in ${[...entry.place.databases]}`);
      }
      if (entry.number < last) this.fault(`push ${entry.number} ran behind ${last}`);
      last = entry.number;
    }
  }

  /** As often as its caller was told and its policy allows. */
  private auditRuns(entries: readonly Entry[], databases: readonly Found[], losses: number): void {
    const runs = new Map<string, number>();
    for (const { list } of databases) {
      for (const element of list) runs.set(tokenOf(element), (runs.get(tokenOf(element)) ?? 0) + 1);
    }
    for (const entry of entries) {
      if (entry.member !== "push" && entry.member !== "long") continue;
      const count = runs.get(String(entry.number)) ?? 0;
      const most = losses === 0 || entry.policy !== "at-least-once" ? 1 : 1 + losses;
      const [from, to] = entry.fate === "not run" ? [0, 0] : [entry.fate === "done" ? 1 : 0, most];
      if (count < from || count > to) {
        this.fault(
          `push ${entry.number} (${entry.policy}) ran ${count} times, its caller was told ${entry.told}`,
        );
      }
    }
  }

  private auditCounter(all: readonly Entry[], databases: readonly Found[], losses: number): void {
    const entries = all.filter(({ member }) => member === "incr");
    const total = databases.reduce((sum, { count }) => sum + count, 0);
    const done = entries.filter(({ fate }) => fate === "done").length;
    const unknown = entries.filter(({ fate }) => fate === "unknown").length;
    const again = entries.filter((one) => one.policy === "at-least-once" && one.fate !== "not run").length;
    if (total < done || total > done + unknown + again * losses) {
      this.fault(`counted ${total}: ${done} acknowledged, ${unknown} unknown, ${again} perhaps sent again`);
    }
    for (const db of databases.keys()) {
      let last = 0;
      for (const { place, fate, value, number } of entries) {
        if (fate !== "done" || place.databases.size > 1 || !place.databases.has(db)) continue;
        if (Number(value) <= last || Number(value) > (databases[db]?.count ?? 0)) {
          this.fault(`incr ${number} got ${value} behind ${last}, the counter is ${databases[db]?.count}`);
        }
        last = Number(value);
      }
    }
  }

  /** All pushes of a transaction stand side by side, as often as the first of them does. */
  private auditUnits(found: ReadonlyMap<string, readonly Found[]>): void {
    const lists = (found.get("") ?? []).map(({ list }) => list.map(tokenOf));
    const units = new Set(this.entries.flatMap(({ unit }) => (unit === null ? [] : [unit])));
    for (const { entries, isForbidden } of units) {
      const tokens = entries
        .filter(({ member }) => member === "push" || member === "long")
        .map(({ number }) => String(number));
      for (const list of lists) {
        const starts = list.flatMap((token, at) => (token === tokens[0] ? [at] : []));
        const isWhole =
          starts.every((start) => tokens.every((token, i) => list[start + i] === token)) &&
          tokens.every((token) => list.filter((one) => one === token).length === starts.length);
        if (!isWhole)
          this.fault(`of the transaction ${tokens} there is ${list.filter((one) => tokens.includes(one))}`);
        if (isForbidden && starts.length > 0) this.fault(`the transaction ${tokens} ran without its guard`);
      }
    }
  }
}

function tokenOf(element: string): string {
  return element.split(":")[0] as string;
}
