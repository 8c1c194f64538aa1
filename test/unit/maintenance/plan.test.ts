/** What a link does at which notice in which state: single cases, and events in random order. */

import { expect } from "chai";
import type { Notice, NoticeKind } from "../../../src/maintenance/notices";
import {
  type Decision,
  decide,
  isRelaxed,
  type MaintenanceEvent,
  type MaintenanceState,
  NO_MAINTENANCE,
  wakeAtMs,
} from "../../../src/maintenance/plan";
import { randomSource } from "../../support/random";

const TARGET = { host: "new", port: 1 };
const DIAL_TARGET: Decision = { does: "dial", address: TARGET };
const DIAL_CONFIGURED: Decision = { does: "dial", address: null };
const ABANDON: Decision = { does: "abandon dial" };
/** No window is longer: 30 s and a tail of 20 s. */
const LONGEST_MS = 50_000;
const RUNS = 10_000;

const notice = (
  kind: NoticeKind,
  seq: number,
  seconds = 15,
  target: Notice["target"] = null,
): MaintenanceEvent => ({ kind: "notice", notice: { kind, seq, seconds, target, moves: [] } });

/** Without the cost of an assertion in each of a million steps. */
function must(isTrue: boolean, seed: number, what: string): void {
  if (!isTrue) expect.fail(`seed ${seed}: ${what}`);
}

/** Applies events at their times, with the timer in between. */
class Course {
  state: MaintenanceState = NO_MAINTENANCE;
  nowMs = 1000;
  decisions: Decision[] = [];

  at(event: MaintenanceEvent): this {
    const [state, decisions] = decide(this.state, event, this.nowMs);
    this.state = state;
    this.decisions.push(...decisions);
    return this;
  }

  pass(ms: number): this {
    const endMs = this.nowMs + ms;
    for (let dueMs = wakeAtMs(this.state); dueMs <= endMs; dueMs = wakeAtMs(this.state)) {
      this.nowMs = Math.max(this.nowMs, dueMs);
      this.at({ kind: "time" });
      if (wakeAtMs(this.state) <= this.nowMs) throw new Error("The timer fires again without a change");
    }
    this.nowMs = endMs;
    return this;
  }

  take(): Decision[] {
    return this.decisions.splice(0);
  }
}

