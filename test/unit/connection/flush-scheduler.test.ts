import { expect } from "chai";
import fc from "fast-check";
import { type Flushable, FlushScheduler } from "../../../src/connection/flush-scheduler";
import { fixedRuns } from "../../support/properties";

class Writer implements Flushable {
  isScheduled = false;
  /** Stretches that are still to be written. */
  stretches = 0;
  inFlight = 0;

  constructor(
    readonly name: number,
    private readonly scheduler: FlushScheduler,
    private readonly log: number[],
  ) {}

  call(stretches = 1): void {
    this.stretches += stretches;
    if (!this.isScheduled) this.scheduler.request(this, this.inFlight);
  }

  flush(): void {
    if (this.stretches === 0) return;
    this.log.push(this.name);
    this.stretches--;
    if (this.stretches > 0) this.scheduler.requestNextTurn(this);
  }

  flushWhole(): void {
    while (this.stretches > 0) this.flush();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const runEnd = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

describe("FlushScheduler", () => {
  let scheduler: FlushScheduler;
  let log: number[];
  const writer = (name: number, inFlight = 0): Writer => {
    const made = new Writer(name, scheduler, log);
    made.inFlight = inFlight;
    return made;
  };
  beforeEach(() => {
    scheduler = new FlushScheduler();
    log = [];
  });

  it("writes at the end of the run when nothing is in flight, and of the turn otherwise", async () => {
    const [idle, busy] = [writer(1), writer(2, 5)];
    idle.call();
    busy.call();
    expect(log).to.deep.equal([]);
    await runEnd();
    expect(log).to.deep.equal([1]);
    await turn();
    await turn();
    expect(log).to.deep.equal([1, 2]);
  });

  it("writes earlier commands of other connections first when one writes out of turn", async () => {
    const [first, second, third] = [writer(1, 1), writer(2, 1), writer(3, 1)];
    first.call();
    scheduler.flushBefore(second);
    expect(log, "not scheduled itself").to.deep.equal([1]);
    for (const one of [second, first, third]) one.call();
    scheduler.flushBefore(first);
    expect(log).to.deep.equal([1, 2]);
    scheduler.flushBefore(first);
    expect(log, "nothing is before it").to.deep.equal([1, 2]);
    await turn();
    await turn();
    expect(log).to.deep.equal([1, 2, 1, 3]);
  });

  describe("before the end of the run", () => {
    let nowMs: number;
    let ranMs: number;
    let waitedMs: number;
    let isKnown: boolean;
    beforeEach(() => {
      [nowMs, ranMs, waitedMs, isKnown] = [1000, 1000, 0, true];
      scheduler = new FlushScheduler(
        false,
        () => nowMs,
        () => (isKnown ? { ranMs, waitedMs } : null),
      );
    });

    /** The thread has computed for this time without an interruption. */
    function compute(ms: number): void {
      nowMs += ms;
      ranMs += ms;
    }

    function write(priceMs = 0.005): void {
      const startMs = nowMs;
      compute(priceMs);
      scheduler.noteWrite(startMs);
    }

    it("writes a command while nothing is in flight, but not right behind another write", () => {
      write();
      expect(scheduler.mayWriteEarly(1, 0)).to.equal(false);
      compute(0.05);
      expect(scheduler.mayWriteEarly(1, 0)).to.equal(true);
    });

    it("waits longer between writes if several connections have commands to write", () => {
      write();
      for (let id = 1; id <= 3; id++) writer(id, 5).call();
      compute(0.05);
      expect(scheduler.mayWriteEarly(100, 100)).to.equal(false);
      compute(0.05);
      expect(scheduler.mayWriteEarly(100, 100)).to.equal(true);
    });

    it("writes as many as are in flight, some prices of a write apart", () => {
      write();
      expect(scheduler.mayWriteEarly(100, 100), "right behind a write").to.equal(false);
      compute(1);
      expect(scheduler.mayWriteEarly(100, 100)).to.equal(true);
      expect(scheduler.mayWriteEarly(99, 100), "fewer").to.equal(false);
      expect(scheduler.mayWriteEarly(1, 1)).to.equal(true);
      expect(scheduler.mayWriteEarly(1, 2)).to.equal(false);
    });

    it("measures the price of a write: quick ones may follow one another sooner", () => {
      const gap = (priceMs: number): number => {
        for (let i = 0; i < 500; i++) write(priceMs);
        let ms = 0;
        for (; !scheduler.mayWriteEarly(1, 1); ms += 0.001) compute(0.001);
        return ms;
      };
      expect(gap(0.002)).to.be.below(gap(0.01));
      expect(gap(0.01)).to.be.above(gap(0.002));
    });

    it("writes nothing early while others use the processor, and does again when they are gone", () => {
      // Half of the time in which it was ready to run, the thread had no processor.
      for (let i = 0; i < 100; i++) {
        nowMs += 1;
        waitedMs += 1;
        write(1);
      }
      compute(0.2);
      expect([scheduler.mayWriteEarly(1, 0), scheduler.mayWriteEarly(100, 100)]).to.deep.equal([
        false,
        false,
      ]);
      for (let i = 0; i < 100; i++) write(1);
      compute(0.2);
      expect([scheduler.mayWriteEarly(1, 0), scheduler.mayWriteEarly(100, 100)]).to.deep.equal([true, true]);
    });

    it("does not take waiting for events for lack of a processor", () => {
      for (let i = 0; i < 100; i++) {
        nowMs += 10;
        write();
      }
      compute(1);
      expect(scheduler.mayWriteEarly(1, 0)).to.equal(true);
    });

    it("writes early again when the times of a shared processor are no longer known", () => {
      for (let i = 0; i < 100; i++) {
        nowMs += 1;
        waitedMs += 1;
        write(1);
      }
      compute(0.2);
      expect(scheduler.mayWriteEarly(1, 0)).to.equal(false);
      isKnown = false;
      for (let i = 0; i < 100; i++) write(1);
      compute(0.2);
      expect(scheduler.mayWriteEarly(1, 0)).to.equal(true);
    });

    it("writes early on systems that do not report these times", () => {
      isKnown = false;
      for (let i = 0; i < 100; i++) {
        nowMs += 10;
        waitedMs += 10;
        write();
      }
      compute(1);
      expect(scheduler.mayWriteEarly(1, 0)).to.equal(true);
    });
  });

  it("writes what was scheduled before as soon as something is due", async () => {
    const [idle, busy, last] = [writer(1), writer(2, 5), writer(3, 5)];
    busy.call();
    idle.call();
    last.call();
    await runEnd();
    expect(log).to.deep.equal([2, 1]);
  });

  it("goes on with the rest of a batch in the next turn", async () => {
    const [large, small] = [writer(1), writer(2)];
    large.call(3);
    small.call();
    await runEnd();
    expect(log).to.deep.equal([1, 2]);
    await turn();
    await turn();
    await turn();
    expect(log).to.deep.equal([1, 2, 1, 1]);
  });

  it("writes what was scheduled before one that cannot wait", () => {
    const [first, second, third] = [writer(1, 5), writer(2), writer(3)];
    first.call();
    second.call();
    third.call();
    scheduler.flushBefore(third);
    expect(log).to.deep.equal([1, 2]);
    expect([first.isScheduled, second.isScheduled, third.isScheduled]).to.deep.equal([false, false, true]);
  });

  it("writes what was scheduled up to one whose commands fill a flush, and that one too", () => {
    const [first, second, third] = [writer(1, 5), writer(2, 5), writer(3, 5)];
    for (const one of [first, second, third]) one.call();
    scheduler.flushThrough(second);
    expect(log).to.deep.equal([1, 2]);
    expect([first.isScheduled, second.isScheduled, third.isScheduled]).to.deep.equal([false, false, true]);
  });

  it("writes everything when the process exits, in the order in which it was scheduled", async () => {
    const [large, small] = [writer(1, 5), writer(2, 5)];
    large.call(3);
    small.call();
    scheduler.onExit();
    expect(log).to.deep.equal([1, 1, 1, 2]);
    await turn();
    await turn();
    expect(log.length, "nothing is written twice").to.equal(4);
  });

  it("goes on when a flush throws", async () => {
    const [bad, good] = [writer(1), writer(2)];
    bad.flush = () => {
      throw new Error("bad");
    };
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
    try {
      bad.call();
      good.call();
      expect(((await thrown) as Error).message).to.equal("bad");
    } finally {
      for (const listener of listeners) process.on("uncaughtException", listener);
    }
    await turn();
    await turn();
    expect(log).to.deep.equal([2]);
  });

  it("keeps the order of first calls, writes everything, and each once", async () => {
    const step = fc.record({
      who: fc.nat(4),
      inFlight: fc.nat(1),
      stretches: fc.integer({ min: 1, max: 3 }),
    });
    const runs = fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(runs, async (program) => {
        scheduler = new FlushScheduler();
        log = [];
        const writers = Array.from({ length: 5 }, (_, name) => writer(name));
        let expected = 0;
        for (const steps of program) {
          const before = log.length;
          const order: number[] = writers.filter((one) => one.isScheduled).map((one) => one.name);
          const isFresh = order.length === 0;
          for (const { who, inFlight, stretches } of steps) {
            const one = writers[who] as Writer;
            one.inFlight = inFlight;
            if (!order.includes(who)) order.push(who);
            one.call(stretches);
            expected += stretches;
          }
          await turn();
          await turn();
          if (isFresh) expect(log.slice(before, before + order.length)).to.deep.equal(order);
        }
        for (let i = 0; i < 200 && writers.some((one) => one.isScheduled); i++) await turn();
        expect(log.length).to.equal(expected);
        expect(writers.every((one) => one.stretches === 0)).to.equal(true);
      }),
      fixedRuns(200),
    );
  });
});
