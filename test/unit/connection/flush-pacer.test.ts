import { expect } from "chai";
import { FlushPacer } from "../../../src/connection/flush-pacer";

const PRICE_MS = 0.005;
/** Most in flight with which a command leaves alone. */
const FEW = 16;

/** A thread that issues commands at a pace and pays for its writes; replies come when the test says so. */
class Thread {
  nowMs = 1000;
  idleMs = 0;
  readonly pacer = new FlushPacer(
    () => this.nowMs,
    () => this.idleMs,
  );
  unsent = 0;
  inFlight = 0;
  answered = 0;
  toCome = 0;
  queuedMs = 0;
  readonly writes: number[] = [];

  issue(paceMs: number): void {
    this.nowMs += paceMs;
    this.unsent++;
    this.toCome--;
    if (this.unsent === 1) {
      if (this.inFlight === 0 || this.pacer.isOpen(this.inFlight, this.answered)) this.write();
    } else if (--this.pacer.untilLook <= 0 && this.isDue()) this.write();
  }

  private isDue(): boolean {
    return this.pacer.isDue(this.unsent, this.inFlight, this.toCome, this.queuedMs);
  }

  write(priceMs = PRICE_MS, byteCount = 30): void {
    if (this.unsent === 0) return;
    const startMs = this.nowMs;
    this.nowMs += priceMs;
    this.pacer.noteWrite(startMs, byteCount);
    this.writes.push(this.unsent);
    this.inFlight += this.unsent;
    this.unsent = 0;
  }

  run(commands: number, paceMs: number): void {
    this.writes.length = 0;
    for (let i = 0; i < commands; i++) this.issue(paceMs);
    this.write();
  }

  /** The next run is that of those who were answered by one read. */
  answer(commands: number): void {
    this.inFlight -= commands;
    this.answered = commands;
    this.toCome = commands;
  }
}

