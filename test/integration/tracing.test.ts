import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import Peer from "ioredis";
import { findAnyServer } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/client/redis";
import { untilReady } from "../support/matrix";
import { type Heard, listen } from "../support/trace-listener";

type Client = Redis;
type ClientClass = new (...args: unknown[]) => Client;

/** The reports of all operations, in the order in which the operations began. */
function operations(heard: readonly Heard[]): unknown[] {
  const byContext = new Map<object, string[]>();
  for (const { event, context } of heard) {
    const events = byContext.get(context);
    if (events === undefined) byContext.set(context, [event]);
    else events.push(event);
  }
  return [...byContext].map(([context, events]) => {
    const { result, error, ...payload } = context as Record<string, unknown>;
    const outcome = JSON.stringify(error ?? result, (_key, value) =>
      value instanceof Error ? value.message : value,
    );
    const name = (payload["command"] as string | undefined) ?? "";
    // These replies tell the moment.
    return { events, payload, outcome: ["hello", "info"].includes(name) ? typeof result : outcome };
  });
}

describe("tracing", function () {
  this.timeout(60_000);
  let server: ServerProcess;

  before(async () => {
    server = await ServerProcess.start({ binary: await findAnyServer() });
  });

  after(() => server.stop());

  async function record(
    clientClass: ClientClass,
    work: (client: Client) => Promise<unknown>,
  ): Promise<unknown[]> {
    const { heard, stop } = listen();
    const client = new clientClass(server.port, "127.0.0.1", {
      lazyConnect: true,
      disableClientInfo: true,
      connectionName: "traced",
      db: 1,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      await work(client);
      return operations(heard);
    } finally {
      client.disconnect();
      stop();
    }
  }

  const cases: Record<string, (client: Client) => Promise<unknown>> = {
    "a connect": async () => {},
    "single commands": (client) => client.set("k", "v").then(() => client.getBuffer("k")),
    "a failing command": (client) => client.call("HGET", "k", "f").catch(() => {}),
    "a pipeline": (client) => client.pipeline().set("k", 1).hget("k", "f").get("k").exec(),
    "a transaction": (client) => client.multi().set("k", 1).hget("k", "f").get("k").exec(),
    "a discarded transaction": (client) =>
      client
        .multi([
          ["set", "k"],
          ["get", "k"],
        ])
        .exec()
        .catch(() => {}),
    "an empty transaction": (client) => client.multi().exec(),
    "a transaction by hand": async (client) => {
      await client.multi({ pipeline: false });
      await Promise.all([client.get("k"), client.exec()]);
    },
    "commands after the end": async (client) => {
      client.disconnect();
      await new Promise<void>((resolve) => client.once("end", resolve));
      await client.get("k").catch(() => {});
    },
  };
  for (const [name, work] of Object.entries(cases)) {
    it(`reports ${name} as the published API`, async () => {
      const theirs = await record(Peer as unknown as ClientClass, work);
      const ours = await record(Redis as unknown as ClientClass, work);
      expect(ours).to.deep.equal(theirs);
    });
  }

  it("reports each attempt to connect and why it failed", async () => {
    const { heard, stop } = listen();
    const client = new Redis(1, { lazyConnect: true, retryStrategy: (times) => (times < 2 ? 1 : null) });
    client.on("error", () => {});
    try {
      await client.connect().catch(() => {});
      await new Promise<void>((resolve) => client.once("end", resolve));
    } finally {
      stop();
    }
    const events = [
      "connect:start",
      "connect:end",
      "connect:error",
      "connect:asyncStart",
      "connect:asyncEnd",
    ];
    const attempt = (connectionEpoch: number): object => ({
      events,
      payload: { serverAddress: "localhost", serverPort: 1, connectionEpoch },
      outcome: '"Connection is closed."',
    });
    expect(operations(heard)).to.deep.equal([attempt(0), attempt(1)]);
  });

  it("reports a command that is sent again only once", async () => {
    const client = new Redis(server.port, { retryStrategy: () => 1 });
    const killer = new Redis(server.port);
    const { heard, stop } = listen();
    try {
      const id = await client.client("ID");
      const waiting = client.blpop("absent", 1);
      await sleep(50);
      await killer.client("KILL", "ID", id);
      expect(await waiting).to.equal(null);
      const blocked = operations(heard).filter((one) => JSON.stringify(one).includes("blpop"));
      expect(blocked).to.have.lengthOf(1);
    } finally {
      stop();
      client.disconnect();
      killer.disconnect();
    }
  });

  it("settles the trace before the caller hears of the reply", async () => {
    const client = new Redis(server.port, { lazyConnect: true });
    await client.connect();
    const { heard, stop } = listen();
    try {
      let before: string[] = [];
      await client.get("k").then(() => {
        before = heard.map(({ event }) => event);
      });
      expect(before).to.include("command:asyncEnd");
    } finally {
      stop();
      client.disconnect();
    }
  });

  it("keeps what was issued together in one write apart", async () => {
    const requests = new AsyncLocalStorage<string>();
    const client = new Redis(server.port, { lazyConnect: true, enableAutoPipelining: true });
    await client.connect();
    const seen: string[] = [];
    const note = (context: unknown): void => {
      const { args } = context as { args: string[] };
      seen.push(`${args[0]} of ${requests.getStore()}`);
    };
    const { start } = tracingChannel("ioredis:command");
    start.subscribe(note);
    try {
      await Promise.all(
        ["a", "b", "c"].map((name) =>
          requests.run(name, () => Promise.all([client.get(name), client.pipeline().get(name).exec()])),
        ),
      );
      expect(seen).to.have.members(["a of a", "b of b", "c of c", "a of a", "b of b", "c of c"]);
    } finally {
      start.unsubscribe(note);
      client.disconnect();
    }
  });

  it("keeps what a cache asks for a read with that read, and what it asks for itself with none", async () => {
    const requests = new AsyncLocalStorage<string>();
    const client = new Redis(server.port, { cache: { ttl: "server", maxStale: 40 } });
    await untilReady(client);
    await client.get("warm");
    const seen: string[] = [];
    const note = (context: unknown): void => {
      seen.push(`${(context as { command: string }).command} of ${requests.getStore()}`);
    };
    const { start } = tracingChannel("ioredis:command");
    start.subscribe(note);
    try {
      await Promise.all(
        ["a", "b"].map((name) =>
          requests.run(name, () => Promise.all([client.get(name), client.pipeline().get(`${name}2`).exec()])),
        ),
      );
      const ofOne = (name: string): string[] =>
        ["client", "get", "pttl", "client", "get", "pttl"].map((command) => `${command} of ${name}`);
      expect(seen.splice(0)).to.have.members([...ofOne("a"), ...ofOne("b")]);
      // A hit whose connection has been silent: the client sends a PING of its own.
      const deadline = Date.now() + 5000;
      while (!seen.some((one) => one.startsWith("ping")) && Date.now() < deadline) {
        await sleep(10);
        requests.run("a", () => client.cache.peek("get", "a"));
      }
      expect(seen).to.include("ping of undefined");
    } finally {
      start.unsubscribe(note);
      client.disconnect();
    }
  });

  it("the commands of the handshake belong to the attempt to connect, as with the published API", async () => {
    const seenBy = async (clientClass: ClientClass): Promise<string[]> => {
      const stores = new AsyncLocalStorage<string>();
      const seen: string[] = [];
      const note = (context: unknown): void => {
        seen.push(`${(context as { command: string }).command} under ${stores.getStore()}`);
      };
      const connects = tracingChannel("ioredis:connect").start;
      const { start } = tracingChannel("ioredis:command");
      connects.bindStore(stores, () => "connect");
      start.subscribe(note);
      const client = new clientClass(server.port, "127.0.0.1", {
        lazyConnect: true,
        disableClientInfo: true,
      });
      try {
        await stores.run("request", () => client.connect());
        await stores.run("later", () => client.get("k"));
      } finally {
        start.unsubscribe(note);
        connects.unbindStore(stores);
        client.disconnect();
      }
      return seen;
    };
    const theirs = await seenBy(Peer as unknown as ClientClass);
    expect(theirs).to.include("info under connect");
    expect(await seenBy(Redis as unknown as ClientClass)).to.deep.equal(theirs);
  });

  it("makes nothing while nobody listens", async () => {
    const client = new Redis(server.port, { lazyConnect: true });
    await client.connect();
    const resources: string[] = [];
    const hook = createHook({ init: (_id, type) => resources.push(type) }).enable();
    try {
      await Promise.all([client.get("k"), client.pipeline().get("k").exec(), client.multi().get("k").exec()]);
    } finally {
      hook.disable();
      client.disconnect();
    }
    expect(resources).to.include("PROMISE").and.not.include("sluice.command");
  });
});
