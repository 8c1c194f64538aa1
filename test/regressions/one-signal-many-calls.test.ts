/** Many calls, views and bulks under one signal: one listener, no warning, and all of them end with it. */

import { getEventListeners } from "node:events";
import { expect } from "chai";
import type { Redis } from "../../src/index";
import { untilReady } from "../support/matrix";
import { codeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

const CALLS = 30;

describe("many calls under one signal", () => {
  const fixture = new ServerFixture().install();
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  beforeEach(() => {
    warnings.length = 0;
    process.on("warning", note);
  });
  afterEach(() => process.off("warning", note));

  const ways: Record<string, (redis: Redis, signal: AbortSignal, i: number) => Promise<unknown>> = {
    "calls of views": (redis, signal, i) => redis.with({ signal }).blpop(`none:${i}`, 0),
    "calls of one client each": (_redis, signal, i) =>
      fixture.connectDirectly().with({ signal }).blpop(`none:${i}`, 0),
    bulks: (redis, signal, i) => redis.bulk(endless(i), { signal }).summary(),
  };

  for (const [name, call] of Object.entries(ways)) {
    it(`${name}: no warning, and all end`, async () => {
      const redis = fixture.connectDirectly({ watchdog: false });
      await untilReady(redis);
      const abort = new AbortController();
      const codes = Array.from({ length: CALLS }, (_, i) => codeOf(call(redis, abort.signal, i)));
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(getEventListeners(abort.signal, "abort").length).to.equal(1);
      abort.abort();
      for (const code of await Promise.all(codes)) expect(code).to.match(/ABORT/);
      expect(getEventListeners(abort.signal, "abort").length).to.equal(0);
      expect(warnings).to.deep.equal([]);
      // The source of a bulk comes to its end.
      await new Promise((resolve) => setTimeout(resolve, 30));
    });
  }

  it("a listener is gone when its calls are answered", async () => {
    const redis = fixture.connectDirectly();
    await untilReady(redis);
    const abort = new AbortController();
    const views = Array.from({ length: CALLS }, () => redis.with({ signal: abort.signal }));
    await Promise.all(views.map((view) => view.ping()));
    expect(getEventListeners(abort.signal, "abort").length).to.equal(0);
    expect(warnings).to.deep.equal([]);
  });
});

async function* endless(i: number): AsyncGenerator<[string, string, number]> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    yield ["set", `bulk:${i}`, 1];
  }
}