describe("FlushPacer", () => {
  let thread: Thread;
  beforeEach(() => {
    thread = new Thread();
  });

  it("lets the first command out, and gathers a short run", () => {
    thread.run(10, 0.0005);
    expect(thread.writes).to.deep.equal([1, 9]);
  });

  it("takes growing batches of a long run, a quarter of its time at most", () => {
    thread.run(1000, 0.0005);
    expect(thread.writes.length).to.be.within(5, 20);
    expect((thread.writes.length * PRICE_MS) / (1000 * 0.0005)).to.be.at.most(0.25);
    for (let i = 1; i < thread.writes.length - 1; i++) {
      const inFlight = thread.writes.slice(0, i).reduce((sum, size) => sum + size, 0);
      expect(thread.writes[i]).to.be.at.least(inFlight / 2);
    }
  });

  it("writes command by command where they come slowly and little is in flight", () => {
    thread.run(3, 1);
    for (let run = 0; run < 20; run++) {
      thread.inFlight = 0;
      thread.run(3, 1);
    }
    expect(thread.writes).to.deep.equal([1, 1, 1]);
  });

  it("has nothing to gain while much is in flight", () => {
    thread.inFlight = 1000;
    thread.run(100, 0.01);
    expect(thread.writes).to.deep.equal([100]);
  });

  it("lets parts of a slow run out where the thread waits, and no part below an eighth of what is in flight", () => {
    const writesOf = (waiting: number, paceMs: number, inFlight = 26): readonly number[] => {
      for (let run = 0; run < 6; run++) {
        thread.nowMs += 25 * waiting;
        thread.idleMs += 25 * waiting;
        thread.inFlight = inFlight;
        thread.answer(0);
        const startMs = thread.nowMs;
        thread.run(24, paceMs);
        thread.nowMs = Math.max(thread.nowMs, startMs + 25 * (1 - waiting));
      }
      return [...thread.writes];
    };
    expect(writesOf(0, 0.02)).to.deep.equal([13, 11]);
    expect(writesOf(0.05, 0.02)).to.deep.equal([13, 11]);
    const parts = writesOf(0.5, 0.02);
    expect(parts.length).to.be.within(4, 6);
    // Their writes take a quarter of the time at most.
    expect((parts.length - 1) * PRICE_MS * 4).to.be.at.most(24 * 0.02);
    expect(writesOf(0.5, 0.2)[0]).to.equal(4);
    expect(writesOf(0.5, 0.001)).to.deep.equal(writesOf(0, 0.001));
    expect(writesOf(0.5, 0.02, 400)).to.deep.equal([24]);
  });

  it("lets the first command after a pause leave alone where the thread waits and little is in flight", () => {
    const isOpenAfter = (pauseMs: number, idleMs: number, inFlight: number): boolean => {
      const { pacer } = thread;
      thread.nowMs += 25;
      thread.idleMs += idleMs;
      pacer.isOpen(FEW, 1);
      thread.nowMs += pauseMs;
      return pacer.isOpen(inFlight, 1);
    };
    const { gapMs } = thread.pacer;
    expect(isOpenAfter(gapMs * 3.1, 20, 3)).to.equal(true);
    expect(isOpenAfter(gapMs * 3.1, 20, FEW)).to.equal(true);
    expect(isOpenAfter(gapMs * 3.1, 20, FEW + 1)).to.equal(false);
    expect(isOpenAfter(gapMs * 2.9, 20, 3)).to.equal(false);
    expect(isOpenAfter(gapMs * 3.1, 2, 3)).to.equal(false);
    // With hardly anything in flight it leaves at once anyway.
    expect(isOpenAfter(gapMs * 1.1, 0, 2)).to.equal(true);
  });

  it("answered together, callers go on in two halves", () => {
    thread.inFlight = 109;
    thread.issue(1);
    expect(thread.unsent).to.equal(1);
    thread.write();
    thread.answer(100);
    thread.run(100, 0.0001);
    expect(thread.writes).to.deep.equal([50, 50]);
    // As many are on their way as were answered: the server has work.
    thread.answer(50);
    thread.run(50, 0.0001);
    expect(thread.writes).to.deep.equal([50]);
  });

  it("few that are answered together are not worth two writes", () => {
    thread.inFlight = 10;
    thread.answer(5);
    thread.run(5, 0.0001);
    expect(thread.writes).to.deep.equal([5]);
  });

  it("waits for the end of a run that is near while replies wait for the server", () => {
    const runOf24 = (queuedMs: number, paceMs: number): readonly number[] => {
      thread.queuedMs = queuedMs;
      for (let run = 0; run < 4; run++) {
        thread.nowMs += 0.5;
        thread.inFlight = 50;
        thread.answer(24);
        thread.run(24, paceMs);
      }
      return [...thread.writes];
    };
    expect(runOf24(0, 0.0005)).to.deep.equal([17, 7]);
    expect(runOf24(0.5, 0.0005)).to.deep.equal([24]);
    // The caller's own work follows; it takes longer than a write.
    expect(runOf24(0.5, 0.02).length).to.be.above(1);
  });

  it("learns the price of a write, the least that was seen lately", () => {
    for (let i = 0; i < 10; i++) {
      thread.unsent = 1;
      thread.write(i === 5 ? 0.003 : 0.012);
    }
    expect(thread.pacer.gapMs).to.be.within(0.012, 0.013);
    for (let i = 0; i < 1000; i++) {
      thread.unsent = 1;
      thread.write(0.02);
    }
    expect(thread.pacer.gapMs).to.be.closeTo(0.08, 0.001);
  });

  it("does not take the price of many bytes for that of a write, nor a pause of the machine", () => {
    thread.unsent = 1;
    thread.write(5, 1_000_000);
    for (let i = 0; i < 1000; i++) {
      thread.unsent = 1;
      thread.write(50);
    }
    expect(thread.pacer.gapMs).to.be.at.most(0.1);
  });
});
