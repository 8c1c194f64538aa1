/** The cache of a client as its options ask for it, over connections that the test answers: what is looked up, kept, dropped and told. */

import { EventEmitter } from "node:events";
import { expect } from "chai";
import { type CachedClient, type CachedLink, Caching, type LinkTracker } from "../../../src/client/caching";
import { SOURCE } from "../../../src/client/client-base";
import type { CacheOptions } from "../../../src/client/options/common-options";
import type { Command } from "../../../src/command/command";
import { makeCommand, prefixKeys, prepareArguments } from "../../../src/command/command-factory";
import type { CommandSpec } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import { EXECUTE } from "../../../src/command/commander";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { slotOf } from "../../../src/command/slot";
import { ReplyError } from "../../../src/errors";
import { CacheUnavailableError } from "../../../src/part-errors";
import { sleep } from "../../../src/util/scheduling";
import { uncaughtDuring } from "../../support/uncaught";

/** A connection, and a link that has it. */
class Server implements CachedLink {
  readonly sent: Command[] = [];
  readonly shape: { protocol: 2 | 3; replyMapping: "legacy" } = { protocol: 3, replyMapping: "legacy" };
  connection: (Dispatcher & { readonly shape: { readonly protocol: 2 | 3 } }) | null = null;
  tracker!: LinkTracker;

  get direct(): Dispatcher | null {
    return this.connection;
  }

  dispatch(command: Command): void {
    this.sent.push(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.sent.push(...commands);
  }

  connect(): void {
    this.connection = this;
    this.tracker.onStatus(true, WRITER);
  }

  lose(): void {
    this.connection = null;
    this.tracker.onStatus(false, WRITER);
  }

  /** Answers the oldest command, one that only speaks of the next excepted; returns its words. */
  answer(reply: unknown): string {
    const command = this.sent.shift();
    if (command === undefined) throw new Error("nothing was sent");
    if (command.args[0] === "caching") {
      command.fulfil("OK", this.shape);
      return this.answer(reply);
    }
    if (reply instanceof Error) command.fail(reply);
    else command.fulfil(reply, this.shape);
    return [command.name, ...command.args].join(" ");
  }
}

const WRITER = { serverName: "server" };

/** A client without a chain but for the cache. */
class Client extends EventEmitter {
  /** Calls that became commands. */
  issued = 0;
  readonly [SOURCE] = { server: () => ({ serverAddress: "", serverPort: 1 }) };
  top: Dispatcher | null = null;

  constructor(readonly options: { keyPrefix?: string | Buffer | undefined }) {
    super();
  }

  silentEmit(event: string, ...args: unknown[]): boolean {
    return this.emit(event, ...args);
  }

  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): Promise<unknown> {
    this.issued++;
    const completion = new PromiseCompletion();
    const { keyPrefix } = this.options;
    const prepared = prepareArguments(spec, args);
    prefixKeys(spec, prepared, keyPrefix);
    this.top?.dispatch(makeCommand(spec, prepared, wantsBuffers, completion));
    return completion.promise;
  }

  call(name: string, ...args: unknown[]): Promise<unknown> {
    return this[EXECUTE](specOf(name), args, false);
  }
}

