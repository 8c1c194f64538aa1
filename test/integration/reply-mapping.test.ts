/**
 * Protocol 3 with the legacy mapping answers exactly as protocol 2, call by call over the whole
 * corpus, as strings and as Buffers, and with numbers as strings; and the shapes of "resp3" are
 * those that the API promises.
 */

import { expect } from "chai";
import { findServer } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/client/redis";
import { COMMAND_CORPUS } from "../support/command-corpus";
import { comparable } from "../support/reply-comparison";
import { serverKinds } from "../support/shared-servers";

interface Shape {
  readonly protocol: 2 | 3;
  readonly replyMapping?: "legacy" | "resp3";
  readonly stringNumbers?: boolean;
}

/** The replies of the corpus on an empty server, errors as their messages. */
async function runCorpus(port: number, shape: Shape, asBuffers: boolean): Promise<unknown[]> {
  const client = new Redis({ port, ...shape });
  try {
    await client.call("flushall");
    await client.call("config", "RESETSTAT");
    const replies: unknown[] = [];
    for (const { word, args } of COMMAND_CORPUS) {
      const reply = asBuffers ? client.callBuffer(word, ...args) : client.call(word, ...args);
      replies.push(await reply.catch((error: Error) => `error: ${error.message}`));
    }
    return replies;
  } finally {
    client.disconnect();
  }
}

const VARIANTS = [
  { title: "strings", asBuffers: false, stringNumbers: false, except: /^$/ },
  { title: "Buffers", asBuffers: true, stringNumbers: false, except: /^$/ },
  // A boolean is 1 or 0 by the API, never "1": only integers and doubles become strings.
  {
    title: "numbers as strings",
    asBuffers: false,
    stringNumbers: true,
    except: /return true|^v(add|ismember|setattr|rem) /,
  },
];

for (const kind of serverKinds()) {
  describe(`reply mapping on ${kind}`, function () {
    this.timeout(60_000);
    let server: ServerProcess;

    before(async function () {
      this.timeout(120_000);
      // A high rate of timers: calls that block for a moment end after that moment.
      // Nothing is slow: how many entries the slow log has must not depend on the machine.
      const config = { hz: 500, "slowlog-log-slower-than": -1 };
      server = await ServerProcess.start({ binary: await findServer(kind), config });
    });

    after(() => server?.stop());

    for (const variant of VARIANTS) {
      it(`legacy on protocol 3 is protocol 2: ${variant.title}`, async () => {
        const { asBuffers, stringNumbers, except } = variant;
        const expected = await runCorpus(server.port, { protocol: 2, stringNumbers }, asBuffers);
        const found = await runCorpus(server.port, { protocol: 3, stringNumbers }, asBuffers);
        for (const [index, call] of COMMAND_CORPUS.entries()) {
          if (except.test(call.text)) continue;
          expect(comparable(call, found[index]), call.text).to.deep.equal(comparable(call, expected[index]));
        }
      });
    }

    it("resp3 has objects, booleans, numbers and pairs", async () => {
      const client = new Redis({ port: server.port, protocol: 3, replyMapping: "resp3" });
      try {
        const call = (text: string) => {
          const [word = "", ...args] = text.split(" ");
          return client.call(word, ...args);
        };
        await call("flushall");
        await call("zadd z 1 a 2.5 b inf c");
        await call("hset h f 1 __proto__ 2");
        await call("xadd s 1-1 f v");
        expect(await call("zrange z 0 -1 WITHSCORES")).to.deep.equal([
          ["a", 1],
          ["b", 2.5],
          ["c", Number.POSITIVE_INFINITY],
        ]);
        expect(await call("zscore z b")).to.equal(2.5);
        expect(await call("zpopmin z")).to.deep.equal(["a", 1]);
        expect(await call("zpopmin z 1")).to.deep.equal([["b", 2.5]]);
        const hash = await call("hgetall h");
        expect(Object.entries(hash as object)).to.deep.equal([
          ["f", "1"],
          ["__proto__", "2"],
        ]);
        expect(await call("hrandfield h -2 WITHVALUES")).to.have.length(2);
        expect(await call("xread STREAMS s 0")).to.deep.equal({ s: [["1-1", ["f", "v"]]] });
        expect(await call("config GET maxmemory")).to.deep.equal({ maxmemory: "0" });
        expect(await call("incrbyfloat n 1.5")).to.equal("1.5");
        expect(await call("pubsub NUMSUB a")).to.deep.equal(["a", 0]);
        expect(await call("xinfo STREAM s")).to.include({ length: 1 });
      } finally {
        client.disconnect();
      }
    });
  });
}
