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

  it("shows a client and its parts without secrets", () => {
    expect(shown(redis))
      .to.match(/^Redis \{/)
      .and.match(/status: 'wait'/)
      .and.match(/visible/);
    for (const value of [redis, redis.options, redis.connector, { nested: [redis] }, redis.duplicate()]) {
      expect(shown(value)).to.not.match(SECRETS);
    }
  });

  it("shows commands without credentials", () => {
    const pipeline = redis.pipeline().auth("geheim").set("k", "visible");
    expect(shown(pipeline))
      .to.match(/visible/)
      .and.not.match(SECRETS);
    expect(shown(new LegacyCommand("hello", ["3", "AUTH", "user", "geheim"]))).to.not.match(SECRETS);
  });
});
