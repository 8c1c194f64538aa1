/**
 * Guarantee 1, the poisonous: a command that kills its connection each time it is sent is given
 * up after a bounded number of tries of its own, with the error of the line as its cause, and
 * frees those behind it, however it was issued.
 */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY, status } from "../support/fake-server";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { errorOf, type Failure } from "../support/outcome";

type Rows = [Failure | null, unknown][];

const LOSSES = process.env.SLUICE_LONG === "1" ? [1, 2, 3, 4, 5, 10, 30] : [1, 3, 5];

/** Each sends it once and gives the error that it ends with. */
const WAYS: Record<string, (redis: Redis) => Promise<Failure | null>> = {
  "a single command": (redis) => errorOf(redis.call("poison")),
  "a command with limits": (redis) => errorOf(redis.with({ timeout: 60_000 }).call("poison")),
  "a pipeline": async (redis) => {
    const rows = (await redis.pipeline().call("poison").get("b").exec()) as Rows;
    expect(rows[1]?.[0]?.code).to.match(/^(ABORTED|OUTCOME_UNKNOWN|COMMAND_LOST)$/);
    return rows[0]?.[0] ?? null;
  },
  "a transaction": (redis) => errorOf(redis.multi().call("poison").exec()),
  "a bulk": async (redis) => {
    const { errors } = await redis.bulk([["call", "poison"]]).summary();
    return (errors[0]?.error as Failure | undefined) ?? null;
  },
};

describe("a command that kills its connection", function () {
  this.timeout(60_000);
  const injections = countInjections("connections killed by a command");

  for (const [way, send] of Object.entries(WAYS)) {
    for (const enableAutoPipelining of [false, true]) {
      it(`${way}, auto-pipelining ${enableAutoPipelining}`, async () => {
        for (const maxLossesPerCommand of LOSSES) {
          let sent = 0;
          const fake = await FakeServer.start((words, { socket }) => {
            // Not even MULTI is answered, so that the transaction stays the oldest.
            if (words[0] === "multi") return NO_REPLY;
            if (words[0] === "exec") return status("OK");
            if (words[0] !== "poison") return words[0] === "get" ? `value of ${words[1]}` : undefined;
            sent++;
            injections.add();
            socket.resetAndDestroy();
            return NO_REPLY;
          });
          const redis = new Redis({
            host: fake.host,
            port: fake.port,
            retryStrategy: () => 1,
            maxRetriesPerRequest: null,
            enableAutoPipelining,
            maxLossesPerCommand,
          });
          const errors: Failure[] = [];
          redis.on("error", (error: Failure) => errors.push(error));
          try {
            await untilReady(redis);
            const poison = send(redis);
            const behind = redis.get("a");
            const failure = await poison;
            // The MULTI of a transaction is given up; whether its EXEC ran is not known.
            const isTransaction = way === "a transaction";
            expect(failure?.code).to.equal(isTransaction ? "OUTCOME_UNKNOWN" : "COMMAND_LOST");
            if (!isTransaction) expect(failure?.message).to.contain(`lost ${maxLossesPerCommand} times`);
            // A bulk is written behind the GET: with the bytes of its reply, a reset looks like an end.
            if (way !== "a bulk") expect(failure?.cause?.code).to.equal("ECONNRESET");
            expect(sent).to.equal(maxLossesPerCommand);
            expect(await behind).to.equal("value of a");
          } finally {
            await closeClient(redis);
            await fake.stop();
          }
        }
      });
    }
  }
});
