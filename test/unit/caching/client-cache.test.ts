/** The cache over a connection that is played by hand: times, limits of callers, orders that servers seldom make. */

import { inspect } from "node:util";
import { expect } from "chai";
import { ClientCache } from "../../../src/caching/client-cache";
import { Tracking } from "../../../src/caching/tracking";
import { Command } from "../../../src/command/command";
import { replyTransformers, specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { CommandTimeoutError } from "../../../src/part-errors";
import { sleep } from "../../../src/util/scheduling";

const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;

/** The clock is looked at every 50 ms. */
const SHORT_MS = 20;

class Stage implements Dispatcher {
  readonly sent: Command[] = [];
  readonly direct: Dispatcher = this;
  readonly tracking: Tracking;
  readonly cache: ClientCache;

  constructor({ ttlMs = 1e6, maxStaleMs = 1e6, absentTtlMs = null as number | null, asksTtl = false } = {}) {
    const onRefused = (): void => {};
    this.tracking = new Tracking(this, {
      mode: "all",
      prefixes: [],
      maxStaleMs,
      isOfCluster: false,
      onRefused,
    });
    this.cache = new ClientCache(
      {
        maxBytes: 1e6,
        ttlMs,
        asksTtl,
        maxStaleMs,
        absentTtlMs,
        isFrozen: false,
        matches: null,
        isBroadcast: false,
      },
      {
        onInvalidated: () => {},
        onTrackingEnded: () => this.tracking.end(),
        place: () => ({ serverAddress: "", serverPort: 1 }),
      },
    );
    this.cache.next = this.tracking;
    this.tracking.begin(this);
    this.answer("OK");
  }

  dispatch(command: Command): void {
    this.sent.push(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.sent.push(...commands);
  }

  call(name: string, ...args: string[]): { command: Command; outcome: Promise<unknown> } {
    const command = new Command(specOf(name), args, false, new PromiseCompletion());
    this.cache.dispatch(command);
    return { command, outcome: command.promise };
  }

  /** Answers the oldest command. */
  answer(value: unknown): void {
    this.sent.shift()?.fulfil(value, SHAPE);
  }
}

describe("a cache over a connection played by hand", () => {
  it("asks again when the time of an answer is over", async () => {
    const stage = new Stage({ ttlMs: 30 });
    stage.call("get", "a");
    stage.answer("1");
    // The time that it is kept includes one reading of the clock.
    while (stage.cache.peek("get", "a") !== undefined) await sleep(1);
    expect(stage.cache.stats().entries).to.equal(0);
  });

  for (const whose of ["the cache", "a call"]) {
    it(`gives an answer again although ${whose} keeps it for less time than lies between two looks at the clock`, () => {
      const stage = new Stage(whose === "a call" ? {} : { ttlMs: SHORT_MS });
      const ask = (): void => {
        const command = new Command(specOf("get"), ["a"], false, new PromiseCompletion());
        if (whose === "a call") command.ensureExtra().cacheTtlMs = SHORT_MS;
        stage.cache.dispatch(command);
        if (!command.isSettled) stage.answer("1");
      };
      // Where the machine stands still meanwhile the time is over: there are more tries.
      for (let tries = 0; tries < 100 && stage.cache.stats().hits === 0; tries++) ask();
      expect(stage.cache.stats().hits).to.equal(1);
    });
  }

  it("asks the server to prove that it lives, and gives nothing until it has", async () => {
    const stage = new Stage({ maxStaleMs: 60 });
    stage.call("get", "a");
    stage.answer("1");
    expect(stage.cache.peek("get", "a")).to.equal("1");
    while (stage.cache.peek("get", "a") !== undefined) await sleep(1);
    expect(stage.sent.map(({ name }) => name)).to.deep.equal(["ping"]);
    // Proves the time at which it was asked, which is over.
    await sleep(60);
    stage.answer("PONG");
    expect(stage.cache.peek("get", "a")).to.equal(undefined);
    expect(stage.sent.map(({ name }) => name)).to.deep.equal(["ping"]);
    stage.answer("PONG");
    expect(stage.cache.peek("get", "a")).to.equal("1");
  });

  it("asks for the time to live of a key only if it is told to, and for one key", () => {
    const stage = new Stage({ asksTtl: true });
    stage.call("get", "a");
    stage.call("mget", "b", "c");
    const names = ({ sent }: Stage): string[] => sent.map(({ name, args }) => `${name} ${args.join(" ")}`);
    expect(names(stage)).to.deep.equal(["get a", "pttl a", "mget b c"]);
    const other = new Stage();
    other.call("get", "a");
    expect(names(other)).to.deep.equal(["get a"]);
  });

  describe("with a reply transformer of the user", () => {
    const transformers: Record<string, (reply: unknown) => unknown> = {
      "a set": (reply) => new Set([reply]),
      "a map in a list": (reply) => [new Map([[reply, 1]])],
      "an object of a class": (reply) => new URL(`redis://${String(reply)}`),
      "a function": (reply) => () => reply,
      "a promise": (reply) => Promise.resolve({ reply }),
      "what contains itself": (reply) => {
        const list: unknown[] = [reply];
        list.push(list);
        return list;
      },
    };
    for (const [made, transform] of Object.entries(transformers)) {
      it(`gives ${made} that is made for each call`, async () => {
        replyTransformers["get"] = transform;
        try {
          const stage = new Stage();
          const calls = [stage.call("get", "a"), stage.call("get", "a")];
          stage.answer("host");
          stage.answer("host");
          calls.push(stage.call("get", "a"));
          stage.answer("host");
          const [first, ...others] = await Promise.all(calls.map(({ outcome }) => outcome));
          for (const other of others) {
            expect(inspect(other)).to.equal(inspect(await transform("host")));
            expect(other).not.to.equal(first);
          }
          expect(stage.cache.stats().entries).to.equal(0);
        } finally {
          delete replyTransformers["get"];
        }
      });
    }

    it("keeps an answer on a cluster as one that may speak of a missing key", async () => {
      replyTransformers["get"] = (reply) => reply ?? "missing";
      try {
        const stage = new Stage({ absentTtlMs: 30 });
        stage.call("get", "a");
        stage.answer(null);
        while (stage.cache.peek("get", "a") !== undefined) await sleep(1);
        expect(stage.cache.stats()).to.deep.include({ stores: 1, entries: 0 });
      } finally {
        delete replyTransformers["get"];
      }
    });

    it("keeps what it can copy", async () => {
      replyTransformers["get"] = (reply) => JSON.parse(String(reply)) as unknown;
      try {
        const stage = new Stage();
        const first = stage.call("get", "a");
        stage.answer('{"a":[1,{"b":null}]}');
        const again = stage.cache.peek("get", "a");
        expect(again).to.deep.equal({ a: [1, { b: null }] });
        expect(again).not.to.equal(await first.outcome);
      } finally {
        delete replyTransformers["get"];
      }
    });
  });

  it("leaves those who wait for an answer their own limits", async () => {
    const stage = new Stage();
    const first = stage.call("get", "a");
    const second = stage.call("get", "a");
    const third = stage.call("get", "a");
    expect(stage.sent).to.have.length(1);
    const place = { commandsAhead: 0, bytesAhead: 0, server: "here" };
    const times = { phase: "sent", mayHaveRun: true, elapsedMs: 1, queuedMs: 0 } as const;
    const error = new CommandTimeoutError({ ...times, ...place }, true);
    first.command.fail(error);
    expect(await first.outcome.catch((thrown: unknown) => thrown)).to.equal(error);
    // One of the others asks anew, for both.
    expect(stage.sent.map(({ name }) => name)).to.deep.equal(["get", "get"]);
    stage.answer("late");
    stage.answer("1");
    expect(await Promise.all([second.outcome, third.outcome])).to.deep.equal(["1", "1"]);
  });

  it("asks anew rather than wait for an answer that was asked for longer ago than answers may be old", async () => {
    const stage = new Stage({ maxStaleMs: 40 });
    const first = stage.call("get", "a");
    await sleep(60);
    const second = stage.call("get", "a");
    const third = stage.call("get", "a");
    expect(stage.sent).to.have.length(2);
    stage.answer("old");
    expect(await first.outcome).to.equal("old");
    stage.answer("new");
    expect(await Promise.all([second.outcome, third.outcome])).to.deep.equal(["new", "new"]);
  });

  it("asks anew for a caller who takes no answer that is as old as the one that is under way", async () => {
    const stage = new Stage();
    stage.call("get", "a");
    await sleep(30);
    const command = new Command(specOf("get"), ["a"], false, new PromiseCompletion());
    command.ensureExtra().cacheTtlMs = 20;
    stage.cache.dispatch(command);
    expect(stage.sent).to.have.length(2);
    stage.call("get", "a");
    expect(stage.sent).to.have.length(2);
  });

  it("does not keep what was read of a key that changed meanwhile", async () => {
    const stage = new Stage();
    const { outcome } = stage.call("get", "a");
    stage.cache.onInvalidation([Buffer.from("a")]);
    const second = stage.call("get", "a");
    expect(stage.sent).to.have.length(2);
    stage.answer("old");
    expect(await outcome).to.equal("old");
    expect(stage.cache.peek("get", "a")).to.equal(undefined);
    stage.answer("new");
    expect(await second.outcome).to.equal("new");
    expect(stage.cache.peek("get", "a")).to.equal("new");
  });

  it("keeps nothing of a key while a write of it is under way, nor what was read before its end", () => {
    const stage = new Stage();
    const write = stage.call("set", "a", "new");
    const [sent] = stage.sent.splice(0);
    expect(sent).to.equal(write.command);
    // Over another connection than the write: it may be older.
    stage.call("get", "a");
    stage.answer("old");
    expect(stage.cache.peek("get", "a")).to.equal(undefined);
    stage.call("get", "a");
    sent?.fulfil("OK", SHAPE);
    stage.answer("old");
    expect(stage.cache.peek("get", "a")).to.equal(undefined);
    stage.call("get", "a");
    stage.answer("new");
    expect(stage.cache.peek("get", "a")).to.equal("new");
  });

  it("holds keys whose names are no text by the name that is sent", () => {
    const stage = new Stage();
    stage.call("get", "\ufffd");
    stage.answer("1");
    expect(stage.cache.peek("get", "\ufffd")).to.equal("1");
    stage.call("set", "\ud800", "2");
    expect(stage.cache.peek("get", "\ufffd")).to.equal(undefined);
  });

  it("keeps nothing that came over a connection that is lost", () => {
    const stage = new Stage();
    stage.call("get", "a");
    stage.tracking.end();
    stage.cache.onLost(null);
    stage.answer("old");
    expect(stage.cache.stats().entries).to.equal(0);
  });

  it("looks at the clock although callers await nothing but hits", async () => {
    const stage = new Stage({ maxStaleMs: 50 });
    stage.call("get", "a");
    stage.answer("1");
    let count = 0;
    // Never lets the event loop turn.
    while (stage.cache.promised(specOf("get"), ["a"], false) !== null && count < 1e8) {
      count++;
      await null;
    }
    expect(count).to.be.within(1, 1e8 - 1);
  });
});
