/** With which options a sentinel is connected to. */

import { expect } from "chai";
import { describeSentinel, sentinelClientOptions } from "../../../src/sentinel/sentinel-client";
import type { SentinelOptions } from "../../../src/sentinel/sentinel-options";

const renewing = (): number => 100;

describe("sentinelClientOptions", () => {
  it("takes the usual address and the newer protocol where nothing is said", () => {
    expect(sentinelClientOptions({}, {}, null)).to.deep.equal({
      host: "127.0.0.1",
      port: 26379,
      family: undefined,
      localAddress: undefined,
      username: null,
      password: null,
      credentials: undefined,
      tls: undefined,
      protocol: 3,
      connectTimeout: undefined,
      disconnectTimeout: undefined,
      commandTimeout: undefined,
      enableReadyCheck: false,
      maxRetriesPerRequest: null,
      retryStrategy: null,
    });
    expect(sentinelClientOptions({ host: "", port: 0 }, {}, null)).to.include({
      host: "127.0.0.1",
      port: 26379,
    });
  });

  it("takes what is said of sentinels, and nothing that is said of the server behind them", () => {
    const tls = { ca: "sentinel" };
    const options = {
      sentinelUsername: "watcher",
      sentinelPassword: "secret",
      sentinelTLS: tls,
      family: 6,
      protocol: 2,
      connectTimeout: 300,
      disconnectTimeout: 400,
      ...{ username: "user", password: "other", tls: { ca: "server" } },
    };
    const made = sentinelClientOptions({ host: "s", port: "5000" as unknown as number }, options, renewing);
    expect(made).to.include({ host: "s", port: 5000, family: 6, protocol: 2, tls, retryStrategy: renewing });
    expect(made).to.include({
      username: "watcher",
      password: "secret",
      connectTimeout: 300,
      disconnectTimeout: 400,
    });
    expect(sentinelClientOptions({ host: "s", family: 4 }, options, null).family).to.equal(4);
  });

  it("limits a question by twice the time to connect, a subscription not at all, unless a limit is given", () => {
    const limitOf = (options: SentinelOptions, retryStrategy: (() => number) | null): unknown =>
      sentinelClientOptions({}, options, retryStrategy).commandTimeout;
    expect(limitOf({ connectTimeout: 300 }, null)).to.equal(600);
    expect(limitOf({ connectTimeout: 300 }, renewing)).to.equal(undefined);
    expect(limitOf({ connectTimeout: 0 }, null)).to.equal(undefined);
    for (const retryStrategy of [null, renewing])
      expect(limitOf({ connectTimeout: 300, sentinelCommandTimeout: 50 }, retryStrategy)).to.equal(50);
  });

  it("names a sentinel by its address", () => {
    expect([describeSentinel({ host: "s", port: 1 }), describeSentinel({})]).to.deep.equal([
      "s:1",
      "127.0.0.1:26379",
    ]);
  });
});
