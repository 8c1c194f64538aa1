import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { IGNORED } from "../../../src/command/command";
import { makeCommand } from "../../../src/command/command-factory";
import { LEGACY_SHAPE } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import type { Connection } from "../../../src/connection/connection";
import { Liveness } from "../../../src/link/liveness";
import type { Verdict } from "../../../src/link/probe";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

const IDLE_MS = 40;

/** The parts of a connection that the watchdog looks at. */
class Silent {
  lastActivityMs = performance.now();
  bytesRead = 0;
  isWritable = true;
  socket = { _handle: { writeQueueSize: 0 } };
  command: Command | undefined = makeCommand(specOf("get"), ["k"], false, IGNORED);
  onQuiet = (): void => {};
  readonly queue = {
    length: 0,
    inFlight: 1,
    head: (): Command | undefined => this.command,
  };

  /** The PING of a client that only listens. */
  dispatch(ping: Command): void {
    this.onQuiet();
    ping.fulfil("PONG", LEGACY_SHAPE);
  }
}

interface Watched {
  readonly idleMs: number;
  readonly seen: string[];
  readonly silent: Silent;
  probe(): Promise<Verdict>;
  isListening(): boolean;
}

/** A watchdog whose probes are scripted. Its reports are recorded; a dead connection stops it. */
function watchdogOf({ idleMs, seen, silent, probe, isListening }: Watched, Class = Liveness): Liveness {
  const link = {
    options: { watchdog: { idleMs } },
    server: "server:1",
    subscriptions: {
      get isEmpty() {
        return !isListening();
      },
    },
    session: { isInTransaction: false },
    reset(error: Error & { isReachable: boolean }) {
      expect(error).to.include({ code: "DEAD_CONNECTION" });
      expect(error.message).to.match(/server:1.* \d+ ms/);
      seen.push(error.isReachable ? "dead" : "gone");
      watchdog.stop();
    },
    report: (_type: string, error: Error) =>
      void seen.push(error.message.includes("cannot find out") ? "unknown" : "busy"),
  };
  silent.onQuiet = () => void seen.push("quiet");
  const watchdog = new Class(link as never, {} as never);
  watchdog.probe = probe;
  return watchdog;
}

