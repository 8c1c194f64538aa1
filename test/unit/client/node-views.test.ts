/** The nodes of a cluster as clients: the options that each gets, what it answers about itself, and what is told of its link. */

import { expect } from "chai";
import { CHAIN } from "../../../src/client/client-base";
import { countsOf, type NodeView, ViewFactory } from "../../../src/client/cluster/node-views";
import { EVENTS } from "../../../src/client/redis";
import { Command, IGNORED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import { ConnectionClosedError } from "../../../src/errors";
import { Redis } from "../../../src/index";

const ADDRESS = { host: "10.0.0.1", port: 7000 };

describe("ViewFactory", () => {
  let views: NodeView[];

  beforeEach(() => {
    views = [];
  });

  afterEach(() => {
    for (const { redis } of views) redis.disconnect();
  });

  function make(
    options: object,
    more: { address?: object; isReadOnly?: boolean; seeds?: object[] } = {},
  ): NodeView {
    const factory = new ViewFactory(options, null);
    factory.useSeeds((more.seeds ?? []) as never);
    const view = factory.makeNode({ ...ADDRESS, ...more.address }, more.isReadOnly ?? false, {});
    views.push(view);
    return view;
  }

  it("makes a client that dials when it is needed, at the address of its node", () => {
    const { redis, link } = make({ redisOptions: { db: 3, host: "other", port: 1 } });
    expect(redis.options).to.include({ ...ADDRESS, db: 3, readOnly: false, enableOfflineQueue: true });
    expect([redis.status, redis.options.retryStrategy, link.status]).to.deep.equal(["wait", null, "wait"]);
  });

  it("takes the options of the cluster, of its nodes and of a start node, the last one first", () => {
    const seeds = [{ address: ADDRESS, options: { connectTimeout: 3, username: "own" } }];
    const options = {
      retryPolicy: "reads-only",
      redisOptions: { connectTimeout: 2, keepAlive: 2, cache: true, enableOfflineQueue: false },
    };
    const { redis } = make(options, { seeds });
    expect(redis.options).to.include({
      connectTimeout: 3,
      keepAlive: 2,
      username: "own",
      retryPolicy: "reads-only",
    });
    expect([redis.options.cache, redis.options.enableOfflineQueue]).to.deep.equal([undefined, true]);
    expect(redis.options.watchdog).to.deep.equal({ idleMs: 2000, probeTimeoutMs: 1000 });
    expect(
      make({ ...options, redisOptions: { retryPolicy: "at-most-once", watchdog: false } }).redis.options,
    ).to.include({
      retryPolicy: "at-most-once",
      watchdog: false,
    });
    expect(make(options, { seeds, address: { port: 7001 } }).redis.options.connectTimeout).to.equal(2);
  });

  it("reads from replicas, retries and gathers as the cluster is told to", () => {
    const clusterNodeRetryStrategy = (): number => 1;
    const options = {
      clusterNodeRetryStrategy,
      enableAutoPipelining: true,
      autoPipeliningIgnoredCommands: ["get"],
    };
    const { redis } = make(options, { isReadOnly: true });
    expect(redis.options).to.include({
      readOnly: true,
      retryStrategy: clusterNodeRetryStrategy,
      enableAutoPipelining: true,
    });
    expect(redis.options.autoPipeliningIgnoredCommands).to.deep.equal(["get"]);
  });

  it("asks for the name that a node announces when it speaks TLS", () => {
    const address = { serverName: "node.example" };
    const tlsOf = (tls: unknown, named: object = address): unknown =>
      make({ redisOptions: { tls } }, { address: named }).redis.options.tls;
    expect(tlsOf({ ca: "x" })).to.deep.equal({ servername: "node.example", ca: "x" });
    expect(tlsOf({ servername: "mine" })).to.deep.equal({ servername: "mine" });
    expect(tlsOf(true)).to.deep.equal({ servername: "node.example" });
    expect(tlsOf({ ca: "x" }, {})).to.deep.equal({ ca: "x" });
    expect(tlsOf(undefined)).to.equal(undefined);
  });

  it("uses TLS if the nodes or a start node do", () => {
    const factory = new ViewFactory({}, null);
    expect(factory.usesTls).to.equal(false);
    factory.useSeeds([{ address: ADDRESS, options: { tls: {} } }]);
    expect(factory.usesTls).to.equal(true);
    expect(new ViewFactory({ redisOptions: { tls: {} } }, null).usesTls).to.equal(true);
  });

  it("names connections that only ask or listen, and gives them no retries", () => {
    const factory = new ViewFactory({ redisOptions: { connectionName: "app" } }, null);
    const refresher = factory.makeRefresher(ADDRESS);
    views.push(refresher);
    expect(refresher.redis.options).to.include({
      connectionName: "sluice-cluster(refresher):app",
      enableReadyCheck: false,
      retryStrategy: null,
      watchdog: false,
    });
    const { link } = new ViewFactory({}, null).makeSubscriber("subscriber", ADDRESS, {});
    expect(link.options).to.include({
      connectionName: "sluice-cluster(subscriber)",
      enableReadyCheck: true,
      retryStrategy: null,
    });
    factory.useSeeds([{ address: ADDRESS, options: { connectionName: "seed" } }]);
    const named = factory.makeSubscriber("ssubscriber", ADDRESS, {});
    expect(named.link.options).to.have.property("connectionName", "sluice-cluster(ssubscriber):seed");
  });

  it("dials at once if the options say so, and nobody has to listen to its errors", () => {
    const { redis } = make(
      { redisOptions: { lazyConnect: false } },
      { address: { host: "127.0.0.1", port: 1 } },
    );
    expect(redis.status).to.equal("connecting");
    expect(redis.listenerCount("error")).to.equal(1);
    expect(make({ redisOptions: { lazyConnect: true } }).redis.status).to.equal("wait");
  });

  it("leads what goes to a connection for subscriptions through a sendCommand that was replaced", () => {
    const view = new ViewFactory({}, null).makeSubscriber("subscriber", ADDRESS, {});
    const [straight, passed]: [Command[], unknown[]] = [[], []];
    view.link.dispatch = (command) => void straight.push(command);
    const command = new Command(specOf("subscribe"), ["c"], false, IGNORED);
    view.dispatch(command);
    view.redis.sendCommand = ((one: unknown) => passed.push(one)) as never;
    view.dispatch(command);
    expect([straight, passed]).to.deep.equal([[command], [command]]);
    view.redis.disconnect();
  });

  it("adds up the counts of nodes", () => {
    const [one, other] = [make({}), make({})];
    one.redis[EVENTS].counts.opened = 2;
    other.redis[EVENTS].counts.opened = 3;
    const counts = new ConnectionCounts();
    for (const view of [one, other]) counts.add(countsOf(view));
    expect(counts.opened).to.equal(5);
  });

  describe("a node", () => {
    let view: NodeView;
    let made: Command[];

    beforeEach(() => {
      made = [];
      // Only merged commands are gathered without a connection: they wait for the end of the turn.
      view = make({ redisOptions: { lazyConnect: true }, enableAutoPipelining: { merge: true } });
      // It waits for a connection that never comes.
      view.link.connect = () => Promise.resolve();
    });

    afterEach(() => {
      for (const one of made) one.fail(new Error("the test is over"));
    });

    function command(name: string, slot: number): Command {
      const one = new Command(specOf(name), ["k", "0"].slice(0, name === "blpop" ? 2 : 1), false, IGNORED);
      one.slot = slot;
      made.push(one);
      return one;
    }

    it("is idle while nothing is gathered and nothing waits", () => {
      expect(view.isIdle).to.equal(true);
      view.dispatch(command("get", 1));
      expect([view.isIdle, view.redis.autoPipelineQueueSize]).to.deep.equal([false, 1]);
      view.handOn();
      expect([view.isIdle, view.redis.autoPipelineQueueSize, view.link.offline.length]).to.deep.equal([
        false,
        0,
        1,
      ]);
      expect(view.link.offline.takeThose(() => false)).to.deep.equal([]);
      expect(view.link.offline.takeThose(() => true)).to.deep.equal(made);
      expect(view.isIdle).to.equal(true);
    });

    it("has the tracking of its cluster's cache in its chain", () => {
      const tracking = { dispatch: (one: Command) => void made.push(one), dispatchBatch() {} };
      const factory = new ViewFactory({}, { track: () => ({ tracking, onStatus() {} }) } as never);
      const tracked = factory.makeNode(ADDRESS, false, {});
      views.push(tracked);
      tracked.dispatch(new Command(specOf("get"), ["k"], false, IGNORED));
      expect(made.length).to.equal(1);
    });

    it("tells the youngest command of a slot: gathered, or waiting", () => {
      const [old, young, blocking, other] = [
        command("get", 1),
        command("get", 1),
        command("blpop", 1),
        command("get", 2),
      ];
      expect(view.lastOf(1)).to.equal(null);
      view.link.offline.push(old);
      expect(view.lastOf(1)).to.equal(old);
      for (const one of [young, other]) view.dispatch(one);
      expect([view.lastOf(1), view.lastOf(2), view.lastOf(3)]).to.deep.equal([young, other, null]);
      young.fail(new Error("given up"));
      expect(view.lastOf(1), "one that has ended does not count").to.equal(old);
      view.link.offline.push(blocking);
      expect(view.lastOf(1), "nor one that may block").to.equal(old);
      const all = [...view.youngest()].sort(([one], [two]) => one - two);
      expect(all, "of all slots at once").to.deep.equal([
        [1, old],
        [2, other],
      ]);
    });

    it("looks at a thousand commands at most: behind so many, the youngest of any slot will do", () => {
      const target = command("get", 1);
      view.link.offline.push(target);
      for (let index = 0; index < 999; index++) view.link.offline.push(command("get", 2));
      expect(view.lastOf(1)).to.equal(target);
      view.link.offline.push(command("get", 2));
      expect(view.lastOf(1), "the thousandth from the end").to.equal(made[1]);
    });

    it("passes what goes to it through a sendCommand that was replaced", () => {
      const passed: string[] = [];
      const { sendCommand } = Redis.prototype;
      Redis.prototype.sendCommand = function (one: Command) {
        passed.push(one.name);
        return sendCommand.call(this, one);
      };
      try {
        view.dispatch(command("get", 1));
        view.dispatchBatch([command("set", 1)]);
      } finally {
        Redis.prototype.sendCommand = sendCommand;
      }
      expect(passed).to.deep.equal(["get", "set"]);
      view.dispatch(command("get", 1));
      expect(passed.length).to.equal(2);
    });

    it("puts nothing that comes meanwhile between the commands of a batch", () => {
      const { sendCommand } = Redis.prototype;
      Redis.prototype.sendCommand = function (one: Command) {
        if (one.name === "set") view.dispatch(command("incr", 1));
        return sendCommand.call(this, one);
      };
      try {
        view.dispatchBatch([command("get", 1), command("set", 1), command("del", 1)]);
      } finally {
        Redis.prototype.sendCommand = sendCommand;
      }
      const waiting = view.link.offline.takeThose(() => true).map(({ name }) => name);
      expect(waiting).to.deep.equal(["incr", "get", "set", "del"]);
    });

    it("says whether it reads to a connection that has begun to, and keeps it for the next", () => {
      const asked: string[] = [];
      for (const name of ["readonly", "readwrite"] as const) {
        view.redis[name] = (async () => {
          asked.push(name);
          throw new Error("the connection is lost");
        }) as never;
      }
      view.setReadOnly(true);
      expect([view.redis.options.readOnly, asked]).to.deep.equal([true, []]);
      for (const status of ["connect", "ready"] as const) {
        Object.defineProperty(view.link, "status", { value: status, configurable: true });
        view.setReadOnly(true);
        view.setReadOnly(false);
      }
      expect([view.redis.options.readOnly, asked.join()]).to.deep.equal([
        false,
        "readonly,readwrite,readonly,readwrite",
      ]);
      Object.defineProperty(view.link, "status", { value: "wait", writable: true, configurable: true });
    });

    it("leaves at once where it has never connected", async () => {
      await view.leave();
      expect(view.link.status).to.equal("end");
      expect(view.redis[CHAIN]).to.not.equal(null);
    });

    it("says QUIT to a node that it is connected to, and leaves whatever comes of that", async () => {
      let outcome: () => Promise<string> = async () => "OK";
      let isGone = false;
      let hasSaid = false;
      const { disconnect } = view.redis;
      view.redis.quit = (() => {
        hasSaid = true;
        return outcome();
      }) as never;
      view.redis.disconnect = () => {
        isGone = true;
      };
      Object.defineProperty(view.link, "status", { value: "ready", configurable: true });
      await view.leave();
      expect([hasSaid, isGone], "QUIT closes it").to.deep.equal([true, false]);
      outcome = async () => {
        throw new ConnectionClosedError();
      };
      await view.leave();
      expect(isGone).to.equal(true);
      isGone = false;
      const refusal = new Error("NOPERM");
      outcome = async () => {
        throw refusal;
      };
      const error = await view.leave().catch((reason: unknown) => reason);
      expect([error, isGone]).to.deep.equal([refusal, true]);
      Object.defineProperty(view.link, "status", { value: "wait", writable: true, configurable: true });
      view.redis.disconnect = disconnect;
    });
  });
});
