/** The figures of `stats()` from queues and counters that the test fills: what is added up from where, and that nobody can change it. */

import { expect } from "chai";
import {
  type LinkStats,
  readBounds,
  readCluster,
  readCommands,
  readLink,
  shownOf,
} from "../../../src/client/stats";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { CallCounts, PromiseCompletion } from "../../../src/command/promise-completion";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import { ReplyError } from "../../../src/errors";
import { clockMs } from "../../../src/util/scheduling";

/** So much waits at a link. */
interface Load {
  readonly offline?: number;
  readonly unsent?: number;
  readonly unanswered?: number;
  /** Null: no connection is ready. */
  readonly queue?: { readonly unsentBytes: number; readonly bytesInFlight: number } | undefined;
  readonly socketBytes?: number | undefined;
  readonly subscriptions?: number;
}

function link({ offline = 0, unsent = 0, unanswered = 0, queue, socketBytes, subscriptions = 0 }: Load) {
  return {
    status: "ready",
    offline: { length: offline, bytes: offline * 100 },
    inFlight: unanswered,
    queue: queue && { ...queue, unsent },
    connection: socketBytes === undefined ? null : { socket: { writableLength: socketBytes } },
    subscriptions: { count: subscriptions },
  } as never;
}

describe("stats", () => {
  const made: Command[] = [];
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function commands(...keys: string[]): Command[] {
    const all = keys.map((key) => {
      const one = new Command(specOf("get"), [key], false, new PromiseCompletion());
      one.promise.catch(() => {});
      return one;
    });
    made.push(...all);
    return all;
  }

  /** Everything in it is frozen. */
  function expectFrozen(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    expect(Object.isFrozen(value), JSON.stringify(value)).to.equal(true);
    for (const one of Object.values(value)) expectFrozen(one);
  }

  const NOWHERE = { status: "ready", server: "server:1", gathered: [], lease: null };

  it("counts what waits at a link by where it waits, each command once", () => {
    const load: Load = {
      offline: 2,
      unsent: 3,
      unanswered: 5,
      queue: { unsentBytes: 7, bytesInFlight: 11 },
      socketBytes: 13,
    };
    const stats = readLink(link(load), new ConnectionCounts(), {
      ...NOWHERE,
      gathered: commands("abc", "de"),
    });
    expect(stats.queues).to.deep.equal({
      ...{ offline: 2, gathered: 2, unsent: 3, inFlight: 5 },
      ...{ offlineBytes: 200, gatheredBytes: 5, unsentBytes: 7, inFlightBytes: 11, socketBytes: 13 },
    });
    expectFrozen(stats);
  });

  it("has nothing where there is no connection", () => {
    const { queues, ...stats } = readLink(link({ subscriptions: 4 }), new ConnectionCounts(), NOWHERE);
    expect(Object.values(queues).every((figure) => figure === 0)).to.equal(true);
    expect(stats).to.deep.include({ status: "ready", server: "server:1", subscriptions: 4 });
    expect(stats.roundTrip).to.deep.equal({ meanMs: null, p99Ms: null, count: 0 });
    expect(stats.flushes.mean).to.equal(0);
  });

  it("counts what waits for an extra connection with what is gathered", () => {
    const lease = { waitingCount: 3, waitingBytes: 30 } as never;
    const { queues } = readLink(link({}), new ConnectionCounts(), {
      ...NOWHERE,
      gathered: commands("a"),
      lease,
    });
    expect([queues.gathered, queues.gatheredBytes]).to.deep.equal([4, 31]);
  });

  it("tells the traffic of the connections as it is counted, and keeps none of it", () => {
    const counts = new ConnectionCounts();
    const figures = { attempts: 1, opened: 2, lost: 3, resent: 4, probes: 5 };
    Object.assign(counts, figures, {
      bytesRead: 6,
      bytesWritten: 7,
      stalls: 8,
      stalledMs: 9,
      flushes: 4,
      written: 10,
    });
    counts.flushSizes[2] = 4;
    counts.roundTrips.note(5, clockMs());
    const stats = readLink(link({}), counts, NOWHERE);
    expect(stats).to.deep.include({
      connections: figures,
      ...{ bytesRead: 6, bytesWritten: 7 },
      stalls: { count: 8, ms: 9 },
    });
    expect(stats.flushes).to.include({ count: 4, commands: 10, mean: 2.5 });
    expect(stats.flushes.sizes[2]).to.equal(4);
    expect(stats.roundTrip).to.include({ meanMs: 5, count: 1 });
    expect(stats.roundTrip.p99Ms).to.be.within(5, 6);
    counts.flushSizes[2] = 99;
    counts.lost = 99;
    expect([stats.flushes.sizes[2], stats.connections.lost]).to.deep.equal([4, 3]);
  });

  it("tells calls and their errors", () => {
    const callCounts = new CallCounts();
    callCounts.issued = 5;
    callCounts.onFulfilled();
    for (const code of ["ERR", "ERR", "WRONGTYPE"]) callCounts.onFailed(new ReplyError(`${code} no`));
    const stats = readCommands(callCounts, 0);
    expect(stats).to.deep.equal({ issued: 5, fulfilled: 1, failed: 3, errors: { ERR: 2, WRONGTYPE: 1 } });
    expectFrozen(stats);
    callCounts.onFailed(new ReplyError("ERR no"));
    expect(stats.errors).to.deep.equal({ ERR: 2, WRONGTYPE: 1 });
  });

  it("tells of bounds where there are some", () => {
    expect(readBounds(null)).to.equal(null);
    const bounds = readBounds({ commands: 1, bytes: 2, waitingCount: 3, queue: "not told" } as never);
    expect(bounds).to.deep.equal({ commands: 1, bytes: 2, waiting: 3 });
    expectFrozen(bounds);
  });

  it("shows people no bytes of queues", () => {
    const { queues } = readLink(link({ offline: 2, socketBytes: 5 }), new ConnectionCounts(), NOWHERE);
    expect(shownOf(queues)).to.deep.equal({
      offline: 2,
      gathered: 0,
      unsent: 0,
      inFlight: 0,
      socketBytes: 5,
    });
  });

  it("adds the nodes of a cluster up, and what waits above them to what is offline", () => {
    const load = (times: number): Load => ({
      offline: times,
      unsent: 2 * times,
      unanswered: 3 * times,
      queue: { unsentBytes: 4 * times, bytesInFlight: 5 * times },
      socketBytes: 6 * times,
    });
    const nodes: LinkStats[] = [1, 10].map((times) =>
      readLink(link(load(times)), new ConnectionCounts(), {
        ...NOWHERE,
        server: `node:${times}`,
        gathered: commands("ab"),
      }),
    );
    const counts = new ConnectionCounts();
    counts.lost = 7;
    const own = { status: "ready", commands: readCommands(new CallCounts(), 0), bounds: null, cache: null };
    const stats = readCluster({
      ...own,
      nodes,
      counts,
      redirects: { moved: 1, ask: 2, tryAgain: 3, clusterDown: 4, other: 11 },
      waiting: commands(...Array<string>(100).fill("ten bytes.")),
    });
    expect(stats.queues).to.deep.equal({
      ...{ offline: 111, gathered: 2, unsent: 22, inFlight: 33 },
      ...{ offlineBytes: 2100, gatheredBytes: 4, unsentBytes: 44, inFlightBytes: 55, socketBytes: 66 },
    });
    expect(stats.redirects).to.deep.equal({ moved: 1, ask: 2, tryAgain: 3, clusterDown: 4, other: 11 });
    expect(Object.keys(stats.nodes)).to.deep.equal(["node:1", "node:10"]);
    expect(stats.nodes["node:10"]).to.equal(nodes[1]);
    expect(stats).to.deep.include(own);
    expect(stats.connections.lost).to.equal(7);
    expectFrozen(stats);
  });
});
