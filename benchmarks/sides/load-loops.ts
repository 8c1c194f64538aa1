/**
 * The loops that put load on a client: the same code for every client, so that what they cost is the same too.
 *
 *   callers    n async loops, each awaits its reply before it issues its next command
 *   handlers   as above, but each command is issued from an event-loop callback of its own, as in a web server
 *   arrivals   n commands a second, issued when their time has come, whatever is still unanswered
 *   turns      n commands issued in one turn, awaited together, again and again
 *   batches    one explicit batch of n commands awaited, again and again
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../support/clock";
import type { ClientSide, Issue, Load, LoadPlan } from "./side";

type Record = ((ms: number) => void) | undefined;

const storage = new AsyncLocalStorage<number>();

export function prepareLoop(side: ClientSide, { kind, operations, width, hasStorage }: LoadPlan): Load {
  if (kind === "batches") {
    const issue = side.bindBatch(operations, width);
    return (clock, record) => runBatches(issue, width, clock, record);
  }
  const issues = operations.map((operation) => side.bind(operation));
  if (hasStorage === true) {
    return (clock, record) => storage.run(0, () => runCallers(issues, width, clock, record));
  }
  const run = { callers: runCallers, handlers: runHandlers, arrivals: runArrivals, turns: runTurns }[kind];
  return (clock, record) => run(issues, width, clock, record);
}

async function runCallers(
  issues: readonly Issue[],
  width: number,
  clock: Clock,
  record: Record,
): Promise<number> {
  let done = 0;
  const caller = async (first: number): Promise<void> => {
    let at = first % issues.length;
    do {
      const issue = issues[at] as Issue;
      at = at + 1 === issues.length ? 0 : at + 1;
      if (record === undefined) {
        await issue();
      } else {
        const startMs = performance.now();
        await issue();
        record(performance.now() - startMs);
      }
      done++;
    } while (!clock.expired());
  };
  const callers: Promise<void>[] = [];
  for (let index = 0; index < width; index++) callers.push(inContext(index, caller));
  await Promise.all(callers);
  return done;
}

/** Where contexts are in use at all, each caller has one of its own. */
function inContext(index: number, caller: (first: number) => Promise<void>): Promise<void> {
  return storage.getStore() === undefined ? caller(index * 7) : storage.run(index, caller, index * 7);
}

function runHandlers(issues: readonly Issue[], width: number, clock: Clock, record: Record): Promise<number> {
  return new Promise((resolve, reject) => {
    let done = 0;
    let live = width;
    let at = 0;
    const handle = (): void => {
      const startMs = record === undefined ? 0 : performance.now();
      const issue = issues[at] as Issue;
      at = at + 1 === issues.length ? 0 : at + 1;
      issue().then(() => {
        if (record !== undefined) record(performance.now() - startMs);
        done++;
        if (!clock.expired()) setImmediate(handle);
        else if (--live === 0) resolve(done);
      }, reject);
    };
    for (let index = 0; index < width; index++) setImmediate(handle);
  });
}

/** Users who come in when they like: what is slow makes them wait, not come later. */
function runArrivals(
  issues: readonly Issue[],
  perSecond: number,
  clock: Clock,
  record: Record,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const firstMs = performance.now();
    let issued = 0;
    let done = 0;
    let isOver = false;
    const arrive = (): void => {
      const startMs = performance.now();
      while (issued < ((startMs - firstMs) * perSecond) / 1000) {
        const issue = issues[issued++ % issues.length] as Issue;
        issue().then(() => {
          record?.(performance.now() - startMs);
          done++;
          if (isOver && done === issued) resolve(done);
        }, reject);
      }
      isOver = clock.expired();
      if (!isOver) setTimeout(arrive, 1);
      else if (done === issued) resolve(done);
    };
    arrive();
  });
}

async function runTurns(
  issues: readonly Issue[],
  width: number,
  clock: Clock,
  record: Record,
): Promise<number> {
  let done = 0;
  let at = 0;
  do {
    const startMs = performance.now();
    const replies = new Array<Promise<unknown>>(width);
    for (let index = 0; index < width; index++) {
      replies[index] = (issues[at] as Issue)();
      at = at + 1 === issues.length ? 0 : at + 1;
    }
    await Promise.all(replies);
    record?.(performance.now() - startMs);
    done += width;
  } while (!clock.expired());
  return done;
}

async function runBatches(issue: Issue, width: number, clock: Clock, record: Record): Promise<number> {
  let done = 0;
  do {
    const startMs = performance.now();
    await issue();
    record?.(performance.now() - startMs);
    done += width;
  } while (!clock.expired());
  return done;
}
