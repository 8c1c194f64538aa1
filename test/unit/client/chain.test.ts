/** The chain of dispatchers that options ask for: what stands where, what is gathered, and what changes while it lives. */

import { expect } from "chai";
import { Chain } from "../../../src/client/chain";
import type { RedisOptions } from "../../../src/client/options/redis-options";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { BlockingLease } from "../../../src/leases/blocking-lease";
import { Admission } from "../../../src/link/admission";
import { AutoPipeliner } from "../../../src/pipeline/auto-pipeliner";

class Bottom implements Dispatcher {
  readonly got: string[] = [];
  readonly connection = null;
  readonly direct = null;
  readonly connectionFor = () => null;
  readonly unanswered = () => [];
  readonly isLeaving = false;
  readonly mode = "normal";
  readonly session = {
    selected: { db: 0 },
    isDelicate: false,
    isDbOpen: false,
    loseMember: () => void this.lost++,
  };
  /** Members of transactions that were given up. */
  lost = 0;

  dispatch({ args, spec }: Command): void {
    this.got.push([spec.name, ...args].join(" "));
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.got.push(`[${commands.map(({ args }) => args[0]).join()}]`);
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("Chain", () => {
  let bottom: Bottom;
  let made: Command[];
  let chain: Chain;
  let entry: Dispatcher | null;

  beforeEach(() => {
    bottom = new Bottom();
    made = [];
    entry = null;
  });

  afterEach(() => {
    for (const one of made) one.fail(new Error("the test is over"));
  });

  function make(options: RedisOptions): Chain {
    const deps = {
      link: bottom,
      options,
      onGathered() {},
      makeConnection: () => {
        throw new Error("no connection");
      },
      onEntry: (top: Dispatcher) => void (entry = top),
      events: { movesOn: () => false, report() {} },
    };
    const client = { options, emit: () => true, silentEmit: () => true };
    chain = new Chain(deps as never, client as never);
    return chain;
  }

  function issue(name: string, ...args: string[]): Command {
    const command = new Command(specOf(name), args, false, { fulfil() {}, reject() {} });
    made.push(command);
    chain.top.dispatch(command);
    return command;
  }

  it("is nothing but the link with default options", () => {
    const { top, auto, lease, admission, caching } = make({});
    expect(top).to.equal(bottom);
    expect([auto, lease, admission, caching]).to.deep.equal([null, null, null, null]);
  });

  it("has what is asked for, from the bottom upwards", () => {
    const gathers = { enableAutoPipelining: true };
    expect(make(gathers).top).to.be.instanceOf(AutoPipeliner);
    const leases = { ...gathers, blockingConnections: 1 };
    expect(make(leases).top).to.be.instanceOf(BlockingLease);
    expect(chain.lease?.next).to.equal(chain.auto);
    const bounds = { ...leases, bounds: { maxCommands: 1 } };
    expect(make(bounds).top).to.be.instanceOf(Admission);
    expect(chain.admission?.next).to.equal(chain.lease);
    expect(make({ bounds: {} }).admission?.next).to.equal(bottom);
    expect(make({ blockingConnections: 1 }).lease?.next).to.equal(bottom);
    expect(make({ blockingConnections: 0 }).lease).to.equal(null);
  });

  it("has the cache in front of everything, and its tracking in front of the link", () => {
    make({ cache: true, bounds: { maxCommands: 1 } });
    expect(chain.top).to.equal(chain.caching?.cache);
    expect(chain.caching?.cache.next).to.equal(chain.admission);
    expect(chain.admission?.next).to.equal(chain.tracker?.tracking);
    expect(chain.cache).to.equal(chain.caching?.cache);
  });

  it("gives users of a client without a cache an empty one", () => {
    make({});
    expect([chain.cache.peek("get", "k"), chain.cache.stats().hits]).to.deep.equal([undefined, 0]);
  });

  /** Makes commands wait: one batch is unanswered. */
  async function waitBehind(): Promise<Command> {
    chain.auto?.hold(true);
    const first = issue("get", "first");
    await turn();
    return first;
  }

  it("has a merger in front of the link once an option or a pipeline asks for it", () => {
    expect(make({ enableAutoPipelining: { merge: true } }).merger?.next).to.equal(bottom);
    for (const options of [{}, { enableAutoPipelining: true }, { bounds: { maxCommands: 1 } }]) {
      make(options).openMerger();
      const { merger, top, auto, admission } = chain;
      expect(entry).to.equal(top);
      expect(merger?.next).to.equal(bottom);
      expect((auto ?? admission)?.next ?? top).to.equal(merger);
      chain.openMerger();
      expect(chain.merger, "the same one").to.equal(merger);
    }
  });

  it("gathers commands behind an unanswered batch", async () => {
    make({ enableAutoPipelining: true });
    const first = await waitBehind();
    for (const key of ["a", "b"]) issue("get", key);
    expect(bottom.got).to.deep.equal(["get first"]);
    first.fulfil("OK", { protocol: 2, replyMapping: "legacy" });
    expect(bottom.got).to.deep.equal(["get first", "[a,b]"]);
  });

  it("hands on what is gathered before auto-pipelining changes, whatever stands above it", async () => {
    const above = [
      {},
      { blockingConnections: 1 },
      { bounds: { maxCommands: 100 } },
      { blockingConnections: 1, bounds: { maxCommands: 100 } },
      { cache: true },
    ];
    for (const more of above) {
      bottom = new Bottom();
      const options: { enableAutoPipelining: boolean } = { enableAutoPipelining: true, ...more };
      make(options);
      await waitBehind();
      issue("set", "a", "1");
      options.enableAutoPipelining = false;
      chain.renewAuto(false);
      issue("set", "b", "1");
      expect([chain.auto, bottom.got], JSON.stringify(more)).to.deep.equal([
        null,
        ["get first", "[a]", "set b 1"],
      ]);
    }
  });

  it("holds what it gathers from then on only where the connection is ready", async () => {
    for (const isReady of [true, false]) {
      bottom = new Bottom();
      make({ enableAutoPipelining: { maxInFlight: 1 } });
      chain.renewAuto(isReady);
      issue("get", "a");
      await turn();
      issue("get", "b");
      await turn();
      expect(bottom.got, String(isReady)).to.deep.equal(isReady ? ["get a"] : ["get a", "get b"]);
    }
  });

  it("tells who waits when a gathered command was given up", async () => {
    make({ enableAutoPipelining: true });
    await waitBehind();
    issue("get", "a").fail(new Error("given up"));
    chain.auto?.flush();
    expect([bottom.lost, bottom.got]).to.deep.equal([1, ["get first"]]);
  });

  it("tells who waits when a command was refused for the bounds", () => {
    make({ bounds: { maxCommands: 1, policy: "reject" } });
    issue("get", "a");
    const refused = issue("get", "b");
    expect([refused.isSettled, bottom.lost, bottom.got]).to.deep.equal([true, 1, ["get a"]]);
  });

  it("lets go of what is bounded and gathered when the client closes", () => {
    make({ enableAutoPipelining: true, bounds: { maxCommands: 1 } });
    for (const key of ["a", "b"]) issue("get", key);
    expect(bottom.got).to.deep.equal(["get a"]);
    chain.letGo();
    expect(bottom.got).to.deep.equal(["get a", "get b"]);
  });

  it("leads by the tracking of its node from when a cluster with a cache has made it", async () => {
    make({ enableAutoPipelining: true });
    const tracking = new Bottom();
    const tracker = { tracking };
    chain.track(tracker as never);
    expect(chain.tracker).to.equal(tracker);
    issue("get", "a");
    await turn();
    expect([bottom.got, tracking.got]).to.deep.equal([[], ["get a"]]);
    make({});
    chain.track({ tracking } as never);
    expect(chain.top).to.equal(tracking);
  });
});