describe("Caching", () => {
  let client: Client;
  let caching: Caching;
  let server: Server;
  let told: unknown[];

  afterEach(() => {
    for (const one of server.sent) if (!one.isSettled) one.fulfil("OK", server.shape);
    server.lose();
  });

  function listen(): void {
    told = [];
    client.on("invalidate", (keys) => told.push(keys));
    client.on("error", (error: Error) => told.push(error));
  }

  function open(cache: true | CacheOptions = true, keyPrefix?: string | Buffer): void {
    client = new Client({ keyPrefix });
    listen();
    server = new Server();
    caching = new Caching(client as unknown as CachedClient, cache, false);
    server.tracker = caching.track(server);
    caching.cache.next = server.tracker.tracking;
    client.top = caching.cache;
  }

  function connected(cache: true | CacheOptions = true, keyPrefix?: string | Buffer): void {
    open(cache, keyPrefix);
    server.connect();
    server.answer("OK");
  }

  /** Asks once, so that the answer is kept if it may be. */
  async function keep(key: string, value = "1"): Promise<void> {
    const call = client.call("get", key);
    server.answer(value);
    await call;
  }

  const peek = (key: string): unknown => caching.cache.peek("get", key);

  it("asks the server for what the options say", () => {
    const wishes: [true | CacheOptions, string][] = [
      [true, "client tracking on optin"],
      [{}, "client tracking on optin"],
      [{ mode: "all" }, "client tracking on"],
      [{ mode: "broadcast" }, "client tracking on bcast prefix p:"],
      [
        { mode: "broadcast", match: ["a", "b", "ab", "a", "c"] },
        "client tracking on bcast prefix p:a prefix p:b prefix p:c",
      ],
      [{ mode: "broadcast", match: () => true }, "client tracking on bcast prefix p:"],
    ];
    for (const [cache, words] of wishes) {
      open(cache, "p:");
      server.connect();
      expect(server.answer("OK")).to.equal(words);
    }
  });

  it("keeps nothing before the server has agreed", async () => {
    open();
    server.connect();
    const call = client.call("get", "a");
    expect(server.sent.map(({ name }) => name)).to.deep.equal(["client", "client", "get"]);
    expect(peek("a")).to.equal(undefined);
    server.answer("OK");
    server.answer("1");
    await call;
    expect(peek("a")).to.equal("1");
  });

  it("answers calls of the client before anything is made of them, those of its views behind their limits", async () => {
    connected();
    await keep("a");
    expect(client.issued).to.equal(1);
    expect(await client.call("get", "a")).to.equal("1");
    expect([client.issued, caching.cache.stats().hits]).to.deep.equal([1, 1]);
    const view = Object.create(client) as Client;
    expect(await view.call("get", "a")).to.equal("1");
    expect([view.issued, caching.cache.stats().hits, server.sent.length]).to.deep.equal([2, 2, 0]);
  });

  it("loses its answers with the connection, and takes up again with the next", async () => {
    connected();
    await keep("a");
    server.lose();
    server.lose();
    expect([peek("a"), told]).to.deep.equal([undefined, [null]]);
    server.connect();
    server.answer("OK");
    expect(peek("a")).to.equal(undefined);
    await keep("a", "2");
    expect(peek("a")).to.equal("2");
  });

  it("has nothing to lose while there was no connection", () => {
    open();
    server.lose();
    expect(told).to.deep.equal([]);
  });

  it("says that it cannot be where the connection does not speak RESP3", async () => {
    open();
    server.shape.protocol = 2;
    server.connect();
    expect(server.sent).to.deep.equal([]);
    expect(told[0]).to.be.instanceOf(CacheUnavailableError);
    expect((told[0] as Error).message).to.contain("it does not speak RESP3");
    const call = client.call("get", "a");
    server.answer("1");
    expect([await call, peek("a")]).to.deep.equal(["1", undefined]);
  });

  it("says that it cannot be where the server refuses, and goes without", async () => {
    open();
    server.connect();
    const refusal = new ReplyError("NOPERM no");
    server.answer(refusal);
    expect(told[0]).to.include({ cause: refusal }).and.be.instanceOf(CacheUnavailableError);
    expect((told[0] as Error).message).to.contain("NOPERM no");
    await keep("a");
    expect(peek("a")).to.equal(undefined);
  });

  it("drops what the server says has changed, and tells it by the names of callers", async () => {
    connected(true, "p:");
    await keep("a");
    await keep("b");
    const { tracker } = server;
    tracker.onPush("something else", ["something else", ["p:b"]]);
    tracker.onPush("invalidate", ["invalidate", ["p:a", "other"]]);
    expect([peek("a"), peek("b"), told]).to.deep.equal([undefined, "1", [["a"]]]);
    tracker.onPush("invalidate", ["invalidate", null]);
    expect([peek("b"), told.at(-1)]).to.deep.equal([undefined, null]);
  });

  it("is not disturbed by a listener that throws", async () => {
    connected();
    const thrown = await uncaughtDuring(async () => {
      client.on("invalidate", () => {
        throw new Error("the listener broke");
      });
      await keep("a");
      server.tracker.onPush("invalidate", ["invalidate", ["a"]]);
      expect(peek("a")).to.equal(undefined);
    });
    expect(thrown).to.deep.equal(["the listener broke"]);
  });

  it("follows a prefix that is changed, and looks nothing up under one that is no text", async () => {
    connected(true, "p:");
    await keep("a");
    const { options } = client;
    options.keyPrefix = "q:";
    expect(peek("a")).to.equal(undefined);
    await keep("a", "2");
    expect(peek("a")).to.equal("2");
    options.keyPrefix = "p:";
    expect(peek("a")).to.equal("1");
    options.keyPrefix = Buffer.from("p:");
    expect(peek("a")).to.equal(undefined);
    options.keyPrefix = undefined;
    expect([peek("a"), peek("p:a")]).to.deep.equal([undefined, "1"]);
  });

  it("keeps the keys that match alone, by the names of callers", async () => {
    const asked: string[] = [];
    const matches: CacheOptions["match"][] = [
      ["a", "x"],
      (key) => {
        asked.push(key);
        return key.startsWith("a");
      },
      // Whatever is not true is no.
      (key) => (key.startsWith("a") ? true : ("yes" as never)),
    ];
    for (const match of matches) {
      connected({ match }, "p:");
      for (const key of ["a1", "b1"]) await keep(key);
      expect([peek("a1"), peek("b1")]).to.deep.equal(["1", undefined]);
    }
    expect(new Set(asked)).to.deep.equal(new Set(["a1", "b1"]));
    // Keys that have got the prefix of another time are shown whole.
    asked.length = 0;
    connected({ match: matches[1] }, "p:");
    client.options.keyPrefix = "q:";
    await keep("a1");
    expect(asked).to.deep.equal(["q:a1"]);
  });

  it("keeps nothing that a function of the user has thrown at", async () => {
    const thrown = await uncaughtDuring(async () => {
      connected({
        match: () => {
          throw new Error("match broke");
        },
      });
      await keep("a");
    });
    expect([peek("a"), thrown]).to.deep.equal([undefined, ["match broke"]]);
  });

  it("keeps answers for the time that it is given, and asks the server for that of keys", async () => {
    connected({ ttl: 10 });
    await keep("a");
    while (peek("a") !== undefined) await sleep(1);
    connected({ ttl: "server" });
    await keep("a");
    expect(server.answer(-1)).to.equal("pttl a");
    expect(peek("a")).to.equal("1");
  });

  it("gives the same frozen answer to all, if it is asked to", async () => {
    for (const frozen of [true, false]) {
      connected({ frozen });
      const call = client.call("lrange", "l", 0, -1);
      server.answer(["a", "b"]);
      await call;
      const [one, other] = [1, 2].map(() => caching.cache.peek("lrange", "l", 0, -1));
      expect(one).to.deep.equal(["a", "b"]);
      expect([one === other, Object.isFrozen(one)]).to.deep.equal([frozen, frozen]);
    }
  });

  it("forgets all when it is told to, and when it holds too much", async () => {
    connected();
    await keep("a");
    expect(caching.cache.stats()).to.include({ entries: 1, stores: 1 });
    caching.cache.clear();
    expect([peek("a"), caching.cache.stats().entries]).to.deep.equal([undefined, 0]);
    connected({ maxBytes: 1000 });
    for (let n = 0; n < 5; n++) await keep(`k${n}`, "x".repeat(300));
    expect(caching.cache.stats().evictions).to.be.above(0);
  });

  it("ends with the tracking that a command of the user switches off", async () => {
    connected();
    await keep("a");
    const call = client.call("client", "tracking", "off");
    expect(peek("a")).to.equal(undefined);
    server.answer("OK");
    await call;
    await keep("a");
    expect(peek("a")).to.equal(undefined);
  });

  it("lets go of a WATCH with the connection that it was on", async () => {
    connected();
    const watch = client.call("watch", "k");
    server.answer("OK");
    await watch;
    await keep("a");
    expect(peek("a"), "not between WATCH and its end").to.equal(undefined);
    server.lose();
    server.connect();
    server.answer("OK");
    await keep("a");
    expect(peek("a")).to.equal("1");
  });

  it("keeps what a caller wants kept although it does not match, unless the server tells of nothing else", async () => {
    for (const mode of ["optin", "broadcast"] as const) {
      connected({ mode, match: ["a"] });
      const command = makeCommand(specOf("get"), ["b"], false, new PromiseCompletion());
      command.ensureExtra().cacheTtlMs = 1e6;
      caching.cache.dispatch(command);
      server.answer("1");
      expect(peek("b")).to.equal(mode === "optin" ? "1" : undefined);
    }
  });

  describe("of a cluster", () => {
    let other: Server;

    beforeEach(() => {
      client = new Client({});
      listen();
      caching = new Caching(client as unknown as CachedClient, { mode: "all" }, true);
      [server, other] = [new Server(), new Server()];
      for (const one of [server, other]) {
        one.tracker = caching.track(one);
        one.connect();
        one.answer("OK");
      }
    });

    async function keepAt(node: Server, key: string, value: string | null = "1"): Promise<void> {
      caching.cache.next = node.tracker.tracking;
      client.top = caching.cache;
      const call = client.call("get", key);
      node.answer(value);
      await call;
    }

    it("loses the answers of the node whose connection is lost, and those alone", async () => {
      await keepAt(server, "a");
      await keepAt(other, "b");
      server.lose();
      expect([peek("a"), peek("b"), told]).to.deep.equal([undefined, "1", [null]]);
      server.lose();
      expect(told.length).to.equal(1);
    });

    it("drops the keys of a slot that has moved", async () => {
      await keepAt(server, "a");
      await keepAt(other, "b");
      caching.cache.onSlotMoved(slotOf(specOf("get"), ["a"]));
      expect([peek("a"), peek("b"), told]).to.deep.equal([undefined, "1", [["a"]]]);
    });

    it("ends at all nodes with the tracking that a command switches off, lost ones excepted", async () => {
      await keepAt(server, "a");
      await keepAt(other, "b");
      caching.cache.next = server.tracker.tracking;
      const call = client.call("client", "tracking", "off");
      server.answer("OK");
      await call;
      await keepAt(other, "c");
      expect(["a", "b", "c"].map(peek)).to.deep.equal([undefined, undefined, undefined]);
      for (const node of [server, other]) {
        node.lose();
        node.connect();
        node.answer("OK");
      }
      await keepAt(other, "b", "2");
      expect(peek("b")).to.equal("2");
    });

    it("believes for less time that a key is missing, as no server tells when its slot moves", async () => {
      caching = new Caching(client as unknown as CachedClient, { mode: "all", maxStale: 10 }, true);
      server.tracker = caching.track(server);
      server.connect();
      server.answer("OK");
      await keepAt(server, "a", null);
      expect(caching.cache.stats().entries).to.equal(1);
      await sleep(15);
      const call = client.call("get", "a");
      expect(server.sent.length).to.be.above(0);
      while (server.sent.length > 0) server.answer(null);
      expect(await call).to.equal(null);
    });
  });
});
