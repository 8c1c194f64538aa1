/** RESP3 attributes are passed over; integers near 2^53 are exact. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, RawReply } from "../support/fake-server";
import { closeClient } from "../support/matrix";

it("an attribute in front of a reply, or inside it, does no harm", async () => {
  const fake = await FakeServer.start((words) => {
    if (words[0] === "hello") return new RawReply("%1\r\n$5\r\nproto\r\n:3\r\n");
    if (words[0] === "x") return new RawReply("|1\r\n+ttl\r\n:100\r\n+value\r\n");
    if (words[0] === "y") return new RawReply("*2\r\n|1\r\n+a\r\n*1\r\n:1\r\n:7\r\n:9007199254740991\r\n");
    return undefined;
  });
  const redis = new Redis({ port: fake.port, host: fake.host });
  expect(await redis.call("x")).to.equal("value");
  expect(await redis.call("y")).to.deep.equal([7, 9007199254740991]);
  await closeClient(redis);
  await fake.stop();
});
