/** The parts that join the watchdog to a link: whom it can ask, what a verdict means to the link, and who is sent a PING. */

import { tracingChannel } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { Liveness, type ProbedLink } from "../../../src/link/liveness";
import type { Verdict } from "../../../src/link/probe";
import { CommandsOfTest } from "../../support/ending";
import { FakeServer, NO_REPLY } from "../../support/fake-server";
import { ModelConnection } from "../../support/model-connection";

class ProbedConnection extends ModelConnection {
  handshakeMs = 1;
  wentOn = 0;
  isWritable = true;
  silenceListener: object | null = null;
  bytesRead = 0;
  lastActivityMs = 0;
  queue = { length: 0, inFlight: 0, head: () => undefined };

  sendAhead(command: Command): void {
    this.asked.push(command);
  }

  goOn(): void {
    this.wentOn++;
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(1);
}

describe("Liveness", () => {
  let told: [string, { message: string; code?: unknown }][];
  let connection: ProbedConnection;
  let link: { -readonly [Name in keyof ProbedLink]: ProbedLink[Name] };
  let isInTransaction: boolean;
  let isEmpty: boolean;
  let credentials: () => object | Promise<object>;
  const counts = { probes: 0, attempts: 1 };
  let liveness: Liveness;

  beforeEach(() => {
    told = [];
    isInTransaction = false;
    isEmpty = false;
    credentials = () => ({});
    counts.probes = 0;
    connection = new ProbedConnection();
    link = {
      options: { watchdog: { idleMs: 1000 } },
      connection: connection.asConnection,
      server: "server:1",
      mode: "normal",
      isWritable: true,
      subscriptions: {
        get isEmpty() {
          return isEmpty;
        },
      },
      session: {
        get isInTransaction() {
          return isInTransaction;
        },
      },
      reset: (error) => void told.push(["reset", error]),
      report: (type, error) => void told.push([type, error]),
    } as typeof link;
    make();
  });

  afterEach(() => liveness.stop());

  function make(): void {
    const deps = { credentials: () => credentials(), counts, tracer: null };
    liveness = new Liveness(link, deps as never);
  }

  const probe = (): Promise<Verdict> => liveness.probe(connection.asConnection, 1000);

  it("knows nothing where a second connection cannot be made, and asks nobody", async () => {
    expect(await probe(), "no socket").to.equal("unknown");
    connection.socket = {};
    expect(await probe(), "a stream that has no other end").to.equal("unknown");
    connection.socket = { remoteAddress: "127.0.0.1" } as object;
    link.options = { ...link.options, Connector: class {} };
    expect(await probe(), "a connector of the user's own").to.equal("unknown");
    expect(counts.probes).to.equal(0);
  });

  it("knows nothing where the credentials are not to be had, or the connection has gone meanwhile", async () => {
    connection.socket = { remoteAddress: "127.0.0.1" } as object;
    credentials = () => {
      throw new Error("no credentials");
    };
    expect(await probe()).to.equal("unknown");
    credentials = () => Promise.reject(new Error("no credentials"));
    expect(await probe()).to.equal("unknown");
    credentials = async () => {
      link.connection = null;
      return {};
    };
    expect(await probe()).to.equal("unknown");
    expect(counts.probes).to.equal(0);
  });

  /** One check of a connection that has been silent for long. */
  function look(watched = connection): string[] {
    watched.lastActivityMs = -10_000;
    liveness.start(watched.asConnection);
    liveness.look();
    return watched.asked.map(({ name }) => name);
  }

  it("sends a PING on a connection that only listens", () => {
    expect(look()).to.deep.equal(["ping"]);
    connection.answer("PONG");
  });

  it("sends none where one would wait, be counted as a member, or cannot be written", () => {
    connection.queue.length = 1;
    expect(look()).to.deep.equal([]);
    connection.queue.length = 0;
    isInTransaction = true;
    expect(look()).to.deep.equal([]);
    isInTransaction = false;
    connection.isWritable = false;
    expect(look()).to.deep.equal([]);
  });

  it("listens while there are subscriptions, unless the connection's user may not PING", () => {
    isEmpty = true;
    expect(look()).to.deep.equal([]);
    isEmpty = false;
    expect(look()).to.deep.equal(["ping"]);
    connection.asked.shift()?.fail(new Error("the connection is closed"));
    expect(look(), "it was not refused").to.deep.equal(["ping"]);
    connection.answer("-NOPERM");
    expect(look()).to.deep.equal([]);
    const next = new ProbedConnection();
    expect(look(next), "the next one").to.deep.equal(["ping"]);
    next.answer("PONG");
  });

  it("watches nothing when it is switched off", () => {
    for (const watchdog of [false, { idleMs: 0 }] as const) {
      link.options = { watchdog };
      make();
      liveness.start(connection.asConnection);
      expect(connection.silenceListener).to.equal(null);
      expect(() => liveness.stop()).to.not.throw();
    }
  });

  it("watches after five seconds of silence, or after those that the options state", () => {
    const idleMsOf = (watchdog: unknown): number => {
      link.options = (watchdog === undefined ? {} : { watchdog }) as typeof link.options;
      make();
      return (liveness as unknown as { idleMs: number }).idleMs;
    };
    expect([undefined, {}, { idleMs: 7 }, { idleMs: 0 }, false].map(idleMsOf)).to.deep.equal([
      5000, 5000, 7, 0, 0,
    ]);
  });

  it("looks from when it is started until it is stopped, and again when it is woken", async () => {
    link.options = { watchdog: { idleMs: 25 } };
    make();
    isEmpty = true;
    liveness.start(connection.asConnection);
    await until(() => liveness.isAsleep);
    isEmpty = false;
    liveness.wake();
    await until(() => connection.asked.length > 0);
    liveness.stop();
    const { length } = connection.asked;
    await sleep(60);
    expect(connection.asked.length).to.equal(length);
    while (connection.asked.length > 0) connection.answer("PONG");
  });

  describe("before the first command after a silence", () => {
    const made = new CommandsOfTest();
    afterEach(() => made.failAll());

    /** Whether a PING precedes the command. */
    function isChecked(first?: Command): boolean {
      liveness.onSilence(10_000, first);
      const isSent = connection.asked.length > 0;
      while (connection.asked.length > 0) connection.answer("PONG");
      return isSent;
    }

    it("sends a PING, and the command behind its reply", () => {
      liveness.onSilence(10_000, made.make("get", "k"));
      expect([connection.asked.map(({ name }) => name), connection.wentOn]).to.deep.equal([["ping"], 0]);
      connection.answer("PONG");
      expect(connection.wentOn).to.equal(1);
      expect(isChecked(), "a batch of none").to.equal(true);
    });

    it("resets the link without a reply: the server can be reached, the connection is dead", async () => {
      liveness.onSilence(10_000, made.make("get", "k"));
      await until(() => told.length > 0);
      const [what, error] = told[0] ?? [];
      expect([what, error?.code]).to.deep.equal(["reset", "DEAD_CONNECTION"]);
      expect(error).to.include({ isReachable: true });
      connection.asked.shift()?.fail(new Error("the connection is closed"));
    });

    it("sends none where none can be written", () => {
      link.isWritable = false;
      expect(isChecked(made.make("get", "k"))).to.equal(false);
      link.isWritable = true;
      link.mode = "subscriber";
      expect(isChecked(made.make("get", "k"))).to.equal(false);
      link.mode = "normal";
      link.connection = null;
      expect(isChecked(made.make("get", "k"))).to.equal(false);
    });

    it("sends none inside a transaction, of which it would be a member", () => {
      const names = ["multi", "get", "exec", "discard"];
      const checked = (): boolean[] => names.map((name) => isChecked(made.make(name)));
      expect(checked(), "no transaction is open").to.deep.equal([true, true, false, false]);
      isInTransaction = true;
      expect(checked(), "MULTI has just opened it").to.deep.equal([true, false, false, false]);
    });

    it("checks a connection from when it is watched until that is over", () => {
      liveness.start(connection.asConnection);
      expect(connection.silenceListener).to.equal(liveness);
      expect(liveness.doubtAfterMs).to.equal(2000);
      liveness.stop();
      expect(connection.silenceListener).to.equal(null);
    });
  });

  describe("over a second connection", () => {
    const channel = tracingChannel<unknown, Record<string, unknown>>("sluice:connection");
    let server: FakeServer;
    let isMute: boolean;

    beforeEach(async () => {
      isMute = false;
      server = await FakeServer.start(([name]) => {
        if (isMute) return NO_REPLY;
        if (name === "info") return "# Server\r\nrun_id:abc\r\n";
        return name === "client" ? "id=6 addr=10.0.0.1:1 age=9 idle=0 flags=N qbuf=0 cmd=get\n" : undefined;
      });
      const { host: remoteAddress, port: remotePort } = server;
      connection.socket = { remoteAddress, remotePort } as object;
      Object.assign(connection, { clientId: 5, serverRunId: "abc" });
    });
    afterEach(() => server.stop());

    it("asks with the credentials of the client, counts it, and tells nobody who does not listen", async () => {
      credentials = async () => ({ username: "u", password: "p" });
      expect(await probe()).to.equal("dead");
      expect(server.received.map((words) => words.join(" "))).to.deep.include.members([
        "auth u p",
        "info server",
      ]);
      expect(counts.probes).to.equal(1);
      credentials = () => null as never;
      expect(await probe(), "without any").to.equal("dead");
    });

    it("tells those who listen to the channel of connections of it, with the verdict", async () => {
      const told: unknown[] = [];
      const note =
        (word: string) =>
        ({ operation, epoch, verdict }: Record<string, unknown>): void =>
          void told.push([word, operation, epoch, verdict]);
      const handlers = { start: note("start"), asyncEnd: note("end") };
      channel.subscribe(handlers as never);
      try {
        await probe();
      } finally {
        channel.unsubscribe(handlers as never);
      }
      expect(told).to.deep.equal([
        ["start", "probe", 0, undefined],
        ["end", "probe", 0, "dead"],
      ]);
    });

    it("waits for as long as the options say", async () => {
      isMute = true;
      link.options = { watchdog: { probeTimeoutMs: 20 } };
      expect(await probe()).to.not.equal("dead");
    });

    it("hangs up when the link needs it no more", async () => {
      isMute = true;
      link.options = { watchdog: { probeTimeoutMs: 60_000 } };
      void probe();
      await until(() => server.received.length > 0);
      liveness.stop();
      await until(() => server.openConnections === 0);
    });
  });
});
