/** When commands leave: client and server are to work at the same time, and a whole run is to take few writes. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { OptionError, Redis, type RedisOptions } from "../../src/index";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function compute(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

describe("flush policy", () => {
  let server: ServerProcess;
  let clients: Redis[] = [];
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  afterEach(async () => {
    await Promise.all(clients.map(closeClient));
    clients = [];
  });

  async function open(options: RedisOptions = {}): Promise<Redis> {
    const redis = new Redis({ port: server.port, host: server.host, ...options });
    clients.push(redis);
    await untilReady(redis);
    await redis.ping();
    return redis;
  }

  /** Writes of the client's socket from now on. */
  function countWrites(redis: Redis): () => number {
    const stream = redis.stream as NonNullable<Redis["stream"]>;
    const { write } = stream;
    let count = 0;
    stream.write = ((...args: unknown[]) => {
      count++;
      return Reflect.apply(write, stream, args);
    }) as typeof stream.write;
    return () => count;
  }

  it("a call is on its way before the caller's code goes on", async () => {
    const redis = await open();
    const writes = countWrites(redis);
    const reply = redis.echo("early");
    expect(writes()).to.equal(1);
    expect(await reply).to.equal("early");
  });

  it("a pipeline and a transaction are on their way as well, in one write each", async () => {
    const redis = await open();
    const writes = countWrites(redis);
    const replies = redis.pipeline().echo("a").echo("b").exec();
    expect(writes()).to.equal(1);
    await replies;
    const transaction = redis.multi().echo("a").echo("b").exec();
    expect(writes()).to.equal(2);
    await transaction;
    expect(writes()).to.equal(2);
  });

  it("commands of a long run leave while it goes on", async () => {
    const redis = await open();
    const writes = countWrites(redis);
    const replies: Promise<string>[] = [];
    for (let i = 0; i < 40; i++) {
      replies.push(redis.echo(String(i)));
      compute(0.5);
    }
    // Each write has as many as are in flight.
    expect(writes()).to.be.within(3, 12);
    expect(await Promise.all(replies)).to.deep.equal(replies.map((_, i) => String(i)));
  });

  it("a thousand commands of one run take few writes", async () => {
    const redis = await open();
    for (let round = 0; round < 20; round++) {
      const writes = countWrites(redis);
      const expected = Array.from({ length: 1000 }, (_, i) => `${round}:${i}`);
      expect(await Promise.all(expected.map((text) => redis.echo(text)))).to.deep.equal(expected);
      // Each has at least as many as are in flight.
      expect(writes()).to.be.at.most(20);
    }
  });

  it("callers that are answered together do not all wait for each other again", async () => {
    const redis = await open();
    const writes = countWrites(redis);
    await Promise.all(
      Array.from({ length: 20 }, async (_, caller) => {
        for (let i = 0; i < 10; i++) expect(await redis.echo(`${caller}:${i}`)).to.equal(`${caller}:${i}`);
      }),
    );
    expect(writes()).to.be.greaterThan(10);
  });

  it("every caller gets the own reply, whatever leaves early", async () => {
    const redis = await open();
    const outcomes = Array.from({ length: 50 }, async (_, caller) => {
      for (let i = 0; i < 40; i++) {
        if ((caller + i) % 7 === 0) await turn();
        if ((caller * i) % 31 === 0) compute(0.05);
        const text = `${caller}:${i}`;
        if (i % 5 > 0) expect(await redis.echo(text)).to.equal(text);
        else expect(await redis.pipeline().echo(text).exec()).to.deep.equal([[null, text]]);
      }
    });
    await Promise.all(outcomes);
  });

  it('with "turn", all of a run is one write at its end', async () => {
    const redis = await open({ flushPolicy: "turn" });
    const writes = countWrites(redis);
    const replies = Array.from({ length: 40 }, (_, i) => {
      compute(0.05);
      return redis.echo(String(i));
    });
    expect(writes()).to.equal(0);
    await Promise.all(replies);
    expect(writes()).to.equal(1);
  });

  it("refuses any other", () => {
    expect(() => new Redis({ lazyConnect: true, flushPolicy: "soon" as "turn" })).to.throw(
      OptionError,
      /flushPolicy/,
    );
  });
});
