/**
 * Guarantee 2, multiplied: every kind of broken reply, behind some good ones, under single
 * commands, pipelines, transactions and automatic pipelines. What was answered before keeps its
 * own reply, what was written fails with a clear error, nothing is taken for another's reply.
 */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { type FakeReply, FakeServer, RawReply, status } from "../support/fake-server";
import { countInjections } from "../support/injections";
import { closeClient } from "../support/matrix";

const GARBAGE: Record<string, string | Buffer> = {
  "unknown type": "@hello\r\n",
  "negative bulk": "$-2\r\n",
  "length with a letter": "$1x\r\nab\r\n",
  "no length": "$\r\n",
  "bulk without its end": "$3\r\nabcdef\r\n",
  "bulk of 10 GiB": "$10737418240\r\n",
  "integer without digits": ":\r\n",
  "integer of 30 digits": `:${"9".repeat(30)}\r\n`,
  "negative array": "*-7\r\n",
  "array of 3 billion": "*3000000000\r\n",
  "map of 3 billion": "%3000000000\r\n",
  "odd boolean": "#x\r\n",
  "double that is none": ",1.2.3\r\n",
  "push inside a reply": "*1\r\n>1\r\n+a\r\n",
  "line feed alone": "\n+OK\r\n",
  noise: Buffer.from([0, 255, 13, 10, 7, 1, 2, 3]),
  HTTP: "HTTP/1.1 400 Bad Request\r\n\r\n",
  "100,000 levels": "*1\r\n".repeat(100_000),
};
const POSITIONS = process.env.SLUICE_LONG === "1" ? [0, 1, 2, 5, 9, 10, 11, 19] : [0, 3];
const COUNT = 20;

type Failure = Error & { code?: string };
type Caller = (redis: Redis) => Promise<unknown>[];

const key = (index: number): string => `key ${index}`;
const keys = Array.from({ length: COUNT }, (_, index) => key(index));

/** Outcomes of the pipelined, one by one. */
function rowsOf(rows: Promise<[Error | null, unknown][] | null>): Promise<unknown>[] {
  return keys.map((_, index) =>
    rows.then((all) => {
      const [error, value] = all?.[index] ?? [null, undefined];
      if (error !== null) throw error;
      return value;
    }),
  );
}

const CALLERS: Record<string, Caller> = {
  "single commands": (redis) => keys.map((one) => redis.get(one)),
  "a pipeline": (redis) => {
    const pipeline = redis.pipeline();
    for (const one of keys) pipeline.get(one);
    return rowsOf(pipeline.exec() as Promise<[Error | null, unknown][]>);
  },
  "two halves": (redis) => {
    const first = keys.slice(0, COUNT / 2).map((one) => redis.get(one));
    const pipeline = redis.pipeline();
    for (const one of keys.slice(COUNT / 2)) pipeline.get(one);
    const rows = pipeline.exec() as Promise<[Error | null, unknown][]>;
    return [...first, ...rowsOf(rows).slice(0, COUNT / 2)];
  },
};

describe("garbage behind good replies", function () {
  this.timeout(60_000);
  const injections = countInjections("broken replies");

  for (const [name, bytes] of Object.entries(GARBAGE)) {
    it(name, async () => {
      let brokenAt = 0;
      let answered = 0;
      const answer = (words: string[], number: number): FakeReply | undefined => {
        if (words[0] === "echo") return `echo ${words[1]} on ${number}`;
        if (words[0] === "multi") return status("OK");
        if (words[0] !== "get") return undefined;
        if (number === 1 && answered++ === brokenAt) return new RawReply(bytes);
        return `${words[1]} on ${number}`;
      };
      for (const enableAutoPipelining of [false, true]) {
        for (const [caller, call] of Object.entries(CALLERS)) {
          for (brokenAt of POSITIONS) {
            answered = 0;
            const fake = await FakeServer.start((words, { number }) => answer(words, number));
            const redis = new Redis({
              host: fake.host,
              port: fake.port,
              retryStrategy: () => 1,
              enableAutoPipelining,
            });
            const errors: string[] = [];
            redis.on("error", (error: Failure) => errors.push(String(error.code)));
            try {
              await redis.echo("before");
              const outcomes = await Promise.all(
                call(redis).map((one) => one.catch((error: Failure) => error)),
              );
              const where = `${caller}, broken at ${brokenAt}`;
              for (const [index, outcome] of outcomes.entries()) {
                if (index < brokenAt) expect(outcome, where).to.equal(`${key(index)} on 1`);
                else expect((outcome as Failure).code, `${where}: ${index}`).to.equal("PROTOCOL");
              }
              expect(errors, where).to.deep.equal(["PROTOCOL"]);
              expect(await redis.echo("after"), where).to.equal("echo after on 2");
              injections.add();
            } finally {
              await closeClient(redis);
              await fake.stop();
            }
          }
        }
      }
    });
  }

  it("a reply too many, after each of many", async () => {
    for (let position = 0; position < COUNT; position++) {
      let answered = 0;
      const fake = await FakeServer.start((words, { number }) => {
        if (words[0] !== "get") return undefined;
        const own = `$${Buffer.byteLength(String(words[1]))}\r\n${words[1]}\r\n`;
        return new RawReply(number === 1 && answered++ === position ? `${own}+nobody asked\r\n` : own);
      });
      const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 1 });
      redis.on("error", () => {});
      try {
        for (let index = 0; index <= position; index++)
          expect(await redis.get(key(index))).to.equal(key(index));
        // The surplus arrives with the last reply or right behind it: the connection must not be used again.
        await new Promise((resolve) => redis.once("ready", resolve));
        expect(await redis.get("fresh")).to.equal("fresh");
        expect(fake.connectionCount).to.equal(2);
        injections.add();
      } finally {
        await closeClient(redis);
        await fake.stop();
      }
    }
  });
});