describe("Watchdog", () => {
  let watchdog: Liveness;
  let silent: Silent;
  let seen: string[];
  let verdicts: Verdict[];
  let isListening: boolean;

  beforeEach(() => {
    silent = new Silent();
    seen = [];
    isListening = true;
    const probe = async (): Promise<Verdict> => {
      seen.push("asked");
      return verdicts.shift() ?? "busy";
    };
    watchdog = watchdogOf({ idleMs: IDLE_MS, seen, silent, probe, isListening: () => isListening });
  });
  afterEach(() => watchdog.stop());

  async function run(found: Verdict[], ms: number): Promise<string[]> {
    verdicts = found;
    watchdog.start(silent as unknown as Connection);
    await new Promise((resolve) => setTimeout(resolve, ms));
    watchdog.stop();
    return seen;
  }

  async function untilOver(found: Verdict[]): Promise<string[]> {
    verdicts = found;
    watchdog.start(silent as unknown as Connection);
    while (!/dead|gone/.test(seen.at(-1) ?? "")) await new Promise((resolve) => setTimeout(resolve, 5));
    return seen;
  }

  it("gives up on the word of the server", async () => {
    expect(await untilOver(["dead"])).to.deep.equal(["asked", "dead"]);
  });

  it("asks once at a time, and goes on looking while it waits for the answer", async () => {
    let asked = 0;
    let answer: (verdict: Verdict) => void = () => {};
    const probe = (): Promise<Verdict> => {
      asked++;
      return new Promise((resolve) => (answer = resolve));
    };
    const other = watchdogOf({ idleMs: IDLE_MS, seen, silent, probe, isListening: () => false });
    silent.lastActivityMs -= 10 * IDLE_MS;
    other.start(silent as unknown as Connection);
    expect([other.look(), other.look(), other.look(), asked]).to.deep.equal([true, true, true, 1]);
    answer("dead");
    await new Promise((resolve) => setImmediate(resolve));
    other.stop();
    expect(seen).to.deep.equal(["dead"]);
    expect(other.look(), "stopped").to.equal(false);
  });

  it("says once that it waits, and goes on asking", async () => {
    expect(await untilOver(["busy", "busy", "dead"])).to.deep.equal([
      "asked",
      "busy",
      "asked",
      "asked",
      "dead",
    ]);
  });

  it("does not take no answer for one", async () => {
    const found = await run(["unknown", "unknown", "unknown", "unknown"], 200);
    expect(found.filter((word) => word !== "asked")).to.deep.equal(["unknown", "busy"].slice(0, 1));
  });

  it("needs three refusals in a row", async () => {
    expect(
      await untilOver(["unreachable", "unreachable", "busy", "unreachable", "unreachable", "unreachable"]),
    ).to.deep.equal(["asked", "asked", "asked", "busy", "asked", "asked", "asked", "gone"]);
  });

  it("gives what the server has written the time to arrive, once", async () => {
    expect(await untilOver(["served", "busy", "served", "served"])).to.deep.equal([
      "asked",
      "asked",
      "busy",
      "asked",
      "asked",
      "dead",
    ]);
  });

  it("begins anew with another connection: what was found out about the last one does not count", async () => {
    for (const found of [["served"], ["unreachable", "unreachable"]] as Verdict[][]) {
      verdicts = [...found];
      seen.length = 0;
      watchdog.start(silent as unknown as Connection);
      while (verdicts.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      verdicts = [found[0] as Verdict];
      watchdog.start(silent as unknown as Connection);
      while (verdicts.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      await new Promise((resolve) => setImmediate(resolve));
      watchdog.stop();
      expect(seen.filter((word) => word === "dead" || word === "gone")).to.deep.equal([]);
    }
  });

  it("takes what the system still sends for a sign of life", async () => {
    const draining = setInterval(() => {
      silent.socket._handle.writeQueueSize += 1000;
    }, 5);
    const found = await run([], 200);
    clearInterval(draining);
    expect(found).to.deep.equal([]);
  });

  it("waits as long as a blocking command says, and for ever when it says so", async () => {
    silent.command = makeCommand(specOf("blpop"), ["k", "0.15"], false, IGNORED);
    const startedAt = performance.now();
    await untilOver(["dead"]);
    expect(performance.now() - startedAt).to.be.above(150);
    seen.length = 0;
    silent.command = makeCommand(specOf("blpop"), ["k", "0"], false, IGNORED);
    expect(await run(["dead"], 150)).to.deep.equal([]);
  });

  it("tells when nothing is due", async () => {
    silent.command = undefined;
    silent.queue.inFlight = 0;
    expect(new Set(await run([], 100))).to.deep.equal(new Set(["quiet"]));
  });

  it("rests at the first look when nothing is due and nobody listens, until something is due", async () => {
    isListening = false;
    const { command } = silent;
    silent.command = undefined;
    silent.queue.inFlight = 0;
    verdicts = ["dead"];
    watchdog.start(silent as unknown as Connection);
    expect(watchdog.look(), "goes on").to.equal(false);
    expect(watchdog.isAsleep).to.equal(true);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen).to.deep.equal([]);
    silent.command = command;
    silent.queue.inFlight = 1;
    watchdog.wake();
    while (seen.at(-1) !== "dead") await new Promise((resolve) => setTimeout(resolve, 5));
    expect(seen).to.deep.equal(["asked", "dead"]);
  });

  it("forgets a verdict about what has answered meanwhile", async () => {
    verdicts = [];
    const probe = async (): Promise<Verdict> => {
      silent.bytesRead++;
      return "dead";
    };
    const other = watchdogOf({ idleMs: IDLE_MS, seen, silent, probe, isListening: () => true });
    other.start(silent as unknown as Connection);
    await new Promise((resolve) => setTimeout(resolve, 150));
    other.stop();
    expect(seen).to.deep.equal([]);
  });
});

describe("Watchdog over time", () => {
  type Modules = typeof import("../../../src/link/liveness");
  /** Long enough for each period and delay to be a whole number. */
  const LONG_MS = 1000;
  let home: InVirtualTime<Modules>;
  let silent: Silent;
  let seen: string[];
  let verdict: Verdict;
  let onAsked: () => void;
  let isListening: boolean;
  let watchdog: Liveness;

  before(() => {
    home = inVirtualTime<Modules>(() => require("../../../src/link/liveness"));
  });

  beforeEach(() => {
    home.time.reset();
    silent = new Silent();
    silent.lastActivityMs = home.time.nowMs;
    [seen, verdict, isListening] = [[], "busy", false];
    onAsked = () => {};
    const probe = async (): Promise<Verdict> => {
      seen.push("asked");
      onAsked();
      return verdict;
    };
    watchdog = watchdogOf(
      { idleMs: LONG_MS, seen, silent, probe, isListening: () => isListening },
      home.modules.Liveness,
    );
    watchdog.start(silent as unknown as Connection);
  });

  afterEach(async () => {
    watchdog.stop();
    expect(await timers()).to.equal(0);
  });

  /** The ends of passed times are timers as well: those that are due run. */
  async function timers(): Promise<number> {
    await home.time.run(() => false, 0);
    return home.time.pending;
  }

  it("leaves no timer when it is stopped, also while bytes of the server should arrive", async () => {
    verdict = "served";
    while (seen.length === 0) await home.pass(1);
    watchdog.stop();
    expect(await timers()).to.equal(0);
    watchdog.wake();
    expect(await timers(), "it has no connection").to.equal(0);
  });

  it("gives bytes that the server has written a fifth of the time to arrive", async () => {
    verdict = "served";
    while (seen.length === 0) await home.pass(1);
    await home.pass(LONG_MS / 5 - 10);
    expect(seen).to.deep.equal(["asked"]);
    await home.pass(20);
    expect(seen).to.deep.equal(["asked", "asked", "dead"]);
  });

  it("does not ask before the silence has lasted, and asks soon after that", async () => {
    await home.pass(LONG_MS - 1);
    expect(seen).to.deep.equal([]);
    await home.pass(LONG_MS / 2);
    expect(seen.slice(0, 1)).to.deep.equal(["asked"]);
  });

  it("reports a busy server again once bytes have arrived in between", async () => {
    await home.pass(2 * LONG_MS);
    expect(seen.filter((word) => word !== "asked")).to.deep.equal(["busy"]);
    silent.lastActivityMs = home.time.nowMs;
    await home.pass(3 * LONG_MS);
    expect(seen.filter((word) => word !== "asked")).to.deep.equal(["busy", "busy"]);
  });

  for (const [found, count] of [
    ["unreachable", 2],
    ["served", 1],
  ] as const) {
    it(`counts the verdict ${found} anew once bytes have arrived in between`, async () => {
      verdict = found;
      while (seen.length < count) await home.pass(1);
      silent.lastActivityMs = home.time.nowMs;
      await home.pass(LONG_MS - 1);
      seen.length = 0;
      while (seen.length < count) await home.pass(1);
      expect(new Set(seen)).to.deep.equal(new Set(["asked"]));
    });
  }

  it("does not take a request that the server holds on purpose for one without a reply", async () => {
    verdict = "dead";
    silent.command = makeCommand(specOf("wait"), ["1", "0"], false, IGNORED);
    await home.pass(10 * LONG_MS);
    expect(seen).to.deep.equal([]);
    silent.command = makeCommand(specOf("blpop"), ["k", "3"], false, IGNORED);
    silent.lastActivityMs = home.time.nowMs;
    await home.pass(3 * LONG_MS + LONG_MS - 1);
    expect(seen).to.deep.equal([]);
    await home.pass(LONG_MS);
    expect(seen).to.deep.equal(["asked", "dead"]);
  });

  it("tells a listener of silence after half of the time, and not before", async () => {
    silent.queue.inFlight = 0;
    isListening = true;
    const startedAt = home.time.nowMs;
    while (seen.length === 0) await home.pass(1);
    expect(seen).to.deep.equal(["quiet"]);
    expect(home.time.nowMs - startedAt).to.be.within(LONG_MS / 2, LONG_MS);
  });

  it("takes bytes that the system sends for a sign of life, as often as their number changes", async () => {
    for (let i = 0; i < 20; i++) {
      silent.socket._handle.writeQueueSize = i % 2 === 0 ? 1000 : 500;
      await home.pass(LONG_MS / 2);
    }
    expect(seen).to.deep.equal([]);
    await home.pass(2 * LONG_MS);
    expect(seen.slice(0, 2)).to.deep.equal(["asked", "busy"]);
  });

  it("does not judge a connection whose bytes the system has sent while it asked", async () => {
    verdict = "dead";
    onAsked = () => {
      silent.socket._handle.writeQueueSize += 1000;
    };
    await home.pass(6 * LONG_MS);
    expect(new Set(seen)).to.deep.equal(new Set(["asked"]));
    onAsked = () => {};
    await home.pass(3 * LONG_MS);
    expect(seen.at(-1)).to.equal("dead");
  });

  it("asks as early about a stream that does not tell how much it holds", async () => {
    Object.assign(silent, { socket: {} });
    const startedAt = home.time.nowMs;
    while (seen.length === 0) await home.pass(1);
    expect(home.time.nowMs - startedAt).to.be.within(LONG_MS, 1.5 * LONG_MS);
  });

  it("does not take bytes of an earlier connection for a sign of life", async () => {
    silent.socket._handle.writeQueueSize = 1000;
    await home.pass(LONG_MS);
    const next = new Silent();
    next.lastActivityMs = home.time.nowMs - 10 * LONG_MS;
    watchdog.start(next as unknown as Connection);
    watchdog.look();
    expect(seen).to.deep.equal(["asked"]);
  });
});
