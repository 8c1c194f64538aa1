/**
 * Error replies to a cluster client: budget, delays, and what servers should never
 * send. On scripted nodes, because real ones cannot be brought to give these answers at will.
 */

import { expect } from "chai";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import type { Cluster } from "../../src/index";
import { closeCluster } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { NO_REPLY, RawReply } from "../support/fake-server";
import { failureOf } from "../support/outcome";

describe("cluster: error replies", () => {
  const fixture = new FakeClusterFixture().install();

  const connect = (options?: ClusterOptions): Cluster => fixture.connect(options);

  /** The commands of the program that a node received: a MOVED makes the client ask for the slots as well, of any node. */
  const wordsOf = (place: number): string[] => {
    const words = fixture.fake.node(place).server.received.map(([name]) => name ?? "");
    return words.filter((word) => word !== "cluster");
  };

  /** Makes a node answer GET with an error, as often as `times` says. */
  function failGets(index: number, message: () => string, times = Number.POSITIVE_INFINITY): void {
    let left = times;
    fixture.fake.node(index).script = ([name]) =>
      name === "get" && left-- > 0 ? new Error(message()) : undefined;
  }

  /** The other node knows who serves the key: after CLUSTERDOWN it is asked. */
  function leadsBack(): void {
    fixture.fake.node(OTHER).script = ([name, key]) =>
      (name === "get" || name === "set") && key === KEY
        ? new Error(`MOVED ${SLOT} ${fixture.fake.node(OWNER).key}`)
        : undefined;
  }

  describe("MOVED", () => {
    it("is followed, changes one slot, and starts a refresh", async () => {
      fixture.fake.node(OTHER).values.set(KEY, "there");
      failGets(OWNER, () => `MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`);
      const cluster = connect();
      await cluster.set("bar", 1);
      const refreshed = new Promise((resolve) => cluster.once("refresh", resolve));
      expect(await cluster.get(KEY)).to.equal("there");
      expect(cluster.slots[SLOT]).to.deep.equal([fixture.fake.node(OTHER).key]);
      expect(cluster.slots[SLOT + 1]).to.deep.equal([fixture.fake.node(OWNER).key]);
      await refreshed;
    });

    it("to an unknown node makes that node", async () => {
      const third = await FakeCluster.start(1);
      try {
        third.node(0).values.set(KEY, "new");
        failGets(OWNER, () => `MOVED ${SLOT} ${third.node(0).key}`);
        const cluster = connect();
        expect(await cluster.get(KEY)).to.equal("new");
        await closeCluster(cluster);
      } finally {
        await third.stop();
      }
    });

    it("is followed for a word whose keys are not known", async () => {
      fixture.fake.node(OTHER).script = ([name]) =>
        name === "module.get" ? new Error(`MOVED ${SLOT} ${fixture.fake.node(OWNER).key}`) : undefined;
      fixture.fake.node(OWNER).script = ([name, key]) =>
        name === "module.get" ? `value of ${key}` : undefined;
      const cluster = connect();
      const values = await Promise.all(Array.from({ length: 10 }, () => cluster.call("module.get", KEY)));
      expect(new Set(values)).to.deep.equal(new Set([`value of ${KEY}`]));
    });

    it("waits as long as retryDelayOnMoved says", async () => {
      fixture.fake.node(OTHER).values.set(KEY, "there");
      failGets(OWNER, () => `MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`);
      const cluster = connect({ retryDelayOnMoved: 120 });
      await cluster.set("bar", 1);
      const startedAtMs = performance.now();
      expect(await cluster.get(KEY)).to.equal("there");
      expect(performance.now() - startedAtMs).to.be.within(80, 5000);
    });

    for (const count of [2, 5]) {
      it(`waits so long with ${count} in flight too, then goes to the named address`, async () => {
        failGets(OWNER, () => `MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`);
        const arrivedAtMs: number[] = [];
        fixture.fake.node(OTHER).script = ([name]) => {
          if (name !== "get") return undefined;
          arrivedAtMs.push(performance.now());
          return "there";
        };
        const cluster = connect({ retryDelayOnMoved: 150 });
        await cluster.set(KEY, 1);
        const startedAtMs = performance.now();
        const calls = Array.from({ length: count }, () => cluster.get(KEY));
        // The table knows nothing of the move.
        await cluster.refreshSlotsCache();
        expect(await Promise.all(calls)).to.deep.equal(calls.map(() => "there"));
        expect(Math.min(...arrivedAtMs) - startedAtMs).to.be.within(145, 5000);
        expect(fixture.fake.node(OWNER).received("get")).to.have.length(count);
      });
    }

    it("goes to the named address after the delay although the table does not list it", async () => {
      const third = await FakeCluster.start(1);
      try {
        third.node(0).values.set(KEY, "new");
        failGets(OWNER, () => `MOVED ${SLOT} ${third.node(0).key}`);
        const cluster = connect({ retryDelayOnMoved: 100 });
        await cluster.set("bar", 1);
        const refreshed = new Promise((resolve) => cluster.once("refresh", resolve));
        const values = Promise.all([cluster.get(KEY), cluster.get(KEY)]);
        await refreshed;
        expect(await values).to.deep.equal(["new", "new"]);
        expect(fixture.fake.node(OWNER).received("get")).to.have.length(2);
        await closeCluster(cluster);
      } finally {
        await third.stop();
      }
    });

    it("in a circle ends with the budget, the cause and the nodes", async () => {
      for (const [index, target] of [
        [OWNER, OTHER],
        [OTHER, OWNER],
      ] as const) {
        failGets(index, () => `MOVED ${SLOT} ${fixture.fake.node(target).key}`);
      }
      const error = await failureOf(connect({ maxRedirections: 3 }).get(KEY));
      expect(error.message).to.match(/^Too many Cluster redirections\. Last error: ReplyError: MOVED /);
      expect(error).to.include({ name: "Error", code: "TOO_MANY_REDIRECTIONS" });
      expect(error.cause).to.have.property("name", "ReplyError");
      expect(error.nodes).to.deep.equal(
        [OWNER, OTHER, OWNER, OTHER].map((index) => fixture.fake.node(index).key),
      );
      expect(fixture.fake.nodes.flatMap((node) => node.received("get"))).to.have.length(4);
    });

    for (const word of ["MOVED", "ASK"]) {
      it(`and ${word} between two nodes that name each other last until they agree`, async () => {
        let agreeAtMs = Number.POSITIVE_INFINITY;
        const answer = (target: number, redirect: string): void => {
          fixture.fake.node(OWNER + OTHER - target).script = ([name]) => {
            if (name !== "get") return undefined;
            if (agreeAtMs === Number.POSITIVE_INFINITY) agreeAtMs = performance.now() + 200;
            if (performance.now() < agreeAtMs)
              return new Error(`${redirect} ${SLOT} ${fixture.fake.node(target).key}`);
            return "agreed";
          };
        };
        answer(OTHER, word);
        answer(OWNER, "MOVED");
        const cluster = connect();
        await cluster.set("bar", 1);
        expect(await cluster.get(KEY)).to.equal("agreed");
        expect(fixture.fake.nodes.flatMap((node) => node.received("get")).length).to.be.within(2, 17);
      });
    }

    it("fails at once with a budget of 0", async () => {
      failGets(OWNER, () => `MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`);
      const error = await failureOf(connect({ maxRedirections: 0 }).get(KEY));
      expect(error.message).to.match(/^Too many Cluster redirections/);
      expect(fixture.fake.node(OTHER).received("get")).to.deep.equal([]);
    });

    it("to the same node renews the connection once", async () => {
      const connections = new Set<number>();
      fixture.fake.node(OWNER).script = ([name], { number }) => {
        if (name !== "get") return undefined;
        connections.add(number);
        return connections.size === 1
          ? new Error(`MOVED ${SLOT} ${fixture.fake.node(OWNER).key}`)
          : "behind the proxy";
      };
      const cluster = connect();
      expect(await cluster.get(KEY)).to.equal("behind the proxy");
      expect(connections.size).to.equal(2);
    });

    it("keeps the order of a slot: later commands wait for what the old owner still has to answer", async () => {
      const moved = `MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`;
      let gets = 0;
      const cluster = connect();
      // The connections are ready, so their handshakes are answered before the delayed reply.
      await Promise.all([cluster.set("bar", 1), cluster.get(KEY)]);
      fixture.fake.node(OWNER).script = ([name], { socket }) => {
        if (name !== "get") return undefined;
        if (++gets === 1) return new Error(moved);
        setTimeout(() => socket.write(`-${moved}\r\n`), 80);
        return NO_REPLY;
      };
      const first = cluster.get(KEY);
      const second = cluster.get(KEY);
      await first;
      // The slot is known to have moved, but the second command has not.
      const third = cluster.set(KEY, 1);
      await Promise.all([second, third]);
      const words = fixture.fake
        .node(OTHER)
        .server.received.filter(([, key]) => key === KEY)
        .map(([name]) => name);
      expect(words).to.deep.equal(["get", "get", "set"]);
    });

    for (const nonsense of [
      "MOVED",
      "MOVED 1",
      `MOVED __proto__ 127.0.0.1:1`,
      "MOVED 16384 127.0.0.1:1",
      "MOVED -1 127.0.0.1:1",
      "MOVED 1.5 127.0.0.1:1",
      "MOVED 1e3 127.0.0.1:1",
      `MOVED ${SLOT} 127.0.0.1:0`,
      `MOVED ${SLOT} 127.0.0.1:65536`,
      `MOVED ${SLOT} 127.0.0.1:99999999999999999999`,
      `MOVED ${SLOT} 127.0.0.1:`,
      `MOVED ${SLOT} 127.0.0.1`,
      `MOVED ${SLOT} ho st:1`,
      `MOVED ${SLOT} ../etc/passwd:1`,
      `MOVED ${SLOT} ${"a".repeat(300)}:6379`,
      `ASK 99999 127.0.0.1:6379`,
    ]) {
      it(`is not followed when it makes no sense: ${nonsense.slice(0, 40)}`, async () => {
        failGets(OWNER, () => nonsense);
        const error = await failureOf(connect().get(KEY));
        expect(error).to.include({ name: "ReplyError", message: nonsense });
      });
    }

    it("without a host means the node that said it", async () => {
      fixture.fake.node(OTHER).values.set(KEY, "there");
      failGets(OWNER, () => `MOVED ${SLOT} :${fixture.fake.node(OTHER).server.port}`);
      expect(await connect().get(KEY)).to.equal("there");
    });

    it("goes through natMap", async () => {
      fixture.fake.node(OTHER).values.set(KEY, "there");
      failGets(OWNER, () => `MOVED ${SLOT} 10.9.8.7:6379`);
      const { host, port } = fixture.fake.node(OTHER).server;
      expect(await connect({ natMap: { "10.9.8.7:6379": { host, port } } }).get(KEY)).to.equal("there");
      const asked: string[] = [];
      const natMap = (key: string) => {
        asked.push(key);
        return key === "10.9.8.7:6379" ? { host, port } : null;
      };
      expect(await connect({ natMap }).get(KEY)).to.equal("there");
      expect(asked).to.include("10.9.8.7:6379");
    });
  });

  describe("ASK", () => {
    it("sends ASKING directly before exactly that command", async () => {
      fixture.fake.node(OTHER).values.set(KEY, "imported");
      failGets(OWNER, () => `ASK ${SLOT} ${fixture.fake.node(OTHER).key}`, 1);
      fixture.fake.node(OWNER).values.set(KEY, "kept");
      const cluster = connect();
      expect(await Promise.all([cluster.get(KEY), cluster.get(KEY), cluster.get(KEY)])).to.deep.equal([
        "imported",
        "kept",
        "kept",
      ]);
      const words = wordsOf(OTHER);
      const at = words.indexOf("asking");
      expect(words.slice(at, at + 2)).to.deep.equal(["asking", "get"]);
      expect(words.filter((word) => word === "asking")).to.have.length(1);
      expect(cluster.slots[SLOT]).to.deep.equal([fixture.fake.node(OWNER).key]);
    });

    it("to a port alone goes to the node of the table that has that port", async () => {
      fixture.fake.node(OTHER).values.set(KEY, "imported");
      failGets(OWNER, () => `ASK ${SLOT} ?:${fixture.fake.node(OTHER).server.port}`);
      const cluster = connect();
      expect(await cluster.get(KEY)).to.equal("imported");
      const words = wordsOf(OTHER);
      const at = words.indexOf("asking");
      expect(words.slice(at, at + 2)).to.deep.equal(["asking", "get"]);
    });
  });

  describe("waiting", () => {
    for (const [message, option] of [
      ["TRYAGAIN Multiple keys request during rehashing of slot", "retryDelayOnTryAgain"],
      ["CLUSTERDOWN The cluster is down", "retryDelayOnClusterDown"],
      ["LOADING Redis is loading the dataset in memory", "retryDelayOnClusterDown"],
      ["MASTERDOWN Link with MASTER is down", "retryDelayOnClusterDown"],
      ["READONLY You can't write against a read only replica.", "retryDelayOnClusterDown"],
      ["UNBLOCKED force unblock from blocking operation", "retryDelayOnClusterDown"],
    ] as const) {
      it(`${message.split(" ")[0]} is repeated after ${option}`, async () => {
        fixture.fake.node(OWNER).values.set(KEY, "at last");
        failGets(OWNER, () => message, 2);
        leadsBack();
        const cluster = connect({ [option]: 60 });
        await cluster.set("bar", 1);
        const startedAtMs = performance.now();
        expect(await cluster.get(KEY)).to.equal("at last");
        expect(performance.now() - startedAtMs).to.be.within(80, 5000);
        expect(fixture.fake.node(OWNER).received("get")).to.have.length(3);
      });
    }

    it("CLUSTERDOWN is returned as it is when its delay is 0", async () => {
      failGets(OWNER, () => "CLUSTERDOWN The cluster is down");
      const error = await failureOf(connect({ retryDelayOnClusterDown: 0 }).get(KEY));
      expect(error).to.include({ name: "ReplyError", message: "CLUSTERDOWN The cluster is down" });
      expect(fixture.fake.node(OWNER).received("get")).to.have.length(1);
    });

    it("ends with the budget", async () => {
      failGets(OWNER, () => "TRYAGAIN later");
      const error = await failureOf(connect({ maxRedirections: 3, retryDelayOnTryAgain: 1 }).get(KEY));
      expect(error.message).to.equal("Too many Cluster redirections. Last error: ReplyError: TRYAGAIN later");
      expect(fixture.fake.node(OWNER).received("get")).to.have.length(4);
    });

    it("keeps the order of a slot: later commands line up behind", async () => {
      leadsBack();
      failGets(OWNER, () => "CLUSTERDOWN wait", 1);
      const cluster = connect({ retryDelayOnClusterDown: 50 });
      await cluster.set("bar", 1);
      const first = cluster.get(KEY);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const second = cluster.set(KEY, "later");
      expect(await Promise.all([first, second])).to.deep.equal([null, "OK"]);
      const words = fixture.fake
        .node(OWNER)
        .server.received.filter(([, key]) => key === KEY)
        .map(([name]) => name);
      expect(words).to.deep.equal(["get", "get", "set"]);
    });

    it("TRYAGAIN holds nobody else up", async () => {
      failGets(OWNER, () => "TRYAGAIN wait", 1);
      const cluster = connect({ retryDelayOnTryAgain: 1000 });
      await cluster.set("bar", 1);
      const slow = cluster.get(KEY);
      await new Promise((resolve) => setTimeout(resolve, 20));
      await cluster.set(KEY, "at once");
      // The first one still waits for its second try.
      expect(fixture.fake.node(OWNER).received("get")).to.have.length(1);
      expect(await slow).to.equal("at once");
    });
  });

  describe("a lost connection", () => {
    /** Drops the connection instead of answering GET. */
    function dropGets(times: number): void {
      let left = times;
      fixture.fake.node(OWNER).script = ([name], { socket }) => {
        if (name !== "get" || left-- <= 0) return undefined;
        socket.destroy();
        return NO_REPLY;
      };
    }

    it("is repeated after retryDelayOnFailover", async () => {
      fixture.fake.node(OWNER).values.set(KEY, "again");
      dropGets(1);
      const cluster = connect({ retryDelayOnFailover: 60 });
      await cluster.set("bar", 1);
      const startedAtMs = performance.now();
      expect(await cluster.get(KEY)).to.equal("again");
      expect(performance.now() - startedAtMs).to.be.within(40, 5000);
    });

    it("is returned as it is when the delay is 0", async () => {
      dropGets(1);
      const error = await failureOf(connect({ retryDelayOnFailover: 0 }).get(KEY));
      expect(error.message).to.equal("Connection is closed.");
      expect(error).to.have.property("code", "OUTCOME_UNKNOWN");
    });

    it("is not said to have had no effect when the client is closed before it is repeated", async () => {
      dropGets(1);
      const cluster = connect({ retryDelayOnFailover: 60_000 });
      const lost = new Promise((resolve) => cluster.once("-node", resolve));
      const failure = failureOf(cluster.get(KEY));
      await lost;
      cluster.disconnect();
      expect(await failure).to.include({ message: "Cluster is ended.", code: "OUTCOME_UNKNOWN" });
    });

    it("is not repeated under at-most-once, and says that the outcome is unknown", async () => {
      dropGets(1);
      const error = await failureOf(connect({ retryPolicy: "at-most-once" }).get(KEY));
      expect(error).to.have.property("code", "OUTCOME_UNKNOWN");
      expect(fixture.fake.node(OWNER).received("get")).to.have.length(1);
    });

    it("ends with the budget, and says that the outcome is unknown", async () => {
      dropGets(Number.POSITIVE_INFINITY);
      const options = {
        maxRedirections: 1,
        retryDelayOnFailover: 1,
        redisOptions: { maxLossesPerCommand: 9 },
      };
      const error = await failureOf(connect(options).get(KEY));
      expect(error.message).to.equal(
        "Too many Cluster redirections. Last error: Error: Connection is closed.",
      );
      expect(error).to.have.property("code", "OUTCOME_UNKNOWN");
    });
  });

  describe("in batches", () => {
    it("only redirected commands are sent again", async () => {
      fixture.fake.node(OTHER).values.set(KEY, "there");
      failGets(OWNER, () => `MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`);
      const cluster = connect();
      const rows = await cluster.pipeline().set("bar", 1).get(KEY).set(KEY, 2).set("x", 3).exec();
      expect(rows?.map(([error, value]) => error ?? value)).to.deep.equal(["OK", "there", "OK", "OK"]);
      expect(fixture.fake.nodes.flatMap((node) => node.received("set"))).to.have.length(3);
    });

    it("an ordinary error stays in its row", async () => {
      failGets(OWNER, () => "WRONGTYPE no");
      const rows = await connect().pipeline().get(KEY).set("bar", 1).exec();
      expect(rows?.[0]?.[0]).to.have.property("message", "WRONGTYPE no");
      expect(rows?.[1]).to.deep.equal([null, "OK"]);
    });
  });

  describe("of a transaction", () => {
    /** A node that knows MULTI, and says of a member what it is told. */
    function transactional(index: number, member: () => Error | undefined): void {
      const state = { isOpen: false, isBroken: false, queued: 0 };
      fixture.fake.node(index).script = ([name = ""]) => {
        if (name === "multi") {
          Object.assign(state, { isOpen: true, isBroken: false, queued: 0 });
          return new RawReply("+OK\r\n");
        }
        if (!state.isOpen) return undefined;
        if (name === "exec") {
          state.isOpen = false;
          if (state.isBroken) return new Error("EXECABORT Transaction discarded because of previous errors.");
          return Array.from({ length: state.queued }, (_, i) => `result ${i}`);
        }
        const error = member();
        if (error !== undefined) state.isBroken = true;
        else state.queued++;
        return error ?? new RawReply("+QUEUED\r\n");
      };
    }

    const MEMBERS = ["get", "set", "get"];

    for (const at of [0, 1, 2]) {
      it(`is followed by the whole, once, when member ${at} is redirected`, async () => {
        let seen = 0;
        transactional(OWNER, () =>
          seen++ === at ? new Error(`MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`) : undefined,
        );
        transactional(OTHER, () => undefined);
        const cluster = connect();
        expect(await cluster.multi().get(KEY).set(KEY, 1).get(KEY).exec()).to.deep.equal([
          [null, "result 0"],
          [null, "result 1"],
          [null, "result 2"],
        ]);
        const words = wordsOf(OTHER);
        expect(words.slice(words.indexOf("multi"))).to.deep.equal(["multi", ...MEMBERS, "exec"]);
      });
    }

    it("puts one ASKING before MULTI", async () => {
      transactional(OWNER, () => new Error(`ASK ${SLOT} ${fixture.fake.node(OTHER).key}`));
      transactional(OTHER, () => undefined);
      const cluster = connect();
      const rows = await cluster.pipeline().multi().get(KEY).exec().exec();
      expect(rows).to.deep.equal([
        [null, "OK"],
        [null, "QUEUED"],
        [null, ["result 0"]],
      ]);
      const words = wordsOf(OTHER);
      expect(words.slice(words.indexOf("asking"))).to.deep.equal(["asking", "multi", "get", "exec"]);
    });

    it("at EXEC itself is followed too", async () => {
      fixture.fake.node(OWNER).script = ([name = ""]) => {
        if (name === "multi") return new RawReply("+OK\r\n");
        if (name === "exec") return new Error(`MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`);
        return name === "get" ? new RawReply("+QUEUED\r\n") : undefined;
      };
      transactional(OTHER, () => undefined);
      expect(await connect().multi().get(KEY).exec()).to.deep.equal([[null, "result 0"]]);
    });

    it("keeps a genuine queueing error for its caller", async () => {
      transactional(OWNER, () => new Error("ERR wrong number of arguments for 'get' command"));
      const error = await failureOf(connect().multi().get(KEY).exec());
      expect(error.message).to.equal("EXECABORT Transaction discarded because of previous errors.");
      expect(error).to.have.property("previousErrors").that.has.length(1);
    });

    it("ends with the budget, every row settled", async () => {
      transactional(OWNER, () => new Error("TRYAGAIN later"));
      const cluster = connect({ maxRedirections: 2, retryDelayOnTryAgain: 1 });
      const rows = await cluster.pipeline().multi().get(KEY).get(KEY).exec().set("bar", 1).exec();
      expect(rows?.map((row) => row[0]?.message ?? row[1])).to.deep.equal([
        "OK",
        "Too many Cluster redirections. Last error: ReplyError: TRYAGAIN later",
        "Too many Cluster redirections. Last error: ReplyError: TRYAGAIN later",
        "Too many Cluster redirections. Last error: ReplyError: TRYAGAIN later",
        "OK",
      ]);
    });
  });
});
