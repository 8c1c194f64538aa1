/** Every command of the corpus on this client and on the published one: the replies are the same. */

import { inspect, isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import { Redis as Published } from "ioredis";
import { findServer } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { COMMAND_CORPUS } from "../support/command-corpus";
import { closeClient } from "../support/matrix";
import { comparable, errorText } from "../support/reply-comparison";
import { serverKinds } from "../support/shared-servers";

const SHAPES = [
  { protocol: 2, replyMapping: "legacy" },
  { protocol: 3, replyMapping: "legacy" },
  { protocol: 3, replyMapping: "resp3" },
] as const;

/** Answers that name the client, the protocol or what was called before. */
const TOLD_APART = /^(client (LIST|INFO|ID)|info|hello|acl LOG)/i;

/** Its doubles are off by a few units in the last place (docs/differences.md). */
function rounded(value: unknown): unknown {
  if (typeof value === "number" && !Number.isInteger(value)) return Number(value.toPrecision(12));
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== "object" || value === null || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, rounded(one)]));
}

type Method = (...args: unknown[]) => Promise<unknown>;

async function run(redis: Redis, server: ServerProcess, suffix: "" | "Buffer"): Promise<unknown[]> {
  await server.command("FLUSHALL");
  await server.command("CONFIG", "RESETSTAT");
  await server.command("SCRIPT", "FLUSH");
  await server.command("FUNCTION", "FLUSH");
  const methods = redis as unknown as Record<string, Method | undefined>;
  const replies: unknown[] = [];
  for (const call of COMMAND_CORPUS) {
    const { word, args } = call;
    const method = methods[`${word}${suffix}`] ?? methods[`call${suffix}`]?.bind(redis, word);
    const reply = method?.apply(redis, [...args]) ?? Promise.resolve("no such method");
    replies.push(await reply.then((value) => comparable(call, value), errorText));
  }
  await closeClient(redis);
  return replies;
}

for (const kind of serverKinds()) {
  describe(`the corpus beside the published client, on ${kind}`, function () {
    this.timeout(60_000);
    let server: ServerProcess;

    before(async () => {
      const config = { hz: 500, "slowlog-log-slower-than": -1 };
      server = await ServerProcess.start({ binary: await findServer(kind), config });
    });
    after(() => server?.stop());

    for (const shape of SHAPES) {
      for (const suffix of ["", "Buffer"] as const) {
        const title = `protocol ${shape.protocol}, ${shape.replyMapping} shapes, ${suffix || "strings"}`;
        it(title, async () => {
          const options = { port: server.port, ...shape };
          const theirs = await run(new Published(options) as unknown as Redis, server, suffix);
          const ours = await run(new Redis(options), server, suffix);
          const differences = COMMAND_CORPUS.flatMap(({ text }, index) => {
            if (TOLD_APART.test(text) || isDeepStrictEqual(rounded(ours[index]), rounded(theirs[index])))
              return [];
            return `${text}\n  ioredis: ${inspect(theirs[index], { depth: 6 })}\n  here:    ${inspect(ours[index], { depth: 6 })}`;
          });
          expect(differences.join("\n")).to.equal("");
        });
      }
    }
  });
}
