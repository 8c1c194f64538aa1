/**
 * How late time limits are by a real clock, on an event loop that does nothing else. What a plain
 * timer of 1 ms sees of the loop meanwhile is no lateness of theirs: a machine may be busy.
 */

import { expect } from "chai";
import { deadlines } from "../../../src/util/deadlines";
import { randomSource } from "../../support/random";

const COUNT = 4000;
/** Later than the loop that sets them, which holds the event loop itself. */
const FIRST_MS = 300;
const SPREAD_MS = 2000;
const LIMIT_MS = 10;
/** Timers count whole milliseconds: the clock of the test and theirs may be one apart at either end. */
const ROUNDING_MS = 2;
const TICKER_MS = 1;

/** Due between two moments: the machine may run somebody else between reading the clock and the call. */
interface Limit {
  readonly fromMs: number;
  dueMs: number;
  atMs: number;
}

function figures(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms`;
}

/** For how long the event loop was held up between those moments, as the ticks show it. */
function heldUpMs(ticks: readonly number[], fromMs: number, toMs: number): number {
  let sum = 0;
  for (let i = 1; i < ticks.length; i++) {
    const before = ticks[i - 1] as number;
    const after = ticks[i] as number;
    if (after >= fromMs && before <= toMs) sum += Math.max(0, after - before - TICKER_MS);
  }
  return sum;
}

describe("deadlines by a real clock", () => {
  it("are never early, and at most 10 ms late beyond what holds the event loop", async () => {
    const random = randomSource(12);
    const ticks = [performance.now()];
    const ticker = setInterval(() => ticks.push(performance.now()), TICKER_MS);
    const plain: number[] = [];
    const limits: Limit[] = [];
    const work: Promise<void>[] = [];
    for (let i = 0; i < COUNT; i++) {
      const delayMs = FIRST_MS + random() * SPREAD_MS;
      const limit: Limit = { fromMs: performance.now() + delayMs, dueMs: 0, atMs: 0 };
      limits.push(limit);
      work.push(
        new Promise((resolve) => {
          const onExpired = (): void => {
            limit.atMs = performance.now();
            resolve();
          };
          deadlines.schedule({ onExpired }, delayMs);
        }),
      );
      limit.dueMs = performance.now() + delayMs;
      if (i % 10 !== 0) continue;
      const dueMs = performance.now() + Math.round(delayMs);
      setTimeout(() => plain.push(performance.now() - dueMs), Math.round(delayMs));
    }
    await Promise.all(work);
    await new Promise((resolve) => setTimeout(resolve, 2 * LIMIT_MS));
    clearInterval(ticker);
    const late = limits.map(({ dueMs, atMs }) => atMs - dueMs);
    const own = limits.map(({ dueMs, atMs }) => atMs - dueMs - heldUpMs(ticks, dueMs, atMs));
    console.log(`      ${COUNT} limits late by ${figures(late)}, plain timers by ${figures(plain)}`);
    console.log(`      without what held the event loop: ${figures(own)}`);
    for (const { fromMs, atMs } of limits) expect(atMs).to.be.at.least(fromMs);
    expect(Math.max(...own)).to.be.at.most(LIMIT_MS + ROUNDING_MS);
  });
});
