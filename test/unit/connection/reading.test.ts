/** What a connection makes of received bytes: the type of a reply, and how long it reads in one turn. */

import { Duplex } from "node:stream";
import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import type { Connection } from "../../../src/connection/connection";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { MessagePart } from "../../../src/protocol/message";
import type { Reply } from "../../../src/protocol/resp-types";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Modules = typeof import("../../../src/connection/connection") &
  typeof import("../../../src/connection/subscriptions") &
  typeof import("../../../src/command/command") &
  typeof import("../../../src/command/command-table");

/** Takes everything, and counts how often reading was resumed. */
class Peer extends Duplex {
  resumed = 0;
  written = "";

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk.toString("latin1");
    done();
  }

  override resume(): this {
    this.resumed++;
    return super.resume();
  }
}

describe("a connection that reads", () => {
  let home: InVirtualTime<Modules>;
  let connection: Connection;
  let peer: Peer;
  let replies: Reply[];
  let lines: string[];
  /** Messages, and the kinds of other pushes. */
  let pushes: string[];
  let errors: Error[];
  let closed: number;
  /** The server has accepted the connection. */
  let isAccepted: boolean;

  before(() => {
    home = inVirtualTime(() => {
      const connections = require("../../../src/connection/connection") as Modules;
      connections.socketTimeouts.get();
      return {
        ...connections,
        ...require("../../../src/connection/subscriptions"),
        ...require("../../../src/command/command"),
        ...require("../../../src/command/command-table"),
      };
    });
  });

  beforeEach(() => {
    isAccepted = true;
  });

  async function open(channels: string[] = [], socket = new Peer()): Promise<void> {
    const { Connection: Made, Subscriptions } = home.modules;
    const subscriptions = new Subscriptions();
    for (const channel of channels) subscriptions.add(SubscriptionKind.Channel, Buffer.from(channel));
    peer = socket;
    closed = 0;
    [replies, lines, pushes, errors] = [[], [], [], []];
    connection = new Made(
      {
        highWaterBytes: 1024,
        disconnectTimeout: 1000,
        stringNumbers: false,
        socketTimeout: 0,
        flushPolicy: "adaptive",
        replyMapping: "legacy",
      },
      {
        subscriptions,
        messages: {
          onMessage: (message) =>
            void pushes.push(`${message.text(MessagePart.Channel)}: ${message.text(MessagePart.Payload)}`),
          onShardLost() {},
          onOtherPush: (kind) => void pushes.push(kind),
          onMonitorLine: (line) => void lines.push(line),
        },
        replies: null,
        tracer: null,
        life: {
          onOpen: () => isAccepted && connection.markReady(),
          onConnectionError: (error) => void errors.push(error),
          onClose: () => closed++,
        },
      },
    );
    connection.attach(peer);
    await home.pass(1);
  }

  function newCommand(name: string, wantsBuffers = false): Command {
    const { Command, specOf } = home.modules;
    const completion = {
      fulfil: (_command: unknown, value: Reply) => void replies.push(value),
      reject: (_command: unknown, error: Error) => expect.fail(error.message),
    };
    return new Command(specOf(name), [], wantsBuffers, completion);
  }

  function call(name: string, wantsBuffers: boolean): void {
    connection.dispatch(newCommand(name, wantsBuffers));
  }

  /** A read of the socket; returns whether the socket may continue. */
  function read(bytes: string, fillsBuffer: boolean): boolean {
    const { buffer, callback } = connection.onread;
    const room = buffer();
    const size = fillsBuffer ? room.length : bytes.length;
    // Pushes that nobody listens to.
    const filler = `>1\r\n$${size}\r\n`;
    Buffer.from(room.buffer, room.byteOffset, room.length).write(fillsBuffer ? filler : bytes, "latin1");
    return callback(size);
  }

  const ended = (): Promise<void> => {
    peer.destroy();
    return home.pass(1);
  };

  it("gives each call the type that it asked for, while RESP2 subscriptions make every reply ambiguous", () =>
    home.live(async () => {
      await open(["news"]);
      call("ping", false);
      call("ping", true);
      await home.pass(1);
      const pong = "*2\r\n$4\r\npong\r\n$0\r\n\r\n";
      peer.push(pong + pong);
      await home.pass(1);
      expect(replies).to.deep.equal([
        ["pong", ""],
        [Buffer.from("pong"), Buffer.from("")],
      ]);
      await ended();
    }));

  it("closes when bytes violate the protocol, whichever way they are read", () =>
    home.live(async () => {
      const malformed = "*2\r\n$7\r\nmessage\r\n$4\r\nnews\r\n";
      const ways = [(): unknown => read(malformed, false), (): unknown => peer.push(malformed)];
      for (const receive of ways) {
        await open(["news"]);
        receive();
        await home.pass(1);
        expect([connection.protocolError?.name, peer.destroyed]).to.deep.equal(["ParserError", true]);
      }
    }));

  it("pauses after 5 ms of reads that fill the buffer, and continues in the next turn", () =>
    home.live(async () => {
      await open();
      expect(read("", true)).to.equal(true);
      await home.pass(4);
      expect(read("", true), "4 ms").to.equal(true);
      await home.pass(1);
      const before = peer.resumed;
      expect(read("", true), "5 ms").to.equal(false);
      await home.pass(1);
      expect(peer.resumed).to.equal(before + 1);
      expect(read("", true), "the next burst").to.equal(true);
      await ended();
    }));

  it("counts a burst from its first full read: others end it", () =>
    home.live(async () => {
      await open();
      expect(read("", true)).to.equal(true);
      await home.pass(4);
      expect(read("x", false)).to.equal(true);
      await home.pass(4);
      expect(read("", true), "the first of a burst").to.equal(true);
      await home.pass(4);
      expect(read("", true), "4 ms").to.equal(true);
      await ended();
    }));

  it("takes an unrequested error for a refusal until it is ready, and for a fault from then on", () =>
    home.live(async () => {
      for (isAccepted of [false, true]) {
        await open();
        peer.push("-ERR max number of clients reached\r\n");
        await home.pass(1);
        const [error] = errors;
        expect([errors.length, peer.destroyed]).to.deep.equal([1, true]);
        expect(error?.name).to.equal(isAccepted ? "UnexpectedReplyError" : "ReplyError");
        expect(connection.protocolError).to.equal(isAccepted ? error : null);
      }
    }));

  it("closes at a reply to no command, unless it monitors", () =>
    home.live(async () => {
      for (const [bytes, what] of [
        ["+OK\r\n", '"OK"'],
        ["*1\r\n+a\r\n", "an array"],
      ] as const) {
        await open();
        peer.push(bytes);
        await home.pass(1);
        expect([connection.protocolError?.name, peer.destroyed]).to.deep.equal([
          "UnexpectedReplyError",
          true,
        ]);
        expect(connection.protocolError?.message).to.contain(what);
      }
      await open();
      connection.isMonitoring = true;
      peer.push("+line\r\n");
      await home.pass(1);
      expect([lines, peer.destroyed]).to.deep.equal([["line"], false]);
      await ended();
    }));

  it("writes the issued commands when the user ends the stream, unless the server has ended it", () =>
    home.live(async () => {
      for (const hasEnded of [false, true]) {
        await open();
        if (hasEnded) Object.defineProperty(peer, "readableEnded", { value: true });
        call("ping", false);
        peer.end();
        expect(peer.written.includes("ping"), `ended: ${hasEnded}`).to.equal(!hasEnded);
        const { sent, unsent } = connection.queue.takeAll();
        for (const command of [...sent, ...unsent]) command.fulfil("", connection.shape);
        await ended();
      }
    }));

  it("tells of a silence before the first command after it, and only if nothing is in flight", () =>
    home.live(async () => {
      await open();
      const silences: number[] = [];
      let first: Command | undefined;
      const onSilence = (ms: number, command?: Command): void => {
        silences.push(ms);
        first = command;
      };
      connection.silenceListener = { doubtAfterMs: 100, isAsleep: false, wake() {}, onSilence };
      await home.pass(50);
      call("ping", false);
      await home.pass(200);
      call("ping", false);
      expect(silences, "a reply is due").to.deep.equal([]);
      await home.pass(1);
      peer.push("+PONG\r\n+PONG\r\n");
      await home.pass(200);
      call("ping", false);
      call("ping", false);
      expect(silences).to.have.length(1);
      expect(silences[0]).to.be.within(199, 201);
      expect(first?.spec.lowerName).to.equal("ping");
      await home.pass(1);
      peer.push("+PONG\r\n+PONG\r\n");
      await home.pass(200);
      const batch = [newCommand("time"), newCommand("ping")];
      connection.dispatchBatch(batch);
      expect([silences.length, first], "of a batch").to.deep.equal([2, batch[0]]);
      await home.pass(1);
      peer.push("*0\r\n+PONG\r\n");
      await home.pass(1);
      await ended();
    }));

  it("is closed from the beginning on a socket that its connector has lost", () =>
    home.live(async () => {
      const lost = new Peer();
      lost.on("error", () => {});
      lost.destroy(new Error("cut"));
      await home.pass(1);
      await open([], lost);
      expect([closed, errors.map(({ message }) => message)]).to.deep.equal([1, ["cut"]]);
    }));

  it("hands on messages and other pushes, with RESP2 and RESP3", () =>
    home.live(async () => {
      const message = "3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\nhi\r\n";
      await open(["news"]);
      peer.push(`*${message}`);
      await home.pass(1);
      expect(pushes).to.deep.equal(["news: hi"]);
      await ended();
      await open(["news"]);
      connection.setProtocol(3);
      peer.push(`>${message}>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n`);
      await home.pass(1);
      expect(pushes).to.deep.equal(["news: hi", "invalidate"]);
      await ended();
    }));

  it("writes a command ahead of others, which follow when they may", () =>
    home.live(async () => {
      await open();
      connection.sendAhead(newCommand("time"));
      call("ping", false);
      await home.pass(1);
      expect([peer.written.includes("time"), peer.written.includes("ping")]).to.deep.equal([true, false]);
      connection.goOn();
      await home.pass(1);
      expect(peer.written).to.contain("ping");
      peer.push("*0\r\n+PONG\r\n");
      await home.pass(1);
      expect(replies).to.deep.equal([[], "PONG"]);
      await ended();
    }));

  it("limits a silence that has begun when the limit is set, and none while no reply is due", () =>
    home.live(async () => {
      for (const isDue of [false, true]) {
        await open();
        peer.on("error", () => {});
        if (isDue) call("ping", false);
        await home.pass(1);
        connection.limitSilence(500);
        await home.pass(3000);
        const names = errors.map((error) => error.constructor.name);
        expect(names).to.deep.equal(isDue ? ["SocketTimeoutError"] : []);
        const { sent } = connection.queue.takeAll();
        for (const command of sent) command.fulfil("", connection.shape);
        await ended();
      }
    }));
});
