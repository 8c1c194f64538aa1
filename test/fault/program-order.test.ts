/**
 * Guarantee 3: commands reach the server in the order in which they were issued, whether single,
 * pipelined, automatic or transactional; SELECT, MULTI and WATCH neither overtake nor are overtaken.
 */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, status } from "../support/fake-server";
import { closeClient, matrix, untilReady } from "../support/matrix";

describe("program order", () => {
  for (const enableAutoPipelining of [false, true, { maxInFlight: 4 }]) {
    it(`is the order on the wire, auto-pipelining ${JSON.stringify(enableAutoPipelining)}`, async () => {
      const fake = await FakeServer.start((words) => {
        if (words[0] === "multi" || words[0] === "watch" || words[0] === "mark") return status("OK");
        if (words[0] === "exec") return [];
        return undefined;
      });
      const redis = new Redis({ host: fake.host, port: fake.port, enableAutoPipelining });
      try {
        await untilReady(redis);
        fake.received.length = 0;
        const expected: string[] = [];
        const calls: Promise<unknown>[] = [];
        const mark = (word: string): void => {
          expected.push(`mark ${word}`);
          calls.push(redis.call("mark", word));
        };
        for (let round = 0; round < 40; round++) {
          mark(`a${round}`);
          if (round % 4 === 0) {
            expected.push("multi", `mark t${round}`, "exec");
            const transaction = redis.multi();
            transaction.call("mark", `t${round}`);
            calls.push(transaction.exec() as Promise<unknown>);
          }
          if (round % 3 === 0) {
            expected.push(`select ${round % 2}`);
            calls.push(redis.select(round % 2));
          }
          mark(`b${round}`);
          if (round % 5 === 0) {
            expected.push(`mark p${round}`, `mark q${round}`);
            const pipeline = redis.pipeline();
            pipeline.call("mark", `p${round}`);
            pipeline.call("mark", `q${round}`);
            calls.push(pipeline.exec() as Promise<unknown>);
          }
          if (round % 7 === 0) {
            expected.push(`watch w${round}`);
            calls.push(redis.watch(`w${round}`));
          }
          if (round % 10 === 9) await new Promise((resolve) => setImmediate(resolve));
        }
        await Promise.allSettled(calls);
        expect(fake.received.map((words) => words.join(" "))).to.deep.equal(expected);
      } finally {
        await closeClient(redis);
        await fake.stop();
      }
    });
  }

  matrix("commands queued while offline keep their database and order", {}, async ({ connect }) => {
    const redis = connect({ lazyConnect: true });
    const calls = [
      redis.set("order", "zero"),
      redis.select(1),
      redis.set("order", "one"),
      redis.select(2),
      redis.set("order", "two"),
      redis.get("order"),
      redis.select(0),
      redis.get("order"),
    ];
    const values = await Promise.all(calls);
    expect(values[5]).to.equal("two");
    expect(values[7]).to.equal("zero");
  });
});
