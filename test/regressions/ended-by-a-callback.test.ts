/**
 * Callbacks run while the loss of a connection is still being sorted. What they do (disconnect,
 * connect) holds: a client that was ended there does not dial again, and one that was begun anew goes on.
 */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { untilReady } from "../support/matrix";
import { codeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

describe("a client that is ended or begun anew by a callback", () => {
  const fixture = new ServerFixture().install();

  function wordsOf(redis: Redis): string[] {
    const words: string[] = [];
    for (const word of ["close", "reconnecting", "connecting", "connect", "ready", "end"])
      redis.on(word, () => words.push(word));
    return words;
  }

  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  it("disconnect() in the callback of a lost command ends it", async () => {
    const redis = fixture.connect({ retryPolicy: "at-most-once" });
    await untilReady(redis);
    fixture.proxy.isolate();
    const waiting = codeOf(redis.get("waiting"));
    redis.incr("n", () => redis.disconnect());
    const waitingBehind = codeOf(redis.get("waiting"));
    await pause(5);
    const words = wordsOf(redis);
    fixture.proxy.cutAll();
    expect(await waiting).to.equal("OUTCOME_UNKNOWN");
    expect(await waitingBehind).to.be.oneOf(["OUTCOME_UNKNOWN", "CONNECTION_CLOSED"]);
    await pause(50);
    expect(words).to.not.include("connecting");
    expect(words.filter((word) => word === "end")).to.have.length(1);
    expect(redis.status).to.equal("end");
  });

  it("disconnect() in the callback of a command that ran out of attempts ends it", async () => {
    fixture.proxy.refuse();
    const redis = fixture.connect({ maxRetriesPerRequest: 1 });
    const words = wordsOf(redis);
    redis.get("k", () => redis.disconnect());
    const behind = codeOf(redis.get("k"));
    expect(await behind).to.be.oneOf(["MAX_RETRIES", "CONNECTION_CLOSED"]);
    await pause(50);
    expect(words.filter((word) => word === "end")).to.have.length(1);
    expect(words[words.length - 1]).to.equal("end");
  });

  it("disconnect() in an error listener ends it once", async () => {
    const redis = fixture.connectDirectly({
      Connector: class {
        connect(): Promise<never> {
          return Promise.reject(new Error("no way"));
        }
        disconnect(): void {}
        check(): boolean {
          return true;
        }
      } as never,
    });
    const words = wordsOf(redis);
    redis.on("error", () => redis.disconnect());
    expect(await codeOf(redis.get("k"))).to.not.equal("fulfilled");
    await pause(20);
    expect(words.filter((word) => word === "end")).to.have.length(1);
  });

  it("connect() in the callback of a command that was closed begins anew", async () => {
    const redis = fixture.connect();
    await untilReady(redis);
    fixture.proxy.isolate();
    const called = new Promise<void>((resolve) => {
      redis.get("waiting", () => void redis.connect().then(resolve, () => resolve()));
    });
    redis.disconnect();
    fixture.proxy.cutAll();
    fixture.proxy.heal();
    await called;
    expect(await redis.echo("anew")).to.equal("anew");
  });
});
