/**
 * Large values whose memory is used again: many of them at once, over a line that is cut, through
 * streams that hold on to what they were given, beside failures and replaced `sendCommand`. Each
 * key has its own value in the end, and whoever was shown a command sees what it was sent with.
 */

import { createHash } from "node:crypto";
import { expect } from "chai";
import { type Command, Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";

const KEYS = 60;

/** A value that tells its number, of a size of its own; the memory is the caller's again at once. */
const scratch = Buffer.alloc(400_000);
function fill(number: number): Buffer {
  const value = scratch.subarray(0, 60_000 + ((number * 7919) % 340_000));
  value.fill(`<${number}>`);
  return value;
}
const digest = (bytes: Buffer | null): string =>
  createHash("sha1")
    .update(bytes ?? "")
    .digest("hex");

async function expectAll(client: Pick<Redis, "getBuffer">, count: number, from = 0): Promise<void> {
  for (let i = from; i < count; i++) {
    expect(digest(await client.getBuffer(`large:${i}`)), `large:${i}`).to.equal(digest(fill(i)));
  }
}

describe("large values", () => {
  const fixture = new ServerFixture().install();

  it("many at once, one after another, and gathered", async () => {
    for (const options of [{}, { enableAutoPipelining: true }]) {
      const redis = fixture.connect(options);
      for (let round = 0; round < 4; round++) {
        const sets = Array.from({ length: KEYS }, (_, i) => redis.set(`large:${i}`, fill(i)));
        await Promise.all(sets);
        for (let i = 0; i < 5; i++) await redis.set(`large:${i}`, fill(i));
      }
      await expectAll(redis, KEYS);
    }
  });

  it("over a line that is cut again and again", async () => {
    const direct = fixture.connect();
    const { host = "", port = 0 } = direct.options;
    const proxy = await FaultProxy.start({ host, port });
    const redis = new Redis({
      host: proxy.host,
      port: proxy.port,
      retryStrategy: () => 1,
      maxRetriesPerRequest: null,
    });
    redis.on("error", () => {});
    try {
      await untilReady(redis);
      let isOver = false;
      const cutting = (async () => {
        for (let i = 0; i < 15 && !isOver; i++) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          proxy.cutAll("reset");
        }
      })();
      for (let from = 0; from < KEYS; from += 10) {
        const part = Array.from({ length: 10 }, (_, i) => redis.set(`large:${from + i}`, fill(from + i)));
        await Promise.all(part.map((set) => set.catch(() => null)));
      }
      isOver = true;
      await cutting;
      for (let i = 0; i < KEYS; i++) {
        const stored = await direct.getBuffer(`large:${i}`);
        if (stored !== null) expect(digest(stored), `large:${i}`).to.equal(digest(fill(i)));
      }
    } finally {
      await closeClient(redis);
      await proxy.stop();
    }
  });

  it("members of a transaction by hand, and neighbours that fail", async () => {
    const redis = fixture.connect();
    await redis.set("text", "v");
    redis.multi({ pipeline: false }).catch(() => {});
    const members = Array.from({ length: 5 }, (_, i) => redis.set(`large:${i}`, fill(i)));
    const refused = redis.lpush("text", fill(99));
    await Promise.all([...members, refused]);
    const rows = await redis.exec();
    expect(rows?.slice(0, 5)).to.deep.equal(members.map(() => [null, "OK"]));
    const error = await redis.lpush("text", fill(98)).catch((reason) => reason);
    await Promise.all(Array.from({ length: 10 }, (_, i) => redis.set(`other:${i}`, fill(i))));
    expect(digest(error.command.args[1])).to.equal(digest(fill(98)));
    await expectAll(redis, 5);
  });

  it("a replaced sendCommand may keep the commands", async () => {
    const redis = fixture.connect();
    const shown: Command[] = [];
    const send = redis.sendCommand;
    redis.sendCommand = function (this: Redis, command: Command) {
      shown.push(command);
      return send.call(this, command);
    } as typeof send;
    for (let i = 0; i < 10; i++) await redis.set(`large:${i}`, fill(i));
    for (const [i, command] of shown.entries()) {
      expect(digest(command.args[1] as Buffer), `command ${i}`).to.equal(digest(fill(i)));
    }
  });
});

describe("large values: cluster", () => {
  const fixture = new ClusterFixture();
  fixture.install();

  it("stand while slots move", async () => {
    const { cluster } = fixture;
    const client = fixture.connect({ scaleReads: "master" });
    await untilClusterReady(client);
    const [home, other] = await cluster.masters();
    if (home === undefined || other === undefined) throw new Error("There are three masters");
    const sets = (): Promise<unknown> =>
      Promise.all(Array.from({ length: KEYS }, (_, i) => client.set(`large:${i}`, fill(i))));
    for (const target of [home, other]) {
      const moving = cluster.moveSlot(5000, target);
      await sets();
      await moving;
      await sets();
    }
    for (let i = 0; i < KEYS; i++) {
      expect(digest(await client.getBuffer(`large:${i}`)), `large:${i}`).to.equal(digest(fill(i)));
    }
  });
});
