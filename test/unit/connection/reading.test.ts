/** What a connection makes of received bytes: the type of a reply, and how long it reads in one turn. */

import { Duplex } from "node:stream";
import { expect } from "chai";
import type { Connection } from "../../../src/connection/connection";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import type { Reply } from "../../../src/protocol/resp-types";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Modules = typeof import("../../../src/connection/connection") &
  typeof import("../../../src/connection/subscriptions") &
  typeof import("../../../src/command/command") &
  typeof import("../../../src/command/command-table");

/** Takes everything, and counts how often reading was resumed. */
class Peer extends Duplex {
  resumed = 0;

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
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

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/connection/connection"),
      ...require("../../../src/connection/subscriptions"),
      ...require("../../../src/command/command"),
      ...require("../../../src/command/command-table"),
    }));
  });

  async function open(channels: string[] = []): Promise<void> {
    const { Connection: Made, Subscriptions } = home.modules;
    const subscriptions = new Subscriptions();
    for (const channel of channels) subscriptions.add(SubscriptionKind.Channel, Buffer.from(channel));
    peer = new Peer();
    replies = [];
    connection = new Made(
      {
        highWaterBytes: 1024,
        disconnectTimeoutMs: 1000,
        stringNumbers: false,
        socketTimeoutMs: 0,
        flushPolicy: "adaptive",
        replyMapping: "legacy",
      },
      {
        subscriptions,
        messages: null,
        errorReplies: null,
        stateReplies: null,
        tracer: null,
        life: { onOpen: () => connection.markReady(), onClose() {} },
      },
    );
    connection.attach(peer);
    await home.pass(1);
  }

  function call(name: string, wantsBuffers: boolean): void {
    const { Command, specOf } = home.modules;
    const completion = {
      promise: null,
      fulfil: (_command: unknown, value: Reply) => void replies.push(value),
      reject: (_command: unknown, error: Error) => expect.fail(error.message),
    };
    connection.dispatch(new Command(specOf(name), [], wantsBuffers, completion));
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
});
