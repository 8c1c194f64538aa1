/** Commands of one client leave in their order, whatever its neighbours in the process are doing. */

import type { Duplex } from "node:stream";
import { expect } from "chai";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { ManyClients } from "../support/many-clients";
import { untilReady } from "../support/matrix";
import { randomSource } from "../support/random";

const ROUNDS = 300;

/**
 * The places of the streams in the order of those writes that hold the text. The server may read its
 * sockets in any order, and a client writes on its own account too (its refreshes, its probes).
 */
function record(streams: readonly (Duplex | null)[], text = ""): number[] {
  const written: number[] = [];
  for (const [place, stream] of streams.entries()) {
    if (stream === null) continue;
    const { write } = stream;
    stream.write = ((...args: unknown[]) => {
      if (String(args[0]).includes(text)) written.push(place);
      return Reflect.apply(write, stream, args);
    }) as Duplex["write"];
  }
  return written;
}

describe("order between the clients of a process", () => {
  const shared = new ManyClients().install();

  async function open(options: RedisOptions = {}): Promise<Redis> {
    const redis = shared.open(options);
    await untilReady(redis);
    return redis;
  }

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it("a message does not overtake the pipeline that it tells of", async () => {
    const [writer, publisher] = [await open(), await open()];
    const written = record([writer.stream, publisher.stream]);
    for (let round = 0; round < ROUNDS; round++) {
      const under = Array.from({ length: 20 }, () => writer.get("x"));
      await turn();
      written.length = 0;
      const outcomes = [writer.pipeline().set("key", round).exec(), publisher.publish("news", "written")];
      await Promise.all([...outcomes, ...under]);
      expect(written).to.deep.equal([0, 1]);
    }
  });

  for (const flushPolicy of ["adaptive", "turn"] as const) {
    it(`socket writes follow the order of the first calls, in any state (${flushPolicy})`, () =>
      firstWrites(flushPolicy));
  }

  async function firstWrites(flushPolicy: "adaptive" | "turn"): Promise<void> {
    const all: Redis[] = [];
    for (let i = 0; i < 4; i++) all.push(await open({ flushPolicy }));
    const random = randomSource(11);
    const written = record(all.map((redis) => redis.stream));
    for (let round = 0; round < ROUNDS; round++) {
      const outcomes: Promise<unknown>[] = [];
      // Some are busy, some are not.
      for (const redis of all) if (random() < 0.5) outcomes.push(redis.get("x"));
      await turn();
      written.length = 0;
      const first: number[] = [];
      for (let call = 0; call < 8; call++) {
        const i = Math.floor(random() * all.length);
        if (!first.includes(i)) first.push(i);
        const redis = all[i] as Redis;
        outcomes.push(random() < 0.5 ? redis.get("x") : redis.pipeline().get("x").get("x").exec());
      }
      await turn();
      await turn();
      // A client may write more than once, its first command never before the first one of an earlier client.
      expect([...new Set(written)]).to.deep.equal(first);
      if (flushPolicy === "turn") expect(written).to.have.length(first.length);
      await Promise.all(outcomes);
    }
  }

  it("a huge batch that is flushed early does not overtake either", async () => {
    const [small, large] = [await open(), await open()];
    const written = record([small.stream, large.stream]);
    const under = small.get("x");
    await turn();
    written.length = 0;
    const outcomes: Promise<unknown>[] = [under, small.set("key", "before")];
    for (let i = 0; i < 10_000; i++) outcomes.push(large.get("key"));
    await Promise.all(outcomes);
    expect(written.slice(0, 2)).to.deep.equal([0, 1]);
  });

  it("what a client writes as it closes comes behind what others were told before", async () => {
    const [other, closing] = [await open(), await open()];
    const written = record([other.stream, closing.stream]);
    const under = other.get("x");
    await turn();
    written.length = 0;
    const outcomes = [under, other.set("key", "closing"), closing.get("key")];
    closing.disconnect();
    await Promise.all(outcomes);
    expect(written).to.deep.equal([0, 1]);
  });

  describe("of a cluster", () => {
    const fixture = new ClusterFixture().install();

    it("a busy node is not overtaken by an idle client of another one", async () => {
      const [busy, idle] = [fixture.connect(), fixture.connect()];
      await untilClusterReady(busy);
      await untilClusterReady(idle);
      await Promise.all([busy.get("key"), idle.get("key")]);
      const streams = [busy, idle].map((cluster) => cluster.nodes().map((node) => node.stream));
      const written = record(streams.flat(), "key");
      for (let round = 0; round < ROUNDS; round++) {
        const under = busy.get("key");
        await turn();
        written.length = 0;
        await Promise.all([busy.set("key", round), idle.get("key"), under]);
        const owners = written.map((place) => (place < (streams[0]?.length ?? 0) ? "busy" : "idle"));
        expect(owners).to.deep.equal(["busy", "idle"]);
      }
    });
  });
});
