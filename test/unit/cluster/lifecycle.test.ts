/** The life of a cluster client over stand-ins of its parts: status words, attempts, what waits, drain, quit and the end. In virtual time. */

import { expect } from "chai";
import type { Lifecycle, LifecycleDeps } from "../../../src/cluster/lifecycle";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { Ending } from "../../support/ending";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { Parts } from "./lifecycle-parts";

type Settings = { enableOfflineQueue?: boolean; enableReadyCheck?: boolean };

const made: Command[] = [];

function command(name: string, ...args: string[]): Command {
  const one = new Command(specOf(name), args, false, new Ending());
  made.push(one);
  return one;
}

const codeOf = (one: Command): unknown =>
  ((one.completion as Ending).error as { code?: string } | null)?.code;

describe("Lifecycle", () => {
  let home: InVirtualTime<
    typeof import("../../../src/cluster/lifecycle") &
      typeof import("../../../src/cluster/cluster-errors") &
      typeof import("../../../src/util/error-hint") &
      Pick<typeof import("../../../src/errors"), "ReplyError">
  >;
  let parts: Parts;
  let life: Lifecycle;
  let words: string[];

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/cluster/lifecycle"),
      ...require("../../../src/cluster/cluster-errors"),
      ...require("../../../src/util/error-hint"),
      ...require("../../../src/errors"),
    }));
  });

  beforeEach(() => {
    home.time.reset();
    make();
  });

  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function make(settings: Settings = {}): void {
    parts = new Parts();
    words = [];
    const { told } = parts;
    const options = { enableOfflineQueue: true, enableReadyCheck: true, ...settings };
    const { pool, retries, router, redirector, refresher } = parts;
    life = new home.modules.Lifecycle(options, {
      ...({ pool, retries, router, redirector, refresher } as unknown as LifecycleDeps),
      findSeeds: () => parts.findSeeds() as never,
      useSeeds: (seeds) => void told.push(`began with ${seeds.length}`),
      owner: {
        onStatus: (status) => {
          words.push(status);
          parts.onStatus(status);
        },
        onError: (error) => {
          told.push(`error ${error.message}`);
          parts.onError();
        },
        retryDelay: (attempts, reason) => {
          parts.attempts.push([attempts, reason?.message]);
          parts.onStrategy();
          return parts.delayMs;
        },
      },
      subscriptions: {
        start: () => void told.push("open"),
        stop: (isForGood) => void told.push(isForGood ? "closed for good" : "closed"),
      },
    });
  }

  const failure = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => "no error",
      (error: Error & { code?: string }) => `${error.name}: ${error.message}`,
    );

  async function ready(settings?: Settings): Promise<void> {
    if (settings) make(settings);
    await home.live(async () => {
      await life.connect();
    });
    expect(life.status).to.equal("ready");
    words.length = 0;
    parts.told.length = 0;
  }

  it("opens what it has prepared, in order", async () => {
    parts.findSeeds = async () => [1, 2];
    await life.connect();
    expect(words).to.deep.equal(["connecting", "connect", "ready"]);
    expect(parts.told).to.deep.equal(["began with 2", "refresher on", "open", "resume"]);
    expect([parts.isSealed, parts.router.isOpen, parts.redirector.isActive]).to.deep.equal([
      false,
      true,
      true,
    ]);
  });

  it("begins one attempt at a time", async () => {
    const first = life.connect();
    expect(await failure(life.connect())).to.contain("already connecting");
    await first;
    expect(await failure(life.connect())).to.contain("already connecting");
    expect(words).to.deep.equal(["connecting", "connect", "ready"]);
  });

  describe("when an attempt fails", () => {
    const failing = {
      "no start node is found": (error: Error) => (parts.findSeeds = () => Promise.reject(error)),
      "no node has a table": (error: Error) => (parts.refresh = () => Promise.reject(error)),
    };

    for (const [what, fail] of Object.entries(failing)) {
      it(`because ${what}, a mistake fails the waiting commands, and a passing fault does not`, async () => {
        await home.live(async () => {
          const { addHint, markCertain } = home.modules;
          fail(new Error("no answer"));
          const waiting = command("get", "k");
          life.admit([waiting]);
          await home.pass(0);
          expect([life.status, waiting.isSettled]).to.deep.equal(["reconnecting", false]);
          const mistake = markCertain(addHint(new Error("an HTTP port"), "use another port"));
          fail(mistake);
          await home.pass(100);
          expect(codeOf(waiting)).to.equal("CLUSTER_UNAVAILABLE");
          expect((waiting.completion as Ending).error).to.include({
            cause: mistake,
            hint: "use another port",
          });
          expect(parts.told).to.include("error an HTTP port");
          expect([life.status, life.waiting.length]).to.deep.equal(["reconnecting", 0]);
          life.disconnect();
        });
      });
    }

    it("because no start node is found, only a mistake is an error of the client", async () => {
      await home.live(async () => {
        parts.findSeeds = () => Promise.reject(new Error("no such name"));
        expect(await failure(life.connect())).to.contain("no such name");
        expect(parts.told.filter((one) => one.startsWith("error"))).to.deep.equal([]);
        life.disconnect();
      });
    });

    it("by a mistake, a listener of the error may close the client", async () => {
      await home.live(async () => {
        const mistake = home.modules.markCertain(new Error("a wrong option"));
        parts.findSeeds = () => Promise.reject(mistake);
        parts.onError = () => life.disconnect();
        expect(await failure(life.connect())).to.contain("None of startup nodes");
        await home.pass(1000);
        expect(words).to.deep.equal(["connecting", "disconnecting", "close", "end"]);
      });
    });

    it("because the nodes refuse the database, its commands fail with that reply", async () => {
      await home.live(async () => {
        const { ClusterAllFailedError, ReplyError } = home.modules;
        const refusalOf = (name: string, message: string): Error =>
          Object.assign(new ReplyError(message), { command: { name, args: [] } });
        const down = new Error("no answer");
        const denied = refusalOf("cluster", "NOPERM no permissions");
        parts.refresh = () =>
          Promise.reject(new ClusterAllFailedError(denied, { "h:1": down, "h:2": denied }));
        const waiting = command("get", "k");
        life.admit([waiting]);
        await home.pass(0);
        expect(waiting.isSettled, "no database was refused").to.equal(false);
        const refused = refusalOf("select", "ERR DB index is out of range");
        parts.refresh = () =>
          Promise.reject(new ClusterAllFailedError(refused, { "h:1": denied, "h:2": refused }));
        await home.pass(100);
        expect((waiting.completion as Ending).error?.message).to.equal("ERR DB index is out of range");
        expect(life.status).to.equal("reconnecting");
        life.disconnect();
      });
    });
  });

  it("begins anew when no start node was found, with the reason, as the strategy says", async () => {
    await home.live(async () => {
      parts.findSeeds = () => Promise.reject(new Error("no such name"));
      expect(await failure(life.connect())).to.contain("no such name");
      expect(words).to.deep.equal(["connecting", "close", "reconnecting"]);
      await home.pass(99);
      expect(words.length).to.equal(3);
      parts.findSeeds = async () => [];
      await home.pass(1);
      expect(life.status).to.equal("ready");
      expect(parts.attempts).to.deep.equal([[1, "no such name"]]);
    });
  });

  it("counts the attempts in a row, and from one again after it was ready", async () => {
    await home.live(async () => {
      parts.refresh = () => Promise.reject(new Error("nobody answers"));
      expect(await failure(life.connect())).to.contain("None of startup nodes");
      await home.pass(250);
      expect(parts.attempts.map(([times]) => times)).to.deep.equal([1, 2, 3]);
      expect(parts.told).to.include("error nobody answers").and.to.include("cleared");
      parts.refresh = async () => {};
      await home.pass(100);
      expect(life.status).to.equal("ready");
      life.onEmpty();
      expect(parts.attempts.at(-1)?.[0]).to.equal(1);
    });
  });

  it("keeps what waits for the next life when code of the user closes it while it is being sent", async () => {
    const [first, second] = [command("get", "a"), command("get", "b")];
    life.admit([first]);
    life.admit([second]);
    let turns = 0;
    parts.router.dispatch = (one) => {
      if (++turns > 3) throw new Error("it goes round in a circle");
      // As the router does while it is not open.
      if (!parts.router.isOpen) life.admit([one]);
      else {
        parts.sent.push(String(one.args[0]));
        life.disconnect(true);
      }
    };
    await home.pass(0);
    expect([parts.sent, life.waiting]).to.deep.equal([["a"], [second]]);
  });

  for (const leave of ["disconnect", "quit"] as const) {
    it(`stays ended when the retry strategy itself calls ${leave}, whatever delay it returns`, async () => {
      await home.live(async () => {
        parts.findSeeds = () => Promise.reject(new Error("no such name"));
        parts.onStrategy = () => {
          if (leave === "disconnect") life.disconnect();
          else void life.quit();
        };
        expect(await failure(life.connect())).to.contain("no such name");
        await home.pass(1000);
        expect(words).to.deep.equal(["connecting", "close", "disconnecting", "end"]);
      });
    });

    it(`ends once when a listener of the error of an attempt calls ${leave}`, async () => {
      await home.live(async () => {
        parts.refresh = () => Promise.reject(new Error("nobody answers"));
        parts.onError = () => {
          if (leave === "disconnect") life.disconnect();
          else void life.quit();
        };
        expect(await failure(life.connect())).to.contain("None of startup nodes");
        await home.pass(1000);
        expect(words).to.deep.equal(["connecting", "disconnecting", "close", "end"]);
      });
    });
  }

  it("does not open when code that is told that it is ready closes it", async () => {
    parts.onStatus = (status) => {
      if (status === "ready") life.disconnect();
    };
    await life.connect();
    expect(words).to.deep.equal(["connecting", "connect", "ready", "disconnecting", "close", "end"]);
    expect([parts.told.includes("refresher on"), parts.router.isOpen]).to.deep.equal([false, false]);
  });

  it("makes one attempt when the retry strategy itself connects", async () => {
    await home.live(async () => {
      let seeks = 0;
      parts.findSeeds = async () => {
        if (++seeks === 1) throw new Error("no such name");
        return [];
      };
      parts.onStrategy = () => void life.connect();
      expect(await failure(life.connect())).to.contain("no such name");
      await home.pass(1000);
      expect([words, seeks]).to.deep.equal([["connecting", "close", "connecting", "connect", "ready"], 2]);
    });
  });

  it("keeps the plan of the retry strategy when that asks for another connection", async () => {
    await home.live(async () => {
      parts.findSeeds = () => Promise.reject(new Error("no such name"));
      parts.onStrategy = () => life.disconnect(true);
      expect(await failure(life.connect())).to.contain("no such name");
      parts.findSeeds = async () => [];
      await home.pass(100);
      expect(life.status).to.equal("ready");
    });
  });

  it("is not ready while a node says that the cluster is not", async () => {
    await home.live(async () => {
      parts.against = new Error("the cluster is down");
      expect(await failure(life.connect())).to.contain("None of startup nodes");
      expect(words).to.deep.equal(["connecting", "connect", "disconnecting", "close", "reconnecting"]);
      expect(parts.router.isOpen).to.equal(false);
      parts.against = null;
      await home.pass(100);
      expect(life.status).to.equal("ready");
      life.disconnect();
    });
    make({ enableReadyCheck: false });
    parts.against = new Error("the cluster is down");
    await life.connect();
    expect(life.status).to.equal("ready");
  });

  it("ends when the strategy gives anything but a number, and fails what waits, with the cause", async () => {
    for (const delayMs of [null, undefined, "100"]) {
      make();
      parts.delayMs = delayMs;
      parts.refresh = () => Promise.reject(new Error("nobody answers"));
      const waiting = command("get", "k");
      life.admit([waiting]);
      await home.pass(0);
      expect(words).to.deep.equal(["connecting", "close", "end"]);
      expect(((waiting.completion as Ending).error as Error).cause).to.have.property(
        "message",
        "nobody answers",
      );
    }
  });

  it("connects by itself for the first command, and sends what waited in the order of issue", async () => {
    const batch = [command("get", "b1"), command("get", "b2")];
    const alone = command("get", "c");
    alone.batch = new Batch(BatchKind.Pipeline, 1, null);
    const lost = command("get", "lost");
    for (const entry of [[command("get", "a")], batch, [alone], [lost], [command("get", "d")]])
      life.admit(entry);
    lost.fail(new Error("given up"));
    expect(life.status).to.equal("connecting");
    expect([life.waiting.length, life.waiting.length]).to.deep.equal([6, 6]);
    expect(batch.map(({ state }) => state)).to.deep.equal([CommandState.Queued, CommandState.Queued]);
    await home.pass(0);
    expect(parts.sent).to.deep.equal(["a", "b1+b2", "c", "d"]);
    expect(life.waiting.length).to.equal(0);
  });

  it("refuses at once what may not wait", async () => {
    make({ enableOfflineQueue: false });
    const refused = [command("get", "a"), command("get", "b")];
    life.admit(refused);
    expect(refused.map(codeOf)).to.deep.equal(["OFFLINE_QUEUE_DISABLED", "OFFLINE_QUEUE_DISABLED"]);
    await home.pass(0);
    expect(parts.sent).to.deep.equal([]);
  });

  it("asks CLUSTER questions of a known node before the slots are known, and nothing else", async () => {
    const asked: Command[] = [];
    let isKnown: () => void = () => {};
    parts.refresh = () => new Promise((resolve) => (isKnown = resolve));
    parts.clients = [{ dispatch: (one) => void asked.push(one) }];
    const over = life.connect();
    const early = command("cluster", "info");
    life.admit([early]);
    expect(asked.length, "no node is known").to.equal(0);
    await home.pass(0);
    const question = command("cluster", "info");
    const inPipeline = command("cluster", "info");
    inPipeline.batch = new Batch(BatchKind.Pipeline, 1, null);
    const gathered = command("cluster", "nodes");
    gathered.batch = new Batch(BatchKind.Automatic, 1, null);
    for (const one of [question, inPipeline, gathered, command("get", "k")]) life.admit([one]);
    expect(asked).to.deep.equal([question, gathered]);
    isKnown();
    await over;
    expect(parts.sent).to.deep.equal(["info", "info", "k"]);
  });

  it("is over when it is told to disconnect, and knows its attempt no more", async () => {
    let found: (seeds: unknown[]) => void = () => {};
    parts.findSeeds = () => new Promise((resolve) => (found = resolve));
    const over = life.connect();
    const waiting = command("get", "k");
    life.admit([waiting]);
    life.disconnect();
    expect(words).to.deep.equal(["connecting", "disconnecting", "close", "end"]);
    expect(codeOf(waiting)).to.be.a("string");
    found([]);
    expect(await failure(over)).to.match(/None of startup|abort/);
    expect(life.status).to.equal("end");
    expect(parts.told).to.not.include("open").and.to.not.include("began with 0");
  });

  it("knows an attempt no more when another one was begun", async () => {
    const found: ((seeds: unknown[]) => void)[] = [];
    parts.findSeeds = () => new Promise((resolve) => void found.push(resolve));
    const first = life.connect();
    life.disconnect();
    const second = life.connect();
    found[0]?.([1]);
    expect(await failure(first)).to.contain("a new connection is made");
    expect(parts.told).to.not.include("began with 1");
    found[1]?.([1, 2]);
    await second;
    expect(parts.told.filter((one) => one.startsWith("began with"))).to.deep.equal(["began with 2"]);
  });

  it("waits for its connections to end before it is closed", async () => {
    await ready();
    parts.clients = [{ dispatch: () => {} }];
    life.disconnect();
    expect(words).to.deep.equal(["disconnecting"]);
    expect([parts.router.isOpen, parts.redirector.isActive, parts.isSealed]).to.deep.equal([
      false,
      false,
      true,
    ]);
    parts.clients = [];
    life.onEmpty();
    expect(words).to.deep.equal(["disconnecting", "close", "end"]);
    expect(parts.told).to.include("refresher off").and.to.include("pause");
    expect(parts.told).to.include("watches cleared").and.to.include("closed for good");
    life.disconnect();
    expect(words.at(-1), "twice is once").to.equal("end");
    expect(words.length).to.equal(3);
  });

  for (const leave of ["disconnect(true)", "quit()"] as const) {
    it(`is closed once when connections of a failed attempt end behind ${leave}`, async () => {
      await home.live(async () => {
        parts.refresh = () => Promise.reject(new Error("nobody answers"));
        parts.clients = [{ dispatch: () => {}, leave: async () => {} }];
        expect(await failure(life.connect())).to.contain("None of startup nodes");
        if (leave === "quit()") void life.quit();
        else life.disconnect(true);
        parts.clients = [];
        life.onEmpty();
        const end = leave === "quit()" ? ["end"] : [];
        expect(words).to.deep.equal(["connecting", "close", "reconnecting", "disconnecting", ...end]);
        parts.refresh = async () => {};
        await home.pass(100);
        expect(life.status).to.equal(leave === "quit()" ? "end" : "ready");
      });
    });
  }

  it("begins anew when its last connection is lost; redirects go on", async () => {
    await home.live(async () => {
      await ready();
      life.onEmpty();
      expect(words).to.deep.equal(["close", "reconnecting"]);
      expect([parts.redirector.isActive, parts.isSealed]).to.deep.equal([true, true]);
      expect(parts.told.slice(-2)).to.deep.equal(["watches cleared", "closed"]);
      life.onEmpty();
      expect(words.length, "it is closed already").to.equal(2);
      await home.pass(100);
      expect(life.status).to.equal("ready");
    });
  });

  it("leaves a planned attempt as it is planned, unless it ends for good", async () => {
    await home.live(async () => {
      await ready();
      life.onEmpty();
      life.disconnect(true);
      await home.pass(100);
      expect(life.status).to.equal("ready");
      life.onEmpty();
      life.disconnect();
      expect(words.slice(-2)).to.deep.equal(["disconnecting", "end"]);
      await home.pass(500);
      expect(life.status).to.equal("end");
    });
  });

  it("begins anew after its end as at first", async () => {
    await home.live(async () => {
      life.disconnect();
      expect(life.status).to.equal("end");
      parts.findSeeds = () => Promise.reject(new Error("no such name"));
      await failure(life.connect());
      expect(life.status).to.equal("reconnecting");
      parts.findSeeds = async () => [];
      parts.refresh = () => Promise.reject(new Error("nobody answers"));
      await home.pass(100);
      parts.delayMs = null;
      await home.pass(100);
      expect(life.status).to.equal("end");
      await failure(life.connect());
      expect(parts.attempts).to.deep.equal([
        [1, "no such name"],
        [2, undefined],
        [3, undefined],
        [1, undefined],
      ]);
    });
  });

  it("takes nothing new while it drains, and drains only when it is ready", async () => {
    life.drain();
    expect(life.status).to.equal("wait");
    await ready();
    life.drain();
    expect([parts.router.isOpen, parts.redirector.isActive]).to.deep.equal([false, true]);
    const late = command("get", "k");
    life.admit([late]);
    expect(codeOf(late)).to.equal("CONNECTION_CLOSED");
    life.onEmpty();
    expect(words).to.deep.equal(["disconnecting", "close", "end"]);
    expect(parts.told).to.include("refresher off");
    const next = command("get", "k");
    void life.connect();
    life.admit([next]);
    expect([codeOf(next), life.waiting]).to.deep.equal([undefined, [next]]);
  });

  it("says goodbye to every node; without one it is over at the end of the turn", async () => {
    await home.live(async () => {
      await ready();
      let left = 0;
      const client = { dispatch: () => {}, leave: async () => left++ };
      parts.clients = [client, client];
      expect(await life.quit()).to.equal("OK");
      expect(left).to.equal(2);
      expect(words).to.deep.equal(["disconnecting"]);
      life.onEmpty();
      expect(words).to.deep.equal(["disconnecting", "close", "end"]);
      expect(await life.quit()).to.equal("OK");
      expect(left).to.equal(2);
      make();
      expect(await life.quit()).to.equal("OK");
      expect(words).to.deep.equal(["disconnecting"]);
      await home.pass(1);
      expect(words).to.deep.equal(["disconnecting", "close", "end"]);
    });
  });

  it("quits while an attempt is planned: that one is called off", async () => {
    await home.live(async () => {
      await ready();
      life.onEmpty();
      await life.quit();
      await home.pass(500);
      expect(words).to.deep.equal(["close", "reconnecting", "disconnecting", "end"]);
    });
  });

  it("does not close what was begun anew behind a quit", async () => {
    await home.live(async () => {
      await ready();
      await life.quit();
      void life.connect();
      await home.pass(10);
      expect(life.status).to.equal("ready");
    });
  });

  it("fails what it took and refuses what comes, once it has ended", async () => {
    await ready();
    const kept = command("get", "k");
    const written = command("incr", "k");
    written.mayHaveRun = true;
    parts.kept = [kept, written];
    life.disconnect();
    expect([kept, written].map(codeOf)).to.deep.equal(["CLUSTER_ENDED", "OUTCOME_UNKNOWN"]);
    const late = command("get", "k");
    life.admit([late]);
    expect(codeOf(late)).to.equal("CONNECTION_CLOSED");
  });

  it("takes no notice of start nodes that an earlier attempt did not find", async () => {
    let fail: (error: Error) => void = () => {};
    parts.findSeeds = () => new Promise((_resolve, reject) => (fail = reject));
    const first = life.connect().catch((error: Error) => error.name);
    life.disconnect();
    parts.findSeeds = () => new Promise(() => {});
    life.connect().catch(() => {});
    expect(life.status).to.equal("connecting");
    fail(new Error("ENOTFOUND"));
    await first;
    expect(life.status).to.equal("connecting");
    life.disconnect();
  });

  it("asks its start nodes for the first table once: they are the nodes that it knows", async () => {
    const asked: (boolean | undefined)[] = [];
    parts.refresh = async (mayAskSeeds) => void asked.push(mayAskSeeds);
    await life.connect();
    expect(asked).to.deep.equal([false]);
    life.disconnect();
  });
});
