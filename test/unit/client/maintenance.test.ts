/** The option `maintenance`: which clients ask their server for notices. */

import { expect } from "chai";
import { type MaintenanceOptions, moverMaker } from "../../../src/client/maintenance/maintenance";

describe("the option maintenance", () => {
  const isAsked = (options: MaintenanceOptions): boolean =>
    moverMaker(options, null as never, null as never) !== null;

  it("auto asks hosts that are known to be managed", () => {
    for (const host of [
      "redis-12000.c1.us-east-1-2.ec2.redns.redis-cloud.com",
      "redis-1.c1.cloud.redislabs.com",
      "cache.westeurope.redis.azure.net",
      "CACHE.WestEurope.RedisEnterprise.cache.azure.net",
    ])
      expect(isAsked({ host }), host).to.equal(true);
    for (const host of [
      undefined,
      "localhost",
      "10.0.0.1",
      "redis-cloud.com",
      "my-redis-cloud.com",
      "redis-cloud.com.example.org",
      "c.abc123.euc1.cache.amazonaws.com",
    ])
      expect(isAsked({ host }), host).to.equal(false);
  });

  it("on asks every host, and false none", () => {
    const host = "redis-1.c1.cloud.redislabs.com";
    expect(isAsked({ host: "localhost", maintenance: "on" })).to.equal(true);
    expect(isAsked({ host, maintenance: false })).to.equal(false);
  });

  it("needs RESP3 and a TCP connection that runs commands", () => {
    const on = { host: "localhost", maintenance: "on" } as const;
    for (const other of [{ protocol: 2 }, { path: "/tmp/redis.sock" }, { monitor: true }])
      expect(isAsked({ ...on, ...other }), JSON.stringify(other)).to.equal(false);
  });
});
