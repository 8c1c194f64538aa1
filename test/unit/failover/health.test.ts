/** Which of several databases is used: by the rules, and in random schedules of outages. */

import { expect } from "chai";
import { choose, Health } from "../../../src/failover/health";
import { randomSource } from "../../support/random";

const INTERVAL_MS = 200;
const FAILBACK_MS = 5000;
const SEEDS = 1000;

class Database {
  readonly health: Health;

  constructor(weight: number) {
    this.health = new Health(weight);
  }

  /** One probe in each interval. */
  probes(isGood: boolean, fromMs: number, toMs: number): this {
    for (let ms = fromMs; ms < toMs; ms += INTERVAL_MS) this.health.note(isGood, ms);
    return this;
  }
}

const at = (nowMs: number, failbackMs = FAILBACK_MS) => ({ nowMs, failbackMs });

describe("the choice of a database", () => {
  const preferred = () => new Database(2);
  const other = () => new Database(1);

  it("leaves one whose probes have failed for a second, five at least", () => {
    const [first, second] = [preferred(), other().probes(true, 0, 3000)];
    first.probes(true, 0, 1000).probes(false, 1000, 1800);
    expect(choose([first, second], first, at(1999))).to.equal(first);
    first.probes(false, 1800, 2000);
    expect(choose([first, second], first, at(1999))).to.equal(first);
    expect(choose([first, second], first, at(2000))).to.equal(second);
    const slowly = preferred().probes(false, 0, 800);
    expect(choose([slowly, second], slowly, at(60_000)), "four failures").to.equal(slowly);
  });

  it("stays if no other one is good", () => {
    const [first, second] = [preferred().probes(false, 0, 3000), other().probes(false, 0, 3000)];
    expect(choose([first, second], first, at(3000))).to.equal(first);
  });

  it("prefers the greatest weight among the good ones", () => {
    const first = preferred().probes(false, 0, 3000);
    const [second, third] = [new Database(0), other()].map((one) => one.probes(true, 0, 3000));
    expect(choose([first, second as Database, third as Database], first, at(3000))).to.equal(third);
  });

  it("returns to a greater weight that has been good for the whole time, never to an equal one", () => {
    const [first, second] = [preferred().probes(true, 0, 4800), other().probes(true, 0, 4800)];
    expect(choose([first, second], second, at(4999))).to.equal(second);
    expect(choose([first, second], second, at(5000))).to.equal(first);
    expect(choose([first, second], second, at(5000, Number.POSITIVE_INFINITY))).to.equal(second);
    const equal = other().probes(true, 0, 4800);
    expect(choose([equal, second], second, at(9000))).to.equal(second);
    first.health.forget();
    expect(choose([first, second], second, at(9000)), "after a pause").to.equal(second);
  });

  it("a success, or a pause of this process, ends a series of failures", () => {
    const second = other().probes(true, 0, 3000);
    const first = preferred().probes(false, 0, 900);
    first.health.forget();
    first.probes(false, 1000, 1800);
    expect(choose([first, second], first, at(2500))).to.equal(first);
    first.probes(true, 1800, 2000).probes(false, 2000, 2800);
    expect(choose([first, second], first, at(3500))).to.equal(first);
  });

  it(`serves and does not flap in ${SEEDS} random schedules`, () => {
    for (let seed = 1; seed <= SEEDS; seed++) run(seed);
  });
});

/** Three minutes of three databases that fail and come back by chance. */
function run(seed: number): void {
  const random = randomSource(seed);
  const databases = [3, 2, 1].map((weight) => new Database(weight));
  const states = databases.map(() => ({ isUp: true, untilMs: 0, sinceMs: 0 }));
  const returnsAtMs: number[] = [];
  let active = databases[0] as Database;
  let failures = 0;
  for (let nowMs = 0; nowMs < 180_000; nowMs += INTERVAL_MS) {
    for (const [index, state] of states.entries()) {
      if (nowMs >= state.untilMs) {
        state.isUp = !state.isUp || nowMs === 0;
        state.sinceMs = nowMs;
        state.untilMs = nowMs + 100 + random() * (state.isUp ? 40_000 : 8000);
      }
      databases[index]?.health.note(state.isUp, nowMs);
    }
    const stateOf = (database: Database) => states[databases.indexOf(database)] as (typeof states)[number];
    const isLost = active.health.isLost(nowMs);
    const chosen = choose(databases, active, at(nowMs));
    const told = `seed ${seed}, ${nowMs} ms`;
    if (chosen !== active) {
      expect(stateOf(chosen).isUp, `${told}: a good one is chosen`).to.equal(true);
      if (isLost) failures++;
      else {
        returnsAtMs.push(nowMs);
        expect(nowMs - stateOf(chosen).sinceMs, `${told}: good for long enough`).to.be.at.least(FAILBACK_MS);
        expect(chosen.health.weight, told).to.be.greaterThan(active.health.weight);
      }
      active = chosen;
    }
    const own = stateOf(active);
    const isOtherGood = states.some((state) => state.isUp && state !== own);
    if (!own.isUp && isOtherGood) {
      expect(nowMs - own.sinceMs, `${told}: a lost database is left`).to.be.below(1000 + INTERVAL_MS);
    }
  }
  // A return leads to a greater weight, so more than two in a row need a failure between them.
  expect(returnsAtMs.length, `seed ${seed}`).to.be.at.most(2 * (failures + 1));
}
