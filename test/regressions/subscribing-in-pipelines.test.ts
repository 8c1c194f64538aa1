/**
 * A pipeline goes again after a loss only while nothing of it was answered. The confirmation of a
 * SUBSCRIBE in it is an answer.
 */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY, RawReply, status } from "../support/fake-server";

const HELLO = "%3\r\n$2\r\nid\r\n:7\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$5\r\nproto\r\n:3\r\n";
const CONFIRMED = ">3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n";

describe("a pipeline that subscribes", () => {
  let server: FakeServer;
  let redis: Redis;

  beforeEach(async () => {
    server = await FakeServer.start();
    redis = new Redis(server.port, server.host, {
      retryStrategy: () => 1,
      enableReadyCheck: false,
      disableClientInfo: true,
      lazyConnect: true,
    });
    redis.on("error", () => {});
  });

  afterEach(async () => {
    redis.disconnect();
    await server.stop();
  });

  it("is not sent again when its subscription was confirmed before the loss", async () => {
    let increments = 0;
    server.handler = ([word], { socket }) => {
      if (word === "hello") return new RawReply(HELLO);
      if (word === "subscribe") return new RawReply(CONFIRMED);
      if (word !== "incr") return status("OK");
      if (++increments > 1) return increments;
      setTimeout(() => socket.destroy(), 20);
      return NO_REPLY;
    };
    await redis.connect();
    const rows = (await redis.pipeline().subscribe("news").incr("visits").exec()) ?? [];
    expect([rows[0]?.[1], (rows[1]?.[0] as { code?: string } | null)?.code, increments]).to.deep.equal([
      1,
      "OUTCOME_UNKNOWN",
      1,
    ]);
  });
});