describe("the plan of maintenance", () => {
  it("dials a named server at once, and once for repeated and older notices", () => {
    const course = new Course().at(notice("MOVING", 7, 15, TARGET));
    expect(course.take()).to.deep.equal([DIAL_TARGET]);
    course
      .at(notice("MOVING", 7, 15, TARGET))
      .at(notice("MOVING", 6, 15, null))
      .pass(1000);
    expect(course.take()).to.deep.equal([]);
    course.at({ kind: "ready" }).at({ kind: "changed over" });
    expect([course.state.move, isRelaxed(course.state)]).to.deep.equal([null, false]);
    course.at(notice("MOVING", 7, 15, TARGET));
    expect([course.take(), course.state.move]).to.deep.equal([[], null]);
  });

  it("dials the configured address after half of the time if no server is named", () => {
    const course = new Course().at(notice("MOVING", 1, 15)).pass(7499);
    expect(course.take()).to.deep.equal([]);
    expect(course.pass(1).take()).to.deep.equal([DIAL_CONFIGURED]);
  });

  for (const seconds of [0, -3]) {
    it(`dials at once if ${seconds} seconds are left, and holds the window open all the same`, () => {
      for (const target of [TARGET, null]) {
        const course = new Course().at(notice("MOVING", 1, seconds, target));
        expect(course.take()).to.deep.equal([{ does: "dial", address: target }]);
        expect(isRelaxed(course.pass(29_999).state)).to.equal(true);
      }
    });
  }

  it("tries a dead server again, then the configured address, then stays", () => {
    const course = new Course().at(notice("MOVING", 1, 10, TARGET));
    for (let round = 0; round < 100; round++) course.at({ kind: "dial failed" }).pass(500);
    // Every 500 ms: to the named server for 5 s, and to the configured address for another 5 s.
    expect(course.take()).to.deep.equal([
      ...new Array(10).fill(DIAL_TARGET),
      ...new Array(11).fill(DIAL_CONFIGURED),
    ]);
    expect(course.pass(LONGEST_MS).state.move).to.equal(null);
  });

  it("gives up an attempt that hangs, for the configured address", () => {
    const course = new Course().at(notice("MOVING", 1, 10, TARGET)).pass(5000);
    expect(course.take()).to.deep.equal([DIAL_TARGET, ABANDON, DIAL_CONFIGURED]);
  });

  it("follows a second move while the first one is under way", () => {
    const course = new Course().at(notice("MOVING", 1, 15, TARGET));
    course.at(notice("MOVING", 2, 15, { host: "newer", port: 2 }));
    expect(course.take()).to.deep.equal([
      DIAL_TARGET,
      ABANDON,
      { does: "dial", address: { host: "newer", port: 2 } },
    ]);
  });

  it("leaves a lost connection to the ordinary rules", () => {
    const course = new Course().at(notice("MOVING", 1, 15, TARGET)).at({ kind: "connection lost" });
    expect(course.take()).to.deep.equal([DIAL_TARGET, ABANDON]);
    expect(course.pass(LONGEST_MS).take()).to.deep.equal([]);
  });

  for (const [begin, end] of [
    ["MIGRATING", "MIGRATED"],
    ["FAILING_OVER", "FAILED_OVER"],
    ["SMIGRATING", "SMIGRATED"],
  ] as const) {
    it(`opens a window at ${begin} and closes it at ${end}, or by itself`, () => {
      const course = new Course().at(notice(begin, 16));
      expect(isRelaxed(course.state)).to.equal(true);
      // Replayed, and of another kind.
      course.at(notice(end, 15)).at(notice(end === "MIGRATED" ? "FAILED_OVER" : "MIGRATED", 30));
      expect(isRelaxed(course.state)).to.equal(true);
      expect(isRelaxed(course.at(notice(end, 17)).state)).to.equal(false);
      expect(isRelaxed(course.at(notice(begin, 18)).pass(LONGEST_MS).state)).to.equal(false);
      // The end of this one has already arrived, from another node.
      course.at(notice(end, 40)).at(notice(begin, 39));
      expect(isRelaxed(course.state)).to.equal(false);
    });
  }

  it("moves slots once for the same notice of several nodes", () => {
    const course = new Course().at(notice("SMIGRATING", 16));
    for (let node = 0; node < 6; node++) course.at(notice("SMIGRATED", 17));
    expect(course.take().map(({ does }) => does)).to.deep.equal(["move slots"]);
  });

  it(`holds its promises in ${RUNS} random orders`, () => {
    const kinds = [
      "MOVING",
      "MIGRATING",
      "MIGRATED",
      "FAILING_OVER",
      "FAILED_OVER",
      "SMIGRATING",
      "SMIGRATED",
    ] as const;
    for (let seed = 1; seed <= RUNS; seed++) {
      const random = randomSource(seed);
      const course = new Course();
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
      let isDialling = false;
      let refreshed = 0;
      const slotsSeen = new Set<number>();
      for (let step = 0; step < 30; step++) {
        const outcome = pick(["dial failed", "ready", "changed over", "connection lost"] as const);
        const { move } = course.state;
        const isPossible =
          (outcome === "dial failed" && isDialling) ||
          (outcome === "ready" && move?.status === "dialling") ||
          (outcome === "changed over" && move?.status === "ready") ||
          outcome === "connection lost";
        if (random() < 0.4 && isPossible) {
          if (outcome === "dial failed" || outcome === "changed over") isDialling = false;
          course.at({ kind: outcome });
        } else {
          const kind = pick(kinds);
          const seq = Math.floor(random() * 12);
          if (kind === "SMIGRATED") slotsSeen.add(seq);
          const seconds = pick([-5, 0, 1, 2, 15, 1e9]);
          course.at(notice(kind, seq, seconds, pick([TARGET, null])));
        }
        course.pass(pick([0, 1, 400, 3000, 12_000]));
        for (const { does } of course.take()) {
          // One attempt at a time, and each one ends.
          if (does !== "move slots") must(isDialling === (does === "abandon dial"), seed, does);
          if (does === "move slots") refreshed++;
          else isDialling = does === "dial";
        }
        must(course.state.move?.status !== "due" || !isDialling, seed, "due while dialling");
        must(course.state.windows.length <= 4, seed, "one window of a kind");
      }
      must(refreshed <= slotsSeen.size, seed, "a refresh for each notice of slots");
      course.pass(LONGEST_MS + 1);
      for (const { does } of course.take()) if (does !== "move slots") isDialling = does === "dial";
      must(!isRelaxed(course.state) && course.state.move === null && !isDialling, seed, "it ends by itself");
      must(wakeAtMs(course.state) === Number.POSITIVE_INFINITY, seed, "no timer is left");
    }
  });
});
