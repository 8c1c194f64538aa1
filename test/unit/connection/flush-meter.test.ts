/** The meter of flushes over a queue, in virtual time: counts, round trips, stalls, and what listeners of `sluice:flush` hear. */

import { tracingChannel } from "node:diagnostics_channel";
import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { CommandQueue } from "../../../src/connection/command-queue";
import type { FlushMeter } from "../../../src/connection/flush-meter";
import type { FlushContext } from "../../../src/observability/work-channels";
import { Ending } from "../../support/ending";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Modules = typeof import("../../../src/connection/flush-meter") &
  typeof import("../../../src/util/scheduling") &
  typeof import("../../../src/command/batch");

const SERVER = { serverAddress: "10.0.0.1", serverPort: 6379 };

describe("FlushMeter", () => {
  let home: InVirtualTime<Modules>;
  let queue: CommandQueue;
  let meter: FlushMeter;
  /** Milliseconds of the round trips that were measured. */
  let trips: number[];
  const made: Command[] = [];

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/connection/flush-meter"),
      ...require("../../../src/util/scheduling"),
      ...require("../../../src/command/batch"),
    }));
  });
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function live(work: () => Promise<void>): Promise<void> {
    return home.live(async () => {
      queue = new CommandQueue();
      meter = new home.modules.FlushMeter(queue, undefined, { server: () => SERVER });
      trips = [];
      const { roundTrips } = meter.counts;
      roundTrips.note = (ms) => void trips.push(Math.round(ms * 10) / 10);
      await work();
    });
  }

  function newCommand(name: string): Command {
    const command = new Command(specOf(name), ["k", "0"], false, new Ending());
    made.push(command);
    return command;
  }

  /** One flush of these commands, as the writer does it. */
  function flush(
    names: readonly string[],
    bytes = 10 * names.length,
    isStalled = false,
    idleSinceMs = home.modules.clockMs(),
  ): void {
    for (const name of names) queue.push(newCommand(name));
    meter.begin(idleSinceMs);
    for (const _ of names) {
      queue.takeUnsent();
    }
    meter.end(bytes, isStalled);
  }

  function answer(count: number, bytes = 5 * count): void {
    for (let i = 0; i < count; i++) queue.shift();
    meter.arrived(bytes, home.modules.clockMs());
  }

  it("counts flushes, commands and bytes", () =>
    live(async () => {
      flush(["get"]);
      flush(["get", "get", "get"], 77);
      answer(4, 20);
      const { flushes, written, bytesWritten, bytesRead, flushSizes } = meter.counts;
      expect([flushes, written, bytesWritten, bytesRead]).to.deep.equal([2, 4, 87, 20]);
      expect(flushSizes.slice(0, 3)).to.deep.equal([1, 1, 0]);
    }));

  it("measures from the write of a flush to the read that holds its first reply", () =>
    live(async () => {
      flush(["get", "get"]);
      await home.pass(7);
      answer(1);
      expect(trips).to.deep.equal([7]);
      // The second reply belongs to the same flush.
      await home.pass(100);
      answer(1);
      expect(trips).to.deep.equal([7]);
    }));

  it("takes the time of an idle connection from it, and looks at the clock for a busy one", () =>
    live(async () => {
      const sinceMs = home.modules.clockMs();
      await home.pass(2);
      flush(["get"], 10, false, sinceMs);
      await home.pass(7);
      answer(1);
      flush(["get"]);
      answer(1);
      flush(["get", "get"]);
      answer(1);
      flush(["get"], 10, false, sinceMs);
      await home.pass(3);
      answer(2);
      expect(trips).to.deep.equal([9, 0, 0, 3]);
    }));

  it("measures one round trip at a time, each of its own flush", () =>
    live(async () => {
      flush(["get"]);
      await home.pass(3);
      flush(["get"]);
      await home.pass(3);
      answer(1);
      answer(1);
      expect(trips).to.deep.equal([6]);
      flush(["get"]);
      await home.pass(2);
      answer(1);
      expect(trips).to.deep.equal([6, 2]);
    }));

  it("begins the next one when a flush has others before it, and leaves their time out", () =>
    live(async () => {
      flush(["get"]);
      answer(1);
      flush(["get", "get"]);
      await home.pass(5);
      answer(1);
      await home.pass(5);
      flush(["get"]);
      // Of the two before it one is outstanding: its reply is not the one to that flush.
      await home.pass(4);
      answer(1);
      expect(trips).to.deep.equal([0, 5]);
      await home.pass(4);
      answer(1);
      expect(trips).to.deep.equal([0, 5, 8]);
    }));

  it("does not measure commands whose replies come when the server pleases", () =>
    live(async () => {
      flush(["blpop"]);
      await home.pass(500);
      answer(1);
      expect(trips).to.deep.equal([]);
      flush(["get"]);
      await home.pass(1);
      answer(1);
      expect(trips).to.deep.equal([1]);
    }));

  it("counts a stall once, until the socket drains or the connection ends", () =>
    live(async () => {
      flush(["get"], 10, true);
      await home.pass(5);
      flush(["get"], 10, true);
      await home.pass(5);
      meter.drained();
      expect(meter.counts.stalls).to.equal(1);
      expect(meter.counts.stalledMs).to.be.closeTo(10, 0.01);
      await home.pass(50);
      flush(["get"]);
      meter.drained();
      expect(meter.counts.stalledMs).to.be.closeTo(10, 0.01);
      flush(["get"], 10, true);
      await home.pass(2);
      meter.close();
      expect([meter.counts.stalls, Math.round(meter.counts.stalledMs)]).to.deep.equal([2, 12]);
    }));

  describe("told to listeners", () => {
    let heard: [event: string, context: FlushContext][];
    const channel = tracingChannel<unknown, FlushContext>("sluice:flush");
    const note = (event: string) => (context: object) =>
      void heard.push([event, { ...(context as FlushContext) }]);
    const handlers = {
      start: note("start"),
      end: () => {},
      asyncStart: () => {},
      asyncEnd: note("over"),
      error: note("error"),
    };

    beforeEach(() => {
      heard = [];
      channel.subscribe(handlers);
    });
    afterEach(() => void channel.unsubscribe(handlers));

    it("names commands, bytes, cause and server, and ends with the first reply", () =>
      live(async () => {
        flush(["get", "get"], 33);
        await home.pass(6);
        answer(1);
        answer(1);
        expect(heard.map(([event]) => event)).to.deep.equal(["start", "over"]);
        const [, begun] = heard[0] as [string, FlushContext];
        expect(begun).to.deep.include({
          ...SERVER,
          commands: 2,
          bytes: 33,
          inFlight: 0,
          cause: "run",
          isStalled: false,
        });
        expect(heard[1]?.[1].roundTripMs).to.be.closeTo(6, 0.01);
      }));

    it("counts the batches that begin in it", () =>
      live(async () => {
        new home.modules.Batch(home.modules.BatchKind.Pipeline, 1, null).start();
        queue.push(newCommand("get"));
        meter.begin(home.modules.clockMs());
        for (let i = 0; i < 2; i++) new home.modules.Batch(home.modules.BatchKind.Pipeline, 1, null).start();
        queue.takeUnsent();
        meter.end(10, false);
        expect(heard[0]?.[1].batches).to.equal(2);
        answer(1);
      }));

    it("takes the cause that it was given, for one flush", () =>
      live(async () => {
        meter.cause = "early";
        flush(["get"]);
        flush(["get"]);
        meter.drained();
        flush(["get"]);
        expect(heard.map(([, { cause, inFlight }]) => `${cause} ${inFlight}`)).to.deep.equal([
          "early 0",
          "turn 1",
          "drain 2",
        ]);
        answer(3);
        expect(heard.filter(([event]) => event === "over")).to.have.length(3);
      }));

    it("ends 100,000 flushes that one read answers, and none twice if a listener closes the connection", () =>
      live(async () => {
        for (let i = 0; i < 100_000; i++) flush(["get"]);
        heard = [];
        const closing = { ...handlers, start: () => {}, asyncEnd: () => meter.close(), error: () => {} };
        channel.subscribe(closing);
        answer(100_000);
        channel.unsubscribe(closing);
        expect(heard).to.have.length(100_000);
        expect(heard.every(([event]) => event === "over")).to.equal(true);
      }));

    it("ends each flush with a reply of its own, or with the error of the connection", () =>
      live(async () => {
        flush(["get"]);
        flush(["get", "get"]);
        flush(["get"]);
        answer(2);
        expect(heard.filter(([event]) => event === "over")).to.have.length(2);
        meter.close();
        const errors = heard.filter(([event]) => event === "error");
        expect(errors.map(([, { error }]) => error?.message)).to.deep.equal(["Connection is closed."]);
        meter.close();
        expect(heard.filter(([event]) => event === "error")).to.have.length(1);
      }));
  });
});
