/**
 * A cluster that is broken or means harm: tables, redirects and names that make no sense, loops,
 * nodes that disagree, thousands of nodes. What is held: every call settles with an error that
 * tells what happened, tries and connections and nodes are bounded, and no name from the wire
 * touches a prototype, a resolver or a socket unless it can be an address.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import type { Cluster } from "../../src/index";
import { closeCluster } from "../support/cluster-fixture";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { type FakeReply, FakeServer, NO_REPLY, RawReply } from "../support/fake-server";
import { type Failure, failureOf, outcomeOf } from "../support/outcome";
import { fixedRuns } from "../support/properties";

const BUDGET = 16;
/** Most nodes that a client remembers, whatever is announced. */
const MAX_NODES = 4096;

/**
 * Addresses at which nobody listens, each another one. Nothing here may name a host beyond this
 * machine: what is announced may be dialled.
 */
function deadAddress(index: number): string {
  return `127.${100 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}:1`;
}

describe("a hostile cluster", () => {
  const fixture = new FakeClusterFixture().install();
  afterEach(() => {
    expect(Object.keys(Object.prototype)).to.deep.equal([]);
    expect(Object.keys(Array.prototype)).to.deep.equal([]);
  });

  function make(options: ClusterOptions = {}, seeds = fixture.fake.seeds): Cluster {
    return fixture.connect({ lazyConnect: true, clusterRetryStrategy: null, ...options }, seeds);
  }

  async function connect(options: ClusterOptions = {}, seeds = fixture.fake.seeds): Promise<Cluster> {
    const cluster = make(options, seeds);
    await cluster.connect();
    return cluster;
  }

  function answerGets(index: number, answer: () => FakeReply): void {
    fixture.fake.node(index).script = ([name]) => (name === "get" ? answer() : undefined);
  }

  /** The other node says who serves the key, as real ones do. */
  function leadsBack(): void {
    answerGets(OTHER, () => new Error(`MOVED ${SLOT} ${fixture.fake.node(OWNER).key}`));
  }

  const received = (name: string): number => fixture.fake.nodes.flatMap((node) => node.received(name)).length;
  const connections = (): number =>
    fixture.fake.nodes.reduce((sum, { server }) => sum + server.connectionCount, 0);

  describe("with tables that make no sense", () => {
    const here = (): [string, number] => [fixture.fake.node(0).server.host, fixture.fake.node(0).server.port];
    const NO_TABLES: [name: string, code: string, table: () => FakeReply][] = [
      ["nothing", "TOPOLOGY", () => null],
      ["a text", "TOPOLOGY", () => "0-16383"],
      ["a number", "TOPOLOGY", () => 16_383],
      ["an empty list", "TOPOLOGY", () => []],
      ["a list of empty lists", "TOPOLOGY", () => [[], [], []]],
      ["texts for ranges", "TOPOLOGY", () => ["0", "16383", "127.0.0.1"]],
      ["ranges without nodes", "TOPOLOGY", () => [[0, 16_383]]],
      ["a text for a node", "TOPOLOGY", () => [[0, 16_383, "127.0.0.1:6379"]]],
      ["an empty node", "TOPOLOGY", () => [[0, 16_383, []]]],
      ["a range from nothing", "TOPOLOGY", () => [[null, 16_383, here()]]],
      ["a range from a list", "TOPOLOGY", () => [[[0], [16_383], here()]]],
      ["hexadecimal slots", "TOPOLOGY", () => [["0x0", "0x3fff", here()]]],
      ["slots with blanks", "TOPOLOGY", () => [[" 0", "16383 ", here()]]],
      ["a negative slot", "TOPOLOGY", () => [[-1, 16_383, here()]]],
      ["a slot too many", "TOPOLOGY", () => [[0, 16_384, here()]]],
      ["a slot of 10 digits", "TOPOLOGY", () => [[0, 9_999_999_999, here()]]],
      ["a range that runs backwards", "TOPOLOGY", () => [[9, 1, here()]]],
      ["slots named __proto__", "TOPOLOGY", () => [["__proto__", "constructor", here()]]],
      ["port 0", "TOPOLOGY", () => [[0, 16_383, ["127.0.0.1", 0]]]],
      ["port 65536", "TOPOLOGY", () => [[0, 16_383, ["127.0.0.1", 65_536]]]],
      ["a list for a port", "TOPOLOGY", () => [[0, 16_383, ["127.0.0.1", [6379]]]]],
      ["a host with a line end", "TOPOLOGY", () => [[0, 16_383, ["a\r\nFLUSHALL\r\n", 6379]]]],
      ["a host with a blank", "TOPOLOGY", () => [[0, 16_383, ["a b", 6379]]]],
      ["a host of 256 letters", "TOPOLOGY", () => [[0, 16_383, ["a".repeat(256), 6379]]]],
      ["a host of 10 MB", "TOPOLOGY", () => [[0, 16_383, ["a".repeat(10_000_000), 6379]]]],
      ["a path for a host", "TOPOLOGY", () => [[0, 16_383, ["/var/run/redis.sock", 6379]]]],
      ["an error", "REPLY", () => new Error("ERR no")],
      ["a list announced with 2^31-1 elements", "TOPOLOGY_TIMEOUT", () => new RawReply("*2147483647\r\n")],
      ["a list of negative length", "PROTOCOL", () => new RawReply("*-7\r\n")],
      ["a nest of 100,000 levels", "PROTOCOL", () => new RawReply("*1\r\n".repeat(100_000))],
      ["silence", "TOPOLOGY_TIMEOUT", () => NO_REPLY],
    ];

    for (const [name, code, table] of NO_TABLES) {
      it(`${name}: the attempt ends and says so for each node`, async () => {
        fixture.fake.slots = table;
        const cluster = make({ slotsRefreshTimeout: code === "TOPOLOGY_TIMEOUT" ? 400 : 15_000 });
        const errors: Failure[] = [];
        cluster.on("error", (error: Failure) => errors.push(error));
        const failure = await failureOf(cluster.get(KEY));
        expect(failure).to.include({ code: "CLUSTER_UNAVAILABLE" });
        expect(failure.message).to.equal("None of startup nodes is available");
        expect(failure.cause).to.include({ name: "ClusterAllFailedError", code: "CLUSTER_ALL_FAILED" });
        expect(errors).to.deep.equal([failure.cause]);
        expect(Object.keys(failure.cause?.nodeErrors ?? {}).sort()).to.deep.equal(
          fixture.fake.nodes.map((node) => node.key).sort(),
        );
        for (const error of Object.values(failure.cause?.nodeErrors ?? {})) {
          expect(error.code ?? "REPLY").to.equal(code);
          expect(error.message.length).to.be.lessThan(300);
        }
        expect(connections()).to.equal(2);
      });
    }

    const SHARD_TABLES: [name: string, table: FakeReply][] = [
      ["nothing", null],
      ["an empty list", []],
      ["texts", ["slots", "nodes"]],
      ["shards without nodes", [["slots", [0, 16_383]]]],
      ["a number for nodes", [["slots", [0, 16_383], "nodes", 5]]],
      ["texts for nodes", [["slots", [0, 16_383], "nodes", ["master"]]]],
      ["a shard without a master", [["slots", [0, 16_383], "nodes", [["role", "replica", "ip", "::1"]]]]],
      ["a master without a port", [["slots", [0, 16_383], "nodes", [["role", "master", "ip", "::1"]]]]],
      ["odd slots", [["slots", [0], "nodes", [["role", "master", "ip", "::1", "port", 1]]]]],
      [
        "names of prototypes",
        [["__proto__", [0, 16_383], "constructor", [["__proto__", "master", "ip", "::1", "port", 1]]]],
      ],
    ];

    for (const [name, table] of SHARD_TABLES) {
      it(`CLUSTER SHARDS with ${name} is refused`, async () => {
        for (const node of fixture.fake.nodes) {
          node.script = ([word, question]) =>
            word === "cluster" && question === "SHARDS" ? table : undefined;
        }
        const cluster = make({ availabilityZone: "a", scaleReads: "slave" });
        const failure = await failureOf(cluster.connect());
        expect(failure.cause?.lastNodeError).to.include({ name: "TopologyError", code: "TOPOLOGY" });
      });
    }

    it("what makes sense beside them is used", async () => {
      const [host, port] = here();
      fixture.fake.slots = () => [
        5,
        [0, 16_383],
        [0, 16_383, ["a\r\nb", 1]],
        [0, 8191, [host, port, "id", ["hostname", "\r\n", 5]], "x", ["127.0.0.9", "99999"], null],
        ["8192", "16383", [host, String(port)]],
      ];
      const cluster = await connect();
      expect(cluster.slots[0]).to.deep.equal([`${host}:${port}`]);
      expect(await cluster.set(KEY, 1)).to.equal("OK");
    });

    it("nodes named like properties of objects are nodes that cannot be reached", async () => {
      const [host, port] = here();
      fixture.fake.slots = () => [
        [0, 16_382, [host, port]],
        [16_383, 16_383, ["__proto__", 1], ["constructor", 2], ["toString", 3]],
      ];
      // The only node that is dialled: it told the table.
      const cluster = await connect({ scaleReads: "slave", natMap: {} }, fixture.fake.seeds.slice(0, 1));
      expect(cluster.slots[16_383]).to.deep.equal(["__proto__:1", "constructor:2", "toString:3"]);
      expect(await cluster.set(KEY, 1)).to.equal("OK");
    });

    it("a good node is found behind bad ones", async () => {
      for (const bad of [NO_REPLY, null, [], new RawReply("@\r\n"), new Error("ERR no")] as FakeReply[]) {
        fixture.fake.node(0).script = ([name, question]) =>
          name === "cluster" && question === "SLOTS" ? bad : undefined;
        const cluster = await connect({ slotsRefreshTimeout: 1500 });
        expect(await cluster.set(KEY, 1)).to.equal("OK");
      }
    });
  });

  describe("with very many nodes", () => {
    it("remembers 4096 of them, connects to none that is not used, and recovers", async () => {
      const { host, port } = fixture.fake.node(OWNER).server;
      const crowd = (round: number): FakeReply[] =>
        Array.from({ length: 9000 }, (_, i) => [
          i,
          i,
          [`127.${round + 10}.${i >> 8}.${i & 255}`, 1, `id${i}`],
          [`127.${round + 50}.${i >> 8}.${i & 255}`, 1, `id${i}`],
        ]);
      let round = 0;
      fixture.fake.slots = () => [[9000, 16_383, [host, port]], ...crowd(round)];
      // Servers and client share this process, and tables of this size take it a while.
      const cluster = await connect({ slotsRefreshTimeout: 20_000 }, fixture.fake.seeds.slice(OWNER));
      for (round = 1; round <= 3; round++) {
        await cluster.refreshSlotsCache();
        expect(cluster.nodes().length).to.be.within(1, MAX_NODES);
        expect(await cluster.set(KEY, round)).to.equal("OK");
      }
      const dialled = cluster.nodes().filter((node) => node.status !== "wait");
      expect(dialled.map((node) => node.options.port)).to.deep.equal([port]);
      fixture.fake.slots = () => [[0, 16_383, [host, port]]];
      const isAlone = async (): Promise<boolean> => {
        await cluster.refreshSlotsCache();
        return cluster.nodes().length === 1;
      };
      await waitUntil(isAlone, { timeoutMs: 30_000, what: "the crowd to be forgotten" });
      expect(await cluster.set("bar", 1)).to.equal("OK");
    });

    it("MOVED to another node each time costs each command its budget and no more", async () => {
      let next = 0;
      answerGets(OWNER, () => new Error(`MOVED ${SLOT} ${deadAddress(next++)}`));
      leadsBack();
      const cluster = await connect({ retryDelayOnFailover: 1, maxRedirections: 3 });
      const calls = Array.from({ length: 300 }, () => failureOf(cluster.get(KEY)));
      for (const failure of await Promise.all(calls)) {
        expect(failure.code).to.be.oneOf(["TOO_MANY_REDIRECTIONS", "OUTCOME_UNKNOWN"]);
        expect(failure.nodes).to.have.length(4);
      }
      expect(received("get")).to.be.at.most(300 * 4);
      expect(cluster.nodes().length).to.be.at.most(MAX_NODES);
      expect(await cluster.set(KEY, 1).catch((error: Failure) => error.code)).to.be.oneOf([
        "OK",
        "TOO_MANY_REDIRECTIONS",
        "OUTCOME_UNKNOWN",
      ]);
      expect(cluster.status).to.equal("ready");
    });
  });

  describe("without a line for subscribers", () => {
    const ATTEMPTS = 6;
    const NO_SUBSCRIBER = {
      name: "AbortError",
      code: "NO_SUBSCRIBER",
      message: "No subscriber for the cluster",
    };

    for (const isSharded of [false, true]) {
      const word = isSharded ? "ssubscribe" : "subscribe";

      it(`${word.toUpperCase()} waits, and ends with the client, once`, async () => {
        let attempts = 0;
        for (const node of fixture.fake.nodes) {
          node.script = (words, { socket }) => {
            if (!words.some((text) => text.includes("subscriber"))) return undefined;
            attempts++;
            socket.destroy();
            return NO_REPLY;
          };
        }
        const cluster = await connect({ shardedSubscribers: isSharded });
        let settled = 0;
        const calls = [cluster[word](KEY), cluster[word](KEY)].map((call) =>
          failureOf(call).finally(() => settled++),
        );
        await waitUntil(async () => attempts >= ATTEMPTS, { timeoutMs: 5000, what: "lost lines" });
        // Until the next attempt there is time.
        await sleep(20);
        expect([settled, received(word)]).to.deep.equal([0, 0]);
        expect(await cluster.set(KEY, 1)).to.equal("OK");
        cluster.disconnect();
        for (const failure of await Promise.all(calls)) expect(failure).to.include(NO_SUBSCRIBER);
        expect(settled).to.equal(2);
      });
    }
  });

  describe("with loops", () => {
    const LOOPS: [name: string, answer: (index: number) => string][] = [
      ["MOVED in a circle", (i) => `MOVED ${SLOT} ${fixture.fake.node(1 - i).key}`],
      ["MOVED to itself", (i) => `MOVED ${SLOT} ${fixture.fake.node(i).key}`],
      [
        "MOVED to itself by another name",
        (i) => `MOVED ${SLOT} localhost:${fixture.fake.node(i).server.port}`,
      ],
      ["ASK in a circle", (i) => `ASK ${SLOT} ${fixture.fake.node(1 - i).key}`],
      ["ASK to itself", (i) => `ASK ${SLOT} ${fixture.fake.node(i).key}`],
      [
        "MOVED there, ASK back",
        (i) => `${i === OWNER ? "MOVED" : "ASK"} ${SLOT} ${fixture.fake.node(1 - i).key}`,
      ],
      ["MOVED of another slot", (i) => `MOVED 0 ${fixture.fake.node(1 - i).key}`],
    ];

    for (const [name, answer] of LOOPS) {
      it(`${name} ends with the budget`, async () => {
        for (const index of [0, 1]) answerGets(index, () => new Error(answer(index)));
        const cluster = await connect();
        const before = connections();
        const failure = await failureOf(cluster.get(KEY));
        expect(failure).to.include({ name: "Error", code: "TOO_MANY_REDIRECTIONS" });
        expect(failure.message).to.match(
          /^Too many Cluster redirections\. Last error: ReplyError: (MOVED|ASK) /,
        );
        expect(failure.cause).to.have.property("name", "ReplyError");
        expect(failure.nodes).to.have.length(BUDGET + 1);
        expect(received("get")).to.equal(BUDGET + 1);
        // No try costs more than one connection, even if a refresh forgets nodes in between.
        expect(connections() - before).to.be.at.most(BUDGET + 1);
        expect(await cluster.set(KEY, 1)).to.equal("OK");
      });
    }

    it("inside a batch they harm no neighbour", async () => {
      for (const index of [0, 1]) {
        fixture.fake.node(index).script = ([name, key]) =>
          name === "get" && key === KEY
            ? new Error(`MOVED ${SLOT} ${fixture.fake.node(1 - index).key}`)
            : undefined;
      }
      const cluster = await connect();
      const rows = await cluster.pipeline().set("a", 1).get(KEY).set("b", 2).get("c").exec();
      expect(rows?.map(([error, value]) => (error as Failure | null)?.code ?? value)).to.deep.equal([
        "OK",
        "TOO_MANY_REDIRECTIONS",
        "OK",
        null,
      ]);
    });

    it("of a transaction settle every member", async () => {
      for (const index of [0, 1]) {
        fixture.fake.node(index).script = ([name]) =>
          name === "multi" || name === "exec" || name === "get"
            ? new Error(`MOVED ${SLOT} ${fixture.fake.node(1 - index).key}`)
            : undefined;
      }
      const cluster = await connect();
      const failure = await failureOf(cluster.multi().get(KEY).get(KEY).exec());
      expect(failure.message).to.match(/MOVED|Too many Cluster redirections/);
      expect(received("exec")).to.equal(BUDGET + 1);
    });

    it("of SSUBSCRIBE end too", async () => {
      for (const index of [0, 1]) {
        fixture.fake.node(index).script = ([name]) =>
          name === "ssubscribe" ? new Error(`MOVED ${SLOT} ${fixture.fake.node(1 - index).key}`) : undefined;
      }
      const cluster = await connect({ shardedSubscribers: true, maxRedirections: 4 });
      const failure = await failureOf(cluster.ssubscribe(KEY));
      expect(failure).to.include({ code: "TOO_MANY_REDIRECTIONS" });
      expect(received("ssubscribe")).to.equal(5);
    });

    it("TRYAGAIN and CLUSTERDOWN for ever end with the budget", async () => {
      for (const message of ["TRYAGAIN later", "CLUSTERDOWN no"]) {
        for (const index of [OWNER, OTHER]) answerGets(index, () => new Error(message));
        const cluster = await connect({
          maxRedirections: 5,
          retryDelayOnTryAgain: 1,
          retryDelayOnClusterDown: 1,
        });
        expect(await failureOf(cluster.get(KEY))).to.include({ code: "TOO_MANY_REDIRECTIONS" });
      }
    });
  });

  describe("whose nodes disagree", () => {
    it("is asked again at a bounded rate, and every command ends", async () => {
      for (const index of [0, 1]) {
        const other = fixture.fake.node(1 - index);
        fixture.fake.node(index).script = ([name, question]) => {
          if (name === "cluster" && question === "SLOTS") {
            return [[0, 16_383, [other.server.host, other.server.port]]];
          }
          return name === "get" ? new Error(`MOVED ${SLOT} ${other.key}`) : undefined;
        };
      }
      // With more tries each call would wait seconds for them to agree.
      const cluster = await connect({ maxRedirections: 5 });
      const startedAtMs = performance.now();
      for (let round = 0; round < 20; round++) {
        const calls = Array.from({ length: 20 }, () => failureOf(cluster.get(KEY)));
        for (const failure of await Promise.all(calls)) {
          expect(failure.code).to.be.oneOf(["TOO_MANY_REDIRECTIONS", "OUTCOME_UNKNOWN"]);
        }
      }
      const lastedMs = performance.now() - startedAtMs;
      // A refresh that brings news may be followed by the next one after 75 ms at the earliest.
      expect(received("cluster")).to.be.at.most(6 + Math.ceil(lastedMs / 75));
      expect(cluster.nodes().length).to.be.at.most(2);
    });
  });

  describe("with redirects that are garbage", () => {
    for (const garbage of [
      `MOVED ${SLOT} ${"a".repeat(60_000)}:1`,
      `MOVED ${SLOT} \u0000:1`,
      `MOVED ${"9".repeat(1000)} 127.0.0.1:1`,
      `MOVED ${SLOT} 127.0.0.1:1e3`,
      `MOVED ${SLOT} 127.0.0.1:0x10`,
      "MOVED constructor __proto__:1",
      `ASK ${SLOT} /tmp/socket:1`,
      "ASK",
      `MOVED  ${SLOT}  127.0.0.1:1`,
    ]) {
      it(`the reply is the error: ${JSON.stringify(garbage.slice(0, 40))}`, async () => {
        answerGets(OWNER, () => new Error(garbage));
        const cluster = await connect();
        const before = connections();
        expect(await failureOf(cluster.get(KEY))).to.include({ name: "ReplyError", message: garbage });
        expect(received("get")).to.equal(1);
        expect(connections()).to.be.at.most(before + 1);
      });
    }

    it("a redirect of 20 MB fails its own command alone", async () => {
      let isHostile = true;
      answerGets(OWNER, () =>
        isHostile ? new Error(`MOVED ${SLOT} ${"a".repeat(20_000_000)}:1`) : "sane again",
      );
      const cluster = await connect({ maxRedirections: 1, retryDelayOnFailover: 1 });
      const failure = await failureOf(cluster.get(KEY));
      expect(failure.code).to.equal("REPLY_TOO_LONG");
      expect(failure.message.length).to.be.lessThan(300);
      isHostile = false;
      expect(await cluster.get(KEY)).to.equal("sane again");
    });

    it("a node without a name is found by a refresh", async () => {
      fixture.fake.node(OTHER).values.set(KEY, "there");
      answerGets(OWNER, () => new Error(`MOVED ${SLOT} ?:6379`));
      const cluster = await connect({ retryDelayOnClusterDown: 20 });
      const { host, port } = fixture.fake.node(OTHER).server;
      fixture.fake.slots = () => [[0, 16_383, [host, port]]];
      expect(await cluster.get(KEY)).to.equal("there");
    });
  });

  describe("whose nodes cannot be talked to", () => {
    it("a table that leads nowhere is told as the cause", async () => {
      fixture.fake.slots = () => [[0, 16_383, ["127.0.0.1", 1]]];
      const cluster = make();
      const failure = await failureOf(cluster.get(KEY));
      expect(failure).to.include({ code: "CLUSTER_UNAVAILABLE" });
      expect(failure.cause).to.include({ code: "TOPOLOGY" });
      expect(failure.cause?.message).to.equal("127.0.0.1:1 serves slots but did not answer CLUSTER INFO");
      expect(failure.cause?.cause).to.have.property("message", "Connection is closed.");
    });

    it("one that hangs up on everybody is dialled as often as the attempts allow", async () => {
      const rude = await FakeServer.start((_words, { socket }) => {
        socket.destroy();
        return NO_REPLY;
      });
      try {
        const cluster = make({ clusterRetryStrategy: (times) => (times < 4 ? 5 : null) }, [
          { host: rude.host, port: rude.port },
        ]);
        expect(await failureOf(cluster.get(KEY))).to.include({ code: "CLUSTER_UNAVAILABLE" });
        expect(rude.connectionCount).to.be.at.most(8);
      } finally {
        await rude.stop();
      }
    });

    it("one that hangs up on a command gets it a bounded number of times", async () => {
      fixture.fake.node(OWNER).script = ([name], { socket }) => {
        if (name !== "get") return undefined;
        socket.destroy();
        return NO_REPLY;
      };
      leadsBack();
      const cluster = await connect({ retryDelayOnFailover: 5 });
      const failure = await failureOf(cluster.get(KEY));
      expect(failure.code).to.match(/^(OUTCOME_UNKNOWN|COMMAND_LOST)$/);
      expect(fixture.fake.node(OWNER).received("get").length).to.be.at.most(BUDGET + 1);
      expect(await cluster.set("bar", 1)).to.equal("OK");
    });
  });

  describe("with code of the application that throws", () => {
    const mine = new Error("mine");

    it("natMap fails the attempt", async () => {
      const natMap = (): never => {
        throw mine;
      };
      const failure = await failureOf(make({ natMap }).connect());
      expect(failure.cause).to.equal(mine);
    });

    it("scaleReads fails its command and no other", async () => {
      const scaleReads = (): never => {
        throw mine;
      };
      const cluster = await connect({ scaleReads });
      expect(await failureOf(cluster.get(KEY))).to.equal(mine);
      const rows = await cluster.pipeline().set("a", 1).get(KEY).set("b", 2).exec();
      expect(rows?.map(([error, value]) => error ?? value)).to.deep.equal(["OK", mine, "OK"]);
      expect(await cluster.set(KEY, 1)).to.equal("OK");
    });
  });

  it("random answers: every call settles, nodes and connections are bounded", async function () {
    this.timeout(600_000);
    const key = (): string => fixture.fake.node(OTHER).key;
    const isHere = (address: string): boolean => fixture.fake.nodes.some((node) => node.key === address);
    const word = fc.constantFrom("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "ERR", "READONLY");
    const target = fc.oneof(
      fc.constantFrom("here", ":1", "?:1", "127.0.0.1:1", "__proto__:1", ""),
      fc.string(),
    );
    const slot = fc.oneof(fc.constant(SLOT), fc.integer({ min: -2, max: 16_385 }));
    const scalar: fc.Arbitrary<FakeReply> = fc.oneof(
      fc.constantFrom(null, "__proto__", "slots", "nodes", "127.0.0.1"),
      fc.integer({ min: -1, max: 20_000 }),
      fc.string(),
    );
    const table = fc.letrec<{ reply: FakeReply }>((tie) => ({
      reply: fc.oneof({ depthSize: "small" }, scalar, fc.array(tie("reply"), { maxLength: 6 })),
    })).reply;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(word, slot, target), { minLength: 1, maxLength: 6 }),
        table,
        async (errors, answer) => {
          let turn = 0;
          for (const index of [0, 1]) {
            fixture.fake.node(index).script = ([name, question]) => {
              if (name === "cluster" && question === "SLOTS" && turn > 0) return answer;
              if (name !== "get") return undefined;
              const [first, second, third] = errors[turn++ % errors.length] as [string, number, string];
              const line = `${first} ${second} ${third === "here" ? key() : third}`;
              return new Error(line.replaceAll(/[\r\n]/g, " "));
            };
          }
          const cluster = make({
            maxRedirections: 4,
            retryDelayOnClusterDown: 1,
            retryDelayOnTryAgain: 1,
            retryDelayOnFailover: 1,
            redisOptions: { connectTimeout: 500 },
            // Only this machine is dialled, for any random names.
            natMap: (address) => (isHere(address) ? null : { host: "127.99.0.1", port: 1 }),
          });
          await cluster.connect();
          const before = connections();
          const calls = [cluster.get(KEY), cluster.get(KEY), cluster.pipeline().get(KEY).get("bar").exec()];
          const outcomes = await Promise.all(calls.map((call) => outcomeOf(call, 30_000)));
          for (const [state] of outcomes) expect(state).to.not.equal("pending");
          expect(connections() - before).to.be.at.most(20);
          expect(cluster.nodes().length).to.be.at.most(40);
          await closeCluster(cluster);
          turn = 0;
        },
      ),
      fixedRuns(60),
    );
  });
});
