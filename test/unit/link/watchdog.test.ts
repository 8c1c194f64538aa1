import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { IGNORED } from "../../../src/command/command";
import { makeCommand } from "../../../src/command/command-factory";
import { specOf } from "../../../src/command/command-table";
import type { Connection } from "../../../src/connection/connection";
import { Verdict, Watchdog } from "../../../src/link/watchdog";

const IDLE_MS = 40;

/** The parts of a connection that the watchdog looks at. */
class Silent {
  lastActivityMs = performance.now();
  bytesRead = 0;
  sleepingWatchdog: Watchdog | null = null;
  socket = { _handle: { writeQueueSize: 0 } };
  command: Command | undefined = makeCommand(specOf("get"), ["k"], false, IGNORED);
  readonly queue = {
    inFlight: 1,
    head: (): Command | undefined => this.command,
    oldest: (): Command | undefined => this.command,
  };
}

describe("Watchdog", () => {
  let watchdog: Watchdog;
  let silent: Silent;
  let seen: string[];
  let verdicts: Verdict[];
  let isListening: boolean;

  beforeEach(() => {
    silent = new Silent();
    seen = [];
    isListening = true;
    watchdog = new Watchdog(IDLE_MS, {
      probe: async () => {
        seen.push("asked");
        return verdicts.shift() ?? Verdict.ServerIsBusy;
      },
      onDeadConnection: (_silentMs, isReachable) => {
        seen.push(isReachable ? "dead" : "gone");
        watchdog.stop();
      },
      onBusyServer: (_silentMs, isKnown) => seen.push(isKnown ? "busy" : "unknown"),
      isListening: () => isListening,
      onQuiet: () => seen.push("quiet"),
    });
  });
  afterEach(() => watchdog.stop());

  async function run(found: Verdict[], ms: number): Promise<string[]> {
    verdicts = found;
    watchdog.attach(silent as unknown as Connection);
    await new Promise((resolve) => setTimeout(resolve, ms));
    watchdog.stop();
    return seen;
  }

  async function untilOver(found: Verdict[]): Promise<string[]> {
    verdicts = found;
    watchdog.attach(silent as unknown as Connection);
    while (!/dead|gone/.test(seen.at(-1) ?? "")) await new Promise((resolve) => setTimeout(resolve, 5));
    return seen;
  }

  it("gives up on the word of the server", async () => {
    expect(await untilOver([Verdict.ConnectionIsDead])).to.deep.equal(["asked", "dead"]);
  });

  it("asks once at a time, and goes on looking while it waits for the answer", async () => {
    let asked = 0;
    let answer: (verdict: Verdict) => void = () => {};
    const gone: boolean[] = [];
    const other = new Watchdog(IDLE_MS, {
      probe: () => {
        asked++;
        return new Promise((resolve) => (answer = resolve));
      },
      onDeadConnection: (_silentMs, isReachable) => void gone.push(isReachable),
      onBusyServer: () => {},
      isListening: () => false,
      onQuiet: () => {},
    });
    silent.lastActivityMs -= 10 * IDLE_MS;
    other.attach(silent as unknown as Connection);
    expect([other.look(), other.look(), other.look(), asked]).to.deep.equal([true, true, true, 1]);
    answer(Verdict.ConnectionIsDead);
    await new Promise((resolve) => setImmediate(resolve));
    other.stop();
    expect(gone).to.deep.equal([true]);
    expect(other.look(), "stopped").to.equal(false);
  });

  it("says once that it waits, and goes on asking", async () => {
    const { ServerIsBusy, ConnectionIsDead } = Verdict;
    expect(await untilOver([ServerIsBusy, ServerIsBusy, ConnectionIsDead])).to.deep.equal([
      "asked",
      "busy",
      "asked",
      "asked",
      "dead",
    ]);
  });

  it("does not take no answer for one", async () => {
    const found = await run([Verdict.Unknown, Verdict.Unknown, Verdict.Unknown, Verdict.Unknown], 200);
    expect(found.filter((word) => word !== "asked")).to.deep.equal(["unknown", "busy"].slice(0, 1));
  });

  it("needs three refusals in a row", async () => {
    const { Unreachable, ServerIsBusy } = Verdict;
    expect(
      await untilOver([Unreachable, Unreachable, ServerIsBusy, Unreachable, Unreachable, Unreachable]),
    ).to.deep.equal(["asked", "asked", "asked", "busy", "asked", "asked", "asked", "gone"]);
  });

  it("gives what the server has written the time to arrive, once", async () => {
    const { Served, ServerIsBusy } = Verdict;
    expect(await untilOver([Served, ServerIsBusy, Served, Served])).to.deep.equal([
      "asked",
      "asked",
      "busy",
      "asked",
      "asked",
      "dead",
    ]);
  });

  it("begins anew with another connection: what was found out about the last one does not count", async () => {
    const { Served, Unreachable } = Verdict;
    for (const found of [[Served], [Unreachable, Unreachable]]) {
      verdicts = [...found];
      seen.length = 0;
      watchdog.attach(silent as unknown as Connection);
      while (verdicts.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      verdicts = [found[0] as Verdict];
      watchdog.attach(silent as unknown as Connection);
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
    await untilOver([Verdict.ConnectionIsDead]);
    expect(performance.now() - startedAt).to.be.above(150);
    seen.length = 0;
    silent.command = makeCommand(specOf("blpop"), ["k", "0"], false, IGNORED);
    expect(await run([Verdict.ConnectionIsDead], 150)).to.deep.equal([]);
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
    verdicts = [Verdict.ConnectionIsDead];
    watchdog.attach(silent as unknown as Connection);
    expect(watchdog.look(), "goes on").to.equal(false);
    expect(silent.sleepingWatchdog).to.equal(watchdog);
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
      return Verdict.ConnectionIsDead;
    };
    const other = new Watchdog(IDLE_MS, {
      probe,
      onDeadConnection: () => seen.push("dead"),
      onBusyServer: () => seen.push("busy"),
      isListening: () => true,
      onQuiet: () => {},
    });
    other.attach(silent as unknown as Connection);
    await new Promise((resolve) => setTimeout(resolve, 150));
    other.stop();
    expect(seen).to.deep.equal([]);
  });
});
