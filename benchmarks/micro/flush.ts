/**
 * The flush scheduler alone: the cost of one scheduled flush at the end of the task (`nextTick`) and at the
 * end of the turn (`setImmediate`), and the number of flushes that 200 separate callbacks cause in either
 * state.
 */

import { type Flushable, FlushScheduler } from "../../src/connection/flush-scheduler";

const FLUSHES = 20_000;
const ROUNDS = 9;
const CALLBACKS = 200;

/** Least of several rounds: other load on the machine can only add. */
async function nanosPerFlush(inFlight: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const startMs = performance.now();
    await flushes(inFlight, FLUSHES);
    least = Math.min(least, ((performance.now() - startMs) * 1e6) / FLUSHES);
  }
  return least;
}

function connectionThat(flush: () => void): Flushable {
  return { isScheduled: false, flush, flushWhole: flush };
}

function flushes(inFlight: number, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    const scheduler = new FlushScheduler();
    const one: Flushable = connectionThat(() => {
      if (--left === 0) resolve();
      else scheduler.request(one, inFlight);
    });
    scheduler.request(one, inFlight);
  });
}

/** Each request comes from an event-loop callback of its own, as from a web server's handlers. */
function flushesOfCallbacks(inFlight: number): Promise<number> {
  return new Promise((resolve) => {
    let count = 0;
    const scheduler = new FlushScheduler();
    const one = connectionThat(() => {
      count++;
    });
    const call = (): void => {
      if (!one.isScheduled) scheduler.request(one, inFlight);
    };
    for (let index = 0; index < CALLBACKS; index++) setImmediate(call);
    setTimeout(() => resolve(count), 20);
  });
}

async function main(): Promise<void> {
  console.log(`flush at the end of the run      ${(await nanosPerFlush(0)).toFixed(0)} ns`);
  console.log(`flush at the end of the turn     ${(await nanosPerFlush(1)).toFixed(0)} ns`);
  console.log(`flushes of ${CALLBACKS} callbacks, nothing in flight      ${await flushesOfCallbacks(0)}`);
  console.log(`flushes of ${CALLBACKS} callbacks, replies outstanding    ${await flushesOfCallbacks(1)}`);
}

void main();
