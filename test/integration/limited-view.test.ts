/** `with({ timeout, signal, retry })`: limits over the whole life of a call. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, matrix, untilReady } from "../support/matrix";

interface Limited extends Error {
  readonly code: string;
  readonly details: {
    phase: string;
    commandsAhead: number;
    queuedMs: number;
    elapsedMs: number;
    server: string;
  };
}

const rejected = (promise: Promise<unknown>): Promise<Limited> =>
  promise.then(
    () => {
      throw new Error("It did not reject");
    },
    (error: Limited) => error,
  );

describe("with()", () => {
  matrix("a view has everything its client has", {}, async ({ redis }) => {
    redis.defineCommand("echo2", { lua: "return {KEYS[1], ARGV[1]}", numberOfKeys: 1 });
    redis.addBuiltinCommand("nosuch");
    const view = redis.with({ timeout: 5000, signal: new AbortController().signal, retry: "reads-only" });
    const scripted = view as unknown as Record<string, (...args: string[]) => Promise<unknown>>;
    expect(view).to.be.instanceOf(Redis);
    expect(await view.set("a", "1")).to.equal("OK");
    expect(await view.getBuffer("a")).to.deep.equal(Buffer.from("1"));
    expect(await view.call("GET", "a")).to.equal("1");
    expect(await scripted["echo2"]?.("k", "v")).to.deep.equal(["k", "v"]);
    expect(typeof scripted["nosuch"]).to.equal("function");
    expect(await view.pipeline().get("a").incr("n").exec()).to.deep.equal([
      [null, "1"],
      [null, 1],
    ]);
    expect(await view.multi().get("a").exec()).to.deep.equal([[null, "1"]]);
    expect([view.status, view.mode, view.options]).to.deep.equal(["ready", "normal", redis.options]);
    let heard = 0;
    expect(view.on("mine", () => heard++)).to.equal(view);
    redis.emit("mine");
    expect(heard).to.equal(1);
    expect(await view.with({}).get("a")).to.equal("1");
  });

  matrix("a command that is too slow rejects, and replies stay aligned", {}, async ({ redis, server }) => {
    const view = redis.with({ timeout: 30 });
    const error = await rejected(view.call("blpop", "list", "0"));
    expect(error.code).to.equal("COMMAND_TIMEOUT");
    expect(error.message).to.match(/^Command timed out after \d+ ms in the queue and \d+ ms of waiting for /);
    expect(error.message).to.match(/it may still run$/i);
    expect(error.details.phase).to.equal("waiting");
    await server.command("RPUSH", "list", "late");
    expect(await redis.set("a", "1")).to.equal("OK");
    expect(await redis.get("a")).to.equal("1");
  });

  matrix("an aborted signal ends what is out and refuses what comes", {}, async ({ redis, server }) => {
    const controller = new AbortController();
    const view = redis.with({ signal: controller.signal });
    const reason = new Error("the request is gone");
    const single = rejected(view.call("blpop", "list", "0"));
    const rows = view.pipeline().set("b", "1").blpop("list", 0).exec();
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort(reason);
    const error = await single;
    expect([error.name, error.code, error.cause]).to.deep.equal(["AbortError", "ABORTED_BY_SIGNAL", reason]);
    expect((await rows)?.every((row) => row[0]?.name === "AbortError")).to.equal(true);
    await server.command("RPUSH", "list", "late", "later");
    const late = await Promise.all([
      rejected(view.set("never", "1")),
      rejected(view.multi().set("never", "1").exec()),
      view.pipeline().set("never", "1").exec(),
    ]);
    expect(late[0].message).to.match(/it was not sent$/i);
    expect(late[2]?.[0]?.[0]?.name).to.equal("AbortError");
    expect(await redis.exists("never")).to.equal(0);
  });

  describe("on a server that says nothing", () => {
    let fake: FakeServer;
    let redis: Redis;

    beforeEach(async () => {
      fake = await FakeServer.start((words) => (words[0] === "x" ? NO_REPLY : undefined));
      redis = new Redis({ port: fake.port, host: fake.host, retryStrategy: () => 5 });
      await untilReady(redis);
    });
    afterEach(async () => {
      await closeClient(redis);
      await fake.stop();
    });

    it("what was not sent is removed", async () => {
      redis.disconnect(true);
      const controller = new AbortController();
      const view = redis.with({ signal: controller.signal });
      const error = rejected(view.call("x", "queued"));
      controller.abort();
      expect((await error).details.phase).to.equal("queued");
      await untilReady(redis);
      await redis.ping();
      expect(fake.received.filter(([word]) => word === "x")).to.deep.equal([]);
    });

    it("one listener for a signal, none when idle", async () => {
      const controller = new AbortController();
      let listeners = 0;
      const { signal } = controller;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listeners++;
        add(...args);
      };
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listeners--;
        remove(...args);
      };
      const view = redis.with({ signal });
      await Promise.all([view.ping(), view.ping(), view.ping()]);
      expect(listeners).to.equal(0);
      const work = [rejected(view.call("x")), rejected(view.call("x"))];
      expect(listeners).to.equal(1);
      controller.abort();
      await Promise.all(work);
      expect(listeners).to.equal(0);
    });

    it("retry: what was written goes again or not, whatever the client's policy is", async () => {
      const again = redis.with({ retry: "at-least-once" }).call("x", "again");
      const never = rejected(redis.with({ retry: "at-most-once" }).call("x", "never"));
      await redis
        .with({ timeout: 20 })
        .call("x")
        .catch(() => {});
      fake.handler = (words) => (words[0] === "x" ? (words[1] ?? "") : undefined);
      fake.dropConnections();
      expect((await never).code).to.equal("OUTCOME_UNKNOWN");
      expect(await again).to.equal("again");
    });

    it("timeout takes the place of commandTimeout", async () => {
      const impatient = new Redis({ port: fake.port, host: fake.host, commandTimeout: 20 });
      try {
        await untilReady(impatient);
        const startedAt = performance.now();
        await rejected(impatient.with({ timeout: 80 }).call("x"));
        expect(performance.now() - startedAt).to.be.greaterThan(70);
        const plain = await rejected(impatient.call("x"));
        expect(plain.message).to.equal("Command timed out");
        expect(plain.details.commandsAhead).to.equal(1);
      } finally {
        await closeClient(impatient);
      }
    });

    it("ten thousand limited calls cost one timer and settle once each", async () => {
      const view = redis.with({ timeout: 60 });
      let settled = 0;
      const work = Array.from({ length: 10_000 }, () =>
        view.call("x").then(
          () => settled++,
          () => settled++,
        ),
      );
      const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
      await Promise.all(work);
      expect(settled).to.equal(10_000);
      expect(timers).to.be.lessThan(10);
    });
  });
});
