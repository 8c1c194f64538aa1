/** An invalidation message that names no keys is a fault of the protocol: no caller sees an internal error by it. */

import { expect } from "chai";
import { type ParserError, Redis } from "../../src/index";
import { FakeServer, RawReply } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";

const ODD = {
  "a list with null": "*1\r\n_\r\n",
  "a list in a list": "*1\r\n*1\r\n$1\r\na\r\n",
  "a list with a number": "*2\r\n$1\r\na\r\n:7\r\n",
  "a number": ":7\r\n",
};

for (const [name, keys] of Object.entries(ODD)) {
  it(`${name} in the place of keys ends the connection, and its calls fail with PROTOCOL`, async () => {
    let gets = 0;
    const fake = await FakeServer.start((words) => {
      if (words[0] === "hello") return new RawReply("%1\r\n$5\r\nproto\r\n:3\r\n");
      if (words[0] !== "get") return undefined;
      return new RawReply(`${gets++ === 0 ? `>2\r\n+invalidate\r\n${keys}` : ""}$5\r\nvalue\r\n`);
    });
    const redis = new Redis({ port: fake.port, host: fake.host, cache: true });
    const errors: Error[] = [];
    redis.on("error", (error) => errors.push(error));
    await untilReady(redis);
    errors.push(
      await redis.get("a").then(
        () => new Error("answered"),
        (error: Error) => error,
      ),
    );
    expect(errors.map((error) => (error as ParserError).code)).to.deep.equal(["PROTOCOL", "PROTOCOL"]);
    expect(await redis.get("a")).to.equal("value");
    await closeClient(redis);
    await fake.stop();
  });
}
