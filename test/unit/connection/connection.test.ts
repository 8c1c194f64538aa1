/** A connection over a scripted stream: how it opens, whom it tells of replies, and how it ends. */

import { tracingChannel } from "node:diagnostics_channel";
import { Duplex } from "node:stream";
import { inspect } from "node:util";
import { expect } from "chai";
import type { Batch } from "../../../src/command/batch";
import type { Command } from "../../../src/command/command";
import type { Connection, ConnectionDeps, ConnectionOptions } from "../../../src/connection/connection";
import { ConnectionState } from "../../../src/connection/connection-state";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import type { FlushContext } from "../../../src/observability/work-channels";
import type { Reply } from "../../../src/protocol/resp-types";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Modules = typeof import("../../../src/connection/connection") &
  typeof import("../../../src/connection/subscriptions") &
  typeof import("../../../src/command/batch") &
  typeof import("../../../src/command/command") &
  typeof import("../../../src/command/command-table");

const DISCONNECT_TIMEOUT_MS = 1000;

/** Takes everything; it ends for writing when it is told to, and stays open for reading. */
class Peer extends Duplex {
  connecting = false;
  encrypted = false;
  written = "";

  constructor() {
    super({ autoDestroy: false });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk.toString("latin1");
    done();
  }
}

describe("Connection", () => {
  let home: InVirtualTime<Modules>;
  let connection: Connection;
  let peer: Peer;
  /** Events of its life, state changes and replies, in order. */
  let told: string[];
  let made: Command[];

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/connection/connection"),
      ...require("../../../src/connection/subscriptions"),
      ...require("../../../src/command/batch"),
      ...require("../../../src/command/command"),
      ...require("../../../src/command/command-table"),
    }));
  });

  beforeEach(() => {
    [told, made] = [[], []];
    peer = new Peer();
  });

  async function open(
    options: Partial<ConnectionOptions> = {},
    deps: Partial<ConnectionDeps> = {},
  ): Promise<void> {
    const { Connection: Made, Subscriptions } = home.modules;
    connection = new Made(
      {
        highWaterBytes: 1024,
        disconnectTimeout: DISCONNECT_TIMEOUT_MS,
        stringNumbers: false,
        socketTimeout: 0,
        flushPolicy: "adaptive",
        replyMapping: "legacy",
        ...options,
      },
      {
        subscriptions: new Subscriptions(),
        messages: null,
        replies: null,
        tracer: null,
        life: {
          onOpen: () => void told.push("open"),
          onConnectionError: ({ message }) => void told.push(`error: ${message}`),
          onClose: () => void told.push("closed"),
        },
        ...deps,
      },
    );
    connection.attach(peer);
    await home.pass(1);
    told.length = 0;
  }

  async function openReady(...how: Parameters<typeof open>): Promise<void> {
    await open(...how);
    connection.markReady();
  }

  function newCommand(name: string, ...args: string[]): Command {
    const { Command: Made, specOf } = home.modules;
    const command = new Made(specOf(name), args, false, {
      fulfil: (_command: unknown, value: Reply) => void told.push(`${name}: ${JSON.stringify(value)}`),
      reject: (_command: unknown, error: Error) => void told.push(`${name} failed: ${error.message}`),
    });
    made.push(command);
    return command;
  }

  function call(name: string, ...args: string[]): Command {
    const command = newCommand(name, ...args);
    connection.dispatch(command);
    return command;
  }

  async function receive(bytes: string): Promise<void> {
    await home.pass(1);
    peer.push(bytes);
    await home.pass(1);
  }

  /** The test is over; no timer may be left. */
  async function end(): Promise<void> {
    peer.destroy();
    await home.pass(1);
    for (const command of made) command.fail(new Error("the test is over"));
    await home.time.run(() => false, 0);
    expect(home.time.pending, "timers").to.equal(0);
  }

  function live(work: () => Promise<void>): Promise<void> {
    return home.live(async () => {
      await work();
      await end();
    });
  }

  it("opens when its socket has connected, with TLS when the server is known", () =>
    live(async () => {
      for (const [encrypted, event] of [
        [false, "connect"],
        [true, "secureConnect"],
      ] as const) {
        peer = new Peer();
        Object.assign(peer, { connecting: true, encrypted });
        await open();
        for (const other of ["connect", "secureConnect"]) {
          if (other !== event) peer.emit(other);
          expect([told, connection.state]).to.deep.equal([[], ConnectionState.Dialing]);
        }
        peer.emit(event);
        expect([told, connection.state]).to.deep.equal([["open"], ConnectionState.Handshaking]);
        peer.destroy();
        await home.pass(1);
      }
    }));

  it("measures its handshake, and tells when the last bytes arrived", () =>
    live(async () => {
      await open();
      expect(connection.lastArrivalMs, "none").to.equal(0);
      await home.pass(30);
      connection.markReady();
      expect(connection.handshakeMs).to.be.within(30, 32);
      expect([connection.isWritable, connection.readyAtMs]).to.deep.equal([true, home.time.nowMs]);
      call("ping");
      await home.pass(1);
      const sentAtMs = home.time.nowMs;
      await home.pass(20);
      await receive("+PONG\r\n");
      expect(connection.lastArrivalMs).to.be.within(sentAtMs + 20, sentAtMs + 22);
      expect(connection.bytesRead).to.equal(7);
    }));

  it("decodes replies as the options say", () =>
    live(async () => {
      const bytes = ":5\r\n%1\r\n+a\r\n#t\r\n";
      for (const [options, number, map] of [
        [{}, "5", '["a",1]'],
        [{ stringNumbers: true }, '"5"', '["a",1]'],
        [{ replyMapping: "resp3" }, "5", '{"a":true}'],
      ] as const) {
        peer = new Peer();
        await openReady(options);
        connection.setProtocol(3);
        expect(connection.shape).to.deep.equal({ protocol: 3, replyMapping: "legacy", ...pick(options) });
        call("incr", "n");
        call("debug", "map");
        await receive(bytes);
        expect(told).to.deep.equal([`incr: ${number}`, `debug: ${map}`]);
        connection.setProtocol(2);
        expect(connection.shape).to.deep.equal({ protocol: 2, replyMapping: "legacy" });
        peer.destroy();
        await home.pass(1);
      }
    }));

  function pick(options: Partial<ConnectionOptions>): object {
    return options.replyMapping === undefined ? {} : { replyMapping: options.replyMapping };
  }

  it("decodes replies alike while it has subscriptions, with RESP3", () =>
    live(async () => {
      const { Subscriptions } = home.modules;
      const subscriptions = new Subscriptions();
      subscriptions.add(SubscriptionKind.Channel, Buffer.from("news"));
      await openReady({ stringNumbers: true }, { subscriptions });
      connection.setProtocol(3);
      call("incr", "n");
      await receive(":5\r\n");
      expect(told).to.deep.equal(['incr: "5"']);
    }));

  it("fails a command with its error reply, unless somebody has taken the command over", () =>
    live(async () => {
      const judged: string[] = [];
      for (const isTaken of [true, false, null]) {
        peer = new Peer();
        const judge = (command: Command, { message }: Error): boolean => {
          judged.push(`${command.name} ${message}`);
          return isTaken === true;
        };
        await openReady({}, { replies: isTaken === null ? null : { judge, follow() {} } });
        call("get", "k");
        await receive("-ERR no\r\n");
        expect(told, `${isTaken}`).to.deep.equal(isTaken ? [] : ["get failed: ERR no"]);
        peer.destroy();
        await home.pass(1);
      }
      expect(judged).to.deep.equal(["get ERR no", "get ERR no"]);
    }));

  it("tells of replies that change its state before their callers learn of them", () =>
    live(async () => {
      const follow = ({ name }: Command, reply: Reply): void => void told.push(`follows ${name} ${reply}`);
      await openReady({}, { replies: { judge: () => false, follow } });
      call("get", "k");
      call("select", "1");
      await receive("+v\r\n+OK\r\n");
      expect(told).to.deep.equal(['get: "v"', "follows select OK", 'select: "OK"']);
    }));

  it("closes when the server closes its side", () =>
    live(async () => {
      await openReady();
      peer.push(null);
      await home.pass(1);
      expect([told, connection.state]).to.deep.equal([["closed"], ConnectionState.Closed]);
    }));

  it("reports why it is closed once, and before that it is", () =>
    live(async () => {
      await openReady();
      peer.on("error", () => {});
      connection.destroy(new Error("dead"));
      await home.pass(1);
      connection.destroy(new Error("dead again"));
      peer.emit("error", new Error("late"));
      expect(told).to.deep.equal(["error: dead", "closed"]);
      await open();
      peer.on("error", () => {});
      peer.emit("error", new Error("ECONNRESET"));
      peer.destroy();
      await home.pass(1);
    }));

  it("reports the error of its socket", () =>
    live(async () => {
      await openReady();
      peer.destroy(new Error("ECONNRESET"));
      await home.pass(1);
      expect(told).to.deep.equal(["error: ECONNRESET", "closed"]);
    }));

  for (const [name, close] of [
    ["end", (): void => connection.end()],
    ["writeAllAndEnd", (): void => connection.writeAllAndEnd()],
  ] as const) {
    it(`waits for replies behind \`${name}\`, for the time of the option at most`, () =>
      live(async () => {
        await openReady();
        call("get", "a");
        await home.pass(1);
        call("get", "b");
        close();
        close();
        expect([connection.state, connection.isWritable]).to.deep.equal([ConnectionState.Draining, false]);
        expect(peer.writableEnded).to.equal(true);
        await receive("+1\r\n");
        expect(told).to.deep.equal(['get: "1"']);
        await home.pass(DISCONNECT_TIMEOUT_MS / 2);
        expect(peer.destroyed).to.equal(false);
        await home.pass(DISCONNECT_TIMEOUT_MS);
        expect([told.at(-1), peer.destroyed]).to.deep.equal(["closed", true]);
        expect(peer.written.includes("$1\r\nb"), "issued before").to.equal(name === "writeAllAndEnd");
      }));
  }

  it("leaves no timer when the server closes in time", () =>
    live(async () => {
      await openReady();
      connection.end();
      peer.push(null);
      await home.pass(1);
      expect(told).to.deep.equal(["closed"]);
    }));

  it("gives up a socket that is still connecting", () =>
    live(async () => {
      peer.connecting = true;
      await open();
      connection.end();
      await home.pass(1);
      expect([told, peer.destroyed]).to.deep.equal([["closed"], true]);
    }));

  it("shows no bytes and no credentials of its socket", () =>
    live(async () => {
      await openReady();
      Object.assign(peer, { password: "secret" });
      expect(inspect(peer, { depth: 5 })).to.not.contain("secret");
    }));

  it("names the hold of an automatic batch as the cause of its write", () =>
    live(async () => {
      const causes: unknown[] = [];
      const nothing = (): void => {};
      const handlers = {
        start: (context: object) => void causes.push((context as FlushContext).cause),
        ...{ end: nothing, asyncStart: nothing, asyncEnd: nothing, error: nothing },
      };
      const flushes = tracingChannel<unknown, FlushContext>("sluice:flush");
      flushes.subscribe(handlers);
      try {
        await openReady();
        const { Batch: Made, BatchKind } = home.modules;
        for (const isHeld of [true, false]) {
          const batch: Batch = new Made(BatchKind.Automatic, 0, null);
          batch.isHeld = isHeld;
          const commands = ["a", "b"].map((key) => newCommand("get", key));
          for (const command of commands) batch.add(command);
          connection.dispatchBatch(commands);
          await home.pass(1);
          await receive("+1\r\n+2\r\n");
        }
      } finally {
        flushes.unsubscribe(handlers);
      }
      expect(causes[0]).to.equal("window");
      expect(causes[1]).to.not.equal("window");
    }));

  it("notes that a batch is answered in part with its first reply, also an error", () =>
    live(async () => {
      for (const reply of ["+1\r\n", "-ERR no\r\n"]) {
        peer = new Peer();
        await openReady();
        const { Batch: Made, BatchKind } = home.modules;
        const batch: Batch = new Made(BatchKind.Pipeline, 0, null);
        const commands = ["a", "b"].map((key) => newCommand("get", key));
        for (const command of commands) batch.add(command);
        connection.dispatchBatch(commands);
        expect(batch.isAnswered).to.equal(false);
        await receive(reply);
        expect(batch.isAnswered, reply).to.equal(true);
        await receive("+2\r\n");
        peer.destroy();
        await home.pass(1);
      }
    }));
});
