/** Time limits, abort signals and the other settings of calls, exact to the millisecond in virtual time. */

import { EventEmitter } from "node:events";
import { expect } from "chai";
import { type CallLimits, type LimitOptions, makeViewPrototype } from "../../../src/client/command-limits";
import { isLimited } from "../../../src/client/limiting";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Failure = Error & {
  code?: string;
  details?: { phase: string; mayHaveRun: boolean; elapsedMs: number; queuedMs: number };
};

describe("Limiter", () => {
  let home: InVirtualTime<typeof import("../../../src/client/command-limits")>;
  /** How each call has ended and when, by its number. */
  let ends: { readonly atMs: number; readonly value?: unknown; readonly error?: Failure }[];
  let made: Command[];
  let isWritable: boolean;
  let bytesAhead: number;
  let startMs: number;

  before(() => {
    home = inVirtualTime(() => require("../../../src/client/command-limits"));
  });

  beforeEach(() => {
    ends = [];
    made = [];
    isWritable = true;
    bytesAhead = 0;
  });

  afterEach(() => {
    for (const one of made) one.fail(new Error("the test is over"));
  });

  const now = (): number => home.time.nowMs - startMs;

  function command(name: string, ...args: string[]): Command {
    const index = made.length;
    const one = new Command(specOf(name), args, false, {
      fulfil: (_command, value) => void (ends[index] = { atMs: now(), value }),
      reject: (_command, error) => void (ends[index] = { atMs: now(), error }),
    });
    made.push(one);
    return one;
  }

  function limiter(options: LimitOptions, call: CallLimits = {}) {
    const context = {
      get isWritable() {
        return isWritable;
      },
      isRelaxed: false,
      positionOf: () => ({ commandsAhead: 3, bytesAhead, server: "server:1" }),
    };
    return new home.modules.Limiter(options, context, call);
  }

  function send(one: Command): void {
    one.state = CommandState.Sent;
    one.ensureExtra().sentAtMs = home.time.nowMs;
  }

  /** Runs in virtual time, from 0. */
  async function live(work: () => Promise<void>): Promise<void> {
    await home.live(async () => {
      startMs = home.time.nowMs;
      await work();
    });
  }

  function failureOf(index: number): Failure {
    const error = ends[index]?.error;
    if (error === undefined) throw new Error(`call ${index} has not failed`);
    return error;
  }

  const endings = (): unknown[] => ends.map(({ atMs, error, value }) => [atMs, error?.code ?? value]);

  it("is asked for by the options that limit all commands", () => {
    expect(isLimited({})).to.equal(false);
    for (const blockingTimeout of [0, -1, undefined]) expect(isLimited({ blockingTimeout })).to.equal(false);
    expect(isLimited({ commandTimeout: 0 })).to.equal(true);
    expect(isLimited({ blockingTimeout: 1 })).to.equal(true);
  });

  it("leaves everything as it is without a limit", () => {
    const one = command("get", "k");
    limiter({}).limit(one);
    expect(one.extra).to.equal(null);
  });

  for (const [settings, message] of [
    [{ retry: "never" }, 'Invalid retry "never" of with(): expected at-least-once, reads-only, at-most-once'],
    [{ timeout: "500" }, 'Invalid timeout "500" of with(): expected milliseconds'],
    [{ timeout: Number.NaN }, 'Invalid timeout "NaN"'],
    [{ timeout: null }, 'Invalid timeout "null"'],
    [5, 'Invalid settings "5" of with(): expected an object with timeout, signal, retry, cache'],
    [null, 'Invalid settings "null" of with()'],
    [{ signal: {} }, "expected an AbortSignal"],
    [{ signal: null }, "expected an AbortSignal"],
    [{ cache: -1 }, 'Invalid cache "-1"'],
    [
      { retryPolicy: "at-most-once" },
      'Unknown setting "retryPolicy" of with(): expected one of timeout, signal, retry, cache',
    ],
  ] as const) {
    it(`refuses ${JSON.stringify(settings)}, which would not be obeyed`, () => {
      expect(() => limiter({}, settings as never)).to.throw(message);
    });
  }

  it("takes a time that is over already and settings that are undefined", () => {
    const all = { timeout: -5, signal: undefined, retry: undefined, cache: undefined };
    expect(() => limiter({}, all)).not.to.throw();
  });

  it("sets what calls of a view ask for", () => {
    const one = command("get", "k");
    limiter({}, { retry: "reads-only", cache: 50 }).limit(one);
    expect(one.extra).to.include({ retryPolicy: "reads-only", cacheTtlMs: 50 });
    const [off, on] = [command("get", "k"), command("get", "k")];
    limiter({}, { cache: false }).limit(off);
    limiter({}, { cache: true }).limit(on);
    expect([off.extra?.cacheTtlMs, on.extra?.cacheTtlMs]).to.deep.equal([0, null]);
  });

  it("rejects a command whose time is up, with the short message of the API", () =>
    live(async () => {
      const limit = limiter({ commandTimeout: 50 });
      limit.limit(command("get", "k"));
      limit.limit(command("get", "answered"));
      made[1]?.fulfil("v", { protocol: 2, replyMapping: "legacy" });
      await home.pass(49);
      expect(endings()).to.deep.equal([undefined, [0, "v"]]);
      await home.pass(100);
      expect(endings()).to.deep.equal([
        [50, "COMMAND_TIMEOUT"],
        [0, "v"],
      ]);
      expect(ends[0]?.error?.message).to.equal("Command timed out");
      expect(home.time.pending, "timers").to.equal(0);
    }));

  it("tells calls of a view where their time went, and takes the place of commandTimeout", () =>
    live(async () => {
      const limit = limiter({ commandTimeout: 10 }, { timeout: 50 });
      const one = command("get", "k");
      limit.limit(one);
      await home.pass(20);
      send(one);
      await home.pass(40);
      expect(endings()).to.deep.equal([[50, "COMMAND_TIMEOUT"]]);
      const { message, details } = failureOf(0);
      expect(message).to.not.equal("Command timed out");
      expect(details).to.include({ phase: "waiting", mayHaveRun: true, elapsedMs: 50, queuedMs: 20 });
      limiter({ commandTimeout: 10 }, { timeout: Number.POSITIVE_INFINITY }).limit(command("get", "k"));
      await home.pass(1000);
      expect(ends[1]).to.equal(undefined);
    }));

  it("tells what was never written from what the socket still holds, and what was lost with its connection", () =>
    live(async () => {
      const limit = limiter({}, { timeout: 10 });
      const [queued, held, lost] = [command("get", "a"), command("get", "b"), command("get", "c")];
      for (const one of [queued, held, lost]) limit.limit(one);
      send(held);
      lost.mayHaveRun = true;
      bytesAhead = 7;
      await home.pass(20);
      expect(ends.map(({ error }) => [error?.details?.phase, error?.details?.mayHaveRun])).to.deep.equal([
        ["queued", false],
        ["sent", true],
        ["queued", true],
      ]);
    }));

  it("does not count the time that the server was asked to hold a written command", () =>
    live(async () => {
      const limit = limiter({ commandTimeout: 50, blockingTimeoutGrace: 20 });
      const [written, waiting, forever, ordinary] = [
        command("blpop", "a", "1"),
        command("blpop", "b", "1"),
        command("blpop", "c", "0"),
        command("get", "d"),
      ];
      for (const one of [written, waiting, forever, ordinary]) limit.limit(one);
      await home.pass(10);
      for (const one of [written, forever, ordinary]) send(one);
      await home.pass(2000);
      expect(endings()).to.deep.equal([
        [10 + 1000 + 20, "COMMAND_TIMEOUT"],
        [50, "COMMAND_TIMEOUT"],
        undefined,
        [50, "COMMAND_TIMEOUT"],
      ]);
    }));

  it("recalls a written blocking call that it rejects, and no other", () =>
    live(async () => {
      let recalls = 0;
      const [written, queued] = [command("blpop", "a", "0.01"), command("blpop", "b", "0.01")];
      for (const one of [written, queued]) {
        limiter({}, { timeout: 50 }).limit(one);
        one.ensureExtra().recall = () => recalls++;
      }
      send(written);
      await home.pass(60);
      expect([recalls, ends.length]).to.deep.equal([1, 2]);
    }));

  it("tells blocking commands null when blockingTimeout is over, and leaves all others", () =>
    live(async () => {
      const limit = limiter({ blockingTimeout: 50 });
      for (const words of [
        ["blpop", "a", "0"],
        ["get", "k"],
        ["xread", "STREAMS", "s", "0"],
      ])
        limit.limit(command(words[0] as string, ...words.slice(1)));
      await home.pass(1000);
      // An XREAD that does not block has the grace alone.
      expect(ends.map((one) => one && [one.atMs, one.value])).to.deep.equal([
        [50, null],
        undefined,
        [50, null],
      ]);
    }));

  it("gives a blocking command its own time and the grace, from when it is written", () =>
    live(async () => {
      const limit = limiter({ blockingTimeout: 50, blockingTimeoutGrace: 20 });
      limit.limit(command("blpop", "a", "0.2"));
      isWritable = false;
      const [offline, never] = [command("blpop", "b", "0.2"), command("blpop", "c", "0.2")];
      for (const one of [offline, never]) limit.limit(one);
      await home.pass(30);
      send(offline);
      await home.pass(1000);
      expect(endings()).to.deep.equal([
        [220, null],
        [50 + 220, null],
        [50, null],
      ]);
    }));

  it("asks the server to end a written blocking call instead of telling null itself", () =>
    live(async () => {
      const one = command("blpop", "a", "0");
      limiter({ blockingTimeout: 50 }).limit(one);
      let recalls = 0;
      one.ensureExtra().recall = () => recalls++;
      send(one);
      await home.pass(60);
      expect([recalls, ends.length]).to.deep.equal([1, 0]);
    }));

  it("fails all outstanding calls of a signal at once, and listens no longer than some are", () =>
    live(async () => {
      const controller = new AbortController();
      let listeners = 0;
      const { signal } = controller;
      const { addEventListener, removeEventListener } = signal;
      signal.addEventListener = ((...args: Parameters<typeof addEventListener>) => {
        listeners++;
        addEventListener.apply(signal, args);
      }) as typeof addEventListener;
      signal.removeEventListener = ((...args: Parameters<typeof removeEventListener>) => {
        listeners--;
        removeEventListener.apply(signal, args);
      }) as typeof removeEventListener;
      const limit = limiter({}, { signal });
      const [answered, failed, first, second] = ["a", "b", "c", "d"].map((key) => command("get", key));
      for (const one of [answered, failed]) limit.limit(one as Command);
      expect(listeners).to.equal(1);
      answered?.fulfil("v", { protocol: 2, replyMapping: "legacy" });
      expect(listeners).to.equal(1);
      failed?.fail(new Error("no"));
      expect(listeners).to.equal(0);
      for (const one of [first, second]) limit.limit(one as Command);
      await home.pass(30);
      controller.abort(new Error("enough"));
      expect(endings().slice(2)).to.deep.equal([
        [30, "ABORTED_BY_SIGNAL"],
        [30, "ABORTED_BY_SIGNAL"],
      ]);
      expect([
        (failureOf(2).cause as Error).message,
        failureOf(2).details?.elapsedMs,
        listeners,
      ]).to.deep.equal(["enough", 30, 0]);
    }));

  it("keeps no timer for a call that has ended, whichever way", () =>
    live(async () => {
      const ways = [
        limiter({ commandTimeout: 50_000 }),
        limiter({ blockingTimeout: 50_000 }),
        limiter({}, { timeout: 50_000 }),
      ];
      for (const limit of ways) {
        for (const isFailed of [false, true]) {
          const one = command("blpop", "k", "0");
          limit.limit(one);
          expect(home.time.pending).to.be.greaterThan(0);
          if (isFailed) one.fail(new Error("no"));
          else one.fulfil(null, { protocol: 2, replyMapping: "legacy" });
          expect(home.time.pending).to.equal(0);
        }
      }
    }));

  it("fails a call at once whose signal is aborted already, and sets no timer for it", () =>
    live(async () => {
      const one = command("get", "k");
      limiter({}, { signal: AbortSignal.abort(), timeout: 50 }).limit(one);
      expect([one.isSettled, ends[0]?.error?.code, home.time.pending]).to.deep.equal([
        true,
        "ABORTED_BY_SIGNAL",
        0,
      ]);
    }));
});

describe("the prototype of views", () => {
  class Client extends EventEmitter {
    readonly name = "client";
    commands: string[] = [];

    get(key: string): string {
      return `${this.name} ${key}`;
    }

    defineCommand(name: string): void {
      this.commands.push(name);
    }
  }

  it("inherits everything, and passes on to the client what belongs to it as a whole", () => {
    const client = new Client();
    const view = Object.create(makeViewPrototype(client)) as Client & { name: string };
    Object.defineProperty(view, "name", { value: "view" });
    let heard = 0;
    expect(
      view.on("event", () => heard++),
      "chained calls stay with the view",
    ).to.equal(view);
    expect([client.listenerCount("event"), Object.hasOwn(view, "_events")]).to.deep.equal([1, false]);
    client.emit("event");
    view.emit("event");
    expect(heard).to.equal(2);
    expect(view.listenerCount("event")).to.equal(1);
    view.defineCommand("script");
    expect(client.commands).to.deep.equal(["script"]);
    expect(view.get("k")).to.equal("view k");
    expect("addBuiltinCommand" in view).to.equal(false);
  });
});
