/**
 * Commands of a large batch that were given up while thousands before them are unanswered: the
 * queue that forgets them is the one that is just being written.
 */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";

type Rows = [error: (Error & { code?: string }) | null, value: unknown][];

/** Below and together above the number at which the queue looks for what can be forgotten. */
const UNANSWERED = 7900;
const GIVEN_UP = 2000;

it("what was given up in the backlog is passed over, and what follows is written", async () => {
  const fake = await FakeServer.start(([name]) => (name === "get" ? NO_REPLY : undefined));
  const redis = new Redis({ host: fake.host, port: fake.port, watchdog: false });
  redis.on("error", () => {});
  const gets = (signal: AbortSignal, count: number): Promise<Rows> => {
    const pipeline = redis.with({ signal }).pipeline();
    for (let i = 0; i < count; i++) pipeline.get("k");
    return pipeline.exec() as Promise<Rows>;
  };
  const until = (what: string, condition: () => boolean) =>
    waitUntil(async () => condition(), { timeoutMs: 10_000, what });
  const count = (word: string): number => fake.received.filter(([name]) => name === word).length;
  try {
    await untilReady(redis);
    const unanswered = gets(new AbortController().signal, UNANSWERED);
    await until("the first pipeline to be written", () => count("get") === UNANSWERED);
    const abort = new AbortController();
    const givenUp = gets(abort.signal, GIVEN_UP);
    const behind = redis.echo("behind").catch((error: Error) => error);
    abort.abort();
    const codes = (await givenUp).map(([error]) => error?.code);
    expect([codes.length, ...new Set(codes)]).to.deep.equal([GIVEN_UP, "ABORTED_BY_SIGNAL"]);
    await until("what follows to be written", () => count("echo") === 1);
    expect(count("get")).to.equal(UNANSWERED);
    await closeClient(redis);
    expect(await unanswered).to.have.length(UNANSWERED);
    expect(await behind).to.be.an("error");
  } finally {
    await closeClient(redis);
    await fake.stop();
  }
});
