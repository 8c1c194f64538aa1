/** A reply that is longer than others of its kind concerns the command that asked for it, and no other. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, RawReply } from "../support/fake-server";
import { closeClient } from "../support/matrix";
import { codeOf, failureOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

const LONG = 300_000;

describe("long replies", () => {
  const fixture = new ServerFixture().install();

  for (const protocol of [2, 3] as const) {
    it(`an error or a status of a script, protocol ${protocol}`, async () => {
      const redis = fixture.connect({ protocol });
      const text = `'x', ${LONG}`;
      const [, error, status, after] = await Promise.all([
        redis.set("long:a", 1),
        failureOf(redis.eval(`return redis.error_reply('ERR ' .. string.rep(${text}))`, 0)),
        redis.eval(`return redis.status_reply(string.rep(${text}))`, 0),
        redis.get("long:a"),
      ]);
      expect(error.message).to.equal(`ERR ${"x".repeat(LONG)}`);
      expect(status).to.equal("x".repeat(LONG));
      expect(after).to.equal("1");
      expect(fixture.proxy.counters.connections).to.equal(1);
    });
  }

  it("a DUMP of 600 MiB", async function () {
    this.timeout(60_000);
    const size = 600 * 1024 * 1024;
    const piece = Buffer.alloc(8 * 1024 * 1024);
    const fake = await FakeServer.start((words, { socket }) => {
      if (words[0] === "get") return "after";
      if (words[0] !== "dump") return undefined;
      socket.write(`$${size}\r\n`);
      for (let left = size; left > 0; left -= piece.length) socket.write(piece);
      return new RawReply("\r\n");
    });
    const redis = new Redis({ host: fake.host, port: fake.port, watchdog: false });
    redis.on("error", () => {});
    try {
      const dumped = codeOf(redis.dump("a"));
      const after = redis.get("b");
      expect(await dumped).to.equal("REPLY_TOO_LONG");
      expect(await after).to.equal("after");
      expect(fake.connectionCount).to.equal(1);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });
});
