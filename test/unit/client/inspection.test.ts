import { inspect } from "node:util";
import { expect } from "chai";
import { LegacyCommand } from "../../../src/client/legacy-command";
import { Redis } from "../../../src/client/redis";

const SECRETS = /geheim/;

function shown(value: unknown): string {
  return inspect(value, { depth: 20 });
}

describe("util.inspect", () => {
  let redis: Redis;

  beforeEach(() => {
    redis = new Redis("redis://user:geheim@localhost", {
      lazyConnect: true,
      sentinelPassword: "geheim",
      tls: { passphrase: "geheim", servername: "visible" },
    });
  });

  afterEach(() => redis.disconnect());

  it("shows a client by its server, how it is doing and nothing else", () => {
    const queues = "{ offline: 0, gathered: 0, unsent: 0, inFlight: 0, socketBytes: 0 }";
    expect(shown(redis).replace(/\s+/g, " ")).to.equal(
      `Redis { server: 'localhost:6379', status: 'wait', version: null, queues: ${queues} }`,
    );
  });

  it("shows a client and its parts without secrets", () => {
    expect(shown(redis.options)).to.match(/visible/);
    for (const value of [redis, redis.options, redis.connector, { nested: [redis] }, redis.duplicate()]) {
      expect(shown(value)).to.not.match(SECRETS);
    }
  });

  it("a client is its status and its server in JSON", () => {
    expect(JSON.parse(JSON.stringify(redis))).to.deep.equal({ status: "wait", server: "localhost:6379" });
  });

  it("shows commands without credentials", () => {
    const pipeline = redis.pipeline().auth("geheim").set("k", "visible");
    expect(shown(pipeline))
      .to.match(/visible/)
      .and.not.match(SECRETS);
    expect(shown(new LegacyCommand("hello", ["3", "AUTH", "user", "geheim"]))).to.not.match(SECRETS);
  });

  it("shows the commands of a pipeline, not its inside, and of a long one the first", () => {
    const pipeline = redis.pipeline().get("a").set("b", "c");
    expect(shown(pipeline)).to.equal("Pipeline(2) [ [ 'get', 'a' ], [ 'set', 'b', 'c' ] ]");
    const long = redis.pipeline();
    for (let n = 0; n < 100_000; n++) long.get("a");
    expect(shown(long))
      .to.match(/^Pipeline\(100000\)/)
      .and.match(/and 99980 that are not shown$/);
    expect(shown(redis.multi().get("a"))).to.equal("Pipeline(2) [ [ 'multi' ], [ 'get', 'a' ] ]");
  });
});
