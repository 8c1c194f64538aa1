/**
 * Guarantee 9: arguments cannot hurt. Whatever a caller passes is sent as section 3 of the
 * command contract says, or its command is rejected alone with an error that names the position;
 * nothing reaches the wire half-written, and names from outside never touch prototypes.
 */

import { expect } from "chai";
import fc from "fast-check";
import { Command, Redis } from "../../src/index";
import { countInjections } from "../support/injections";
import { closeClient } from "../support/matrix";
import { outcomeOf } from "../support/outcome";
import { fixedRuns } from "../support/properties";
import { ServerFixture } from "../support/server-fixture";

const UNREADABLE = {
  toString(): string {
    throw new Error("a secret value");
  },
};
const circular: unknown[] = [1];
circular.push(circular);

function deepArray(): unknown[] {
  let array: unknown[] = [];
  for (let depth = 0; depth < 100_000; depth++) array = [array];
  return array;
}

function detached(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

const SENT: [name: string, value: unknown, text: string][] = [
  ["a lone high surrogate", "a\ud800b", "a\ufffdb"],
  ["a lone low surrogate", "\udc00", "\ufffd"],
  ["NaN", Number.NaN, "NaN"],
  ["minus infinity", Number.NEGATIVE_INFINITY, "-Infinity"],
  ["minus zero", -0, "0"],
  ["a large number", 1e21, "1000000000000000000000"],
  ["a tiny number", 5e-324, "5e-324"],
  ["a huge bigint", 2n ** 200n, (2n ** 200n).toString()],
  ["a symbol", Symbol("s"), "Symbol(s)"],
  ["CRLF and a command", "x\r\nFLUSHALL\r\n", "x\r\nFLUSHALL\r\n"],
  ["a zero byte", "\0", "\0"],
  ["nothing", "", ""],
  ["undefined", undefined, ""],
  ["null", null, ""],
  ["a boolean", true, "true"],
  ["an own __proto__", JSON.parse('{"__proto__":{"x":1}}'), "[object Object]"],
  ["an array in itself, one level flattened", [circular], "1,"],
  ["bytes", new Uint8Array([0x68, 0x69]), "hi"],
  ["a view of two-byte units", new Uint16Array([0x6968]), "hi"],
  ["an array buffer", new Uint8Array([0x68, 0x69]).buffer, "hi"],
  ["a boxed string", Object("boxed"), "boxed"],
  ["a rejected promise", Promise.reject(new Error("nobody cares")), "[object Promise]"],
];
for (const [, value] of SENT) if (value instanceof Promise) value.catch(() => {});

const REFUSED: [name: string, value: unknown][] = [
  // The first one, since the generator of values cannot look at it.
  ["a revoked proxy", revoked()],
  ["an object without prototype", Object.create(null)],
  ["a toString that throws", UNREADABLE],
  ["a toString that gives no string", { toString: () => ({}) }],
  ["a toPrimitive that gives a symbol", { [Symbol.toPrimitive]: () => Symbol("x") }],
  ["an array deeper than the stack", [deepArray()]],
  ["an array whose elements cannot be read", unreadableArray()],
  ["memory that was transferred", detached()],
];

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function unreadableArray(): unknown[] {
  return new Proxy([1, 2], {
    get(target, key, receiver) {
      if (key === "1") throw new Error("a secret value");
      return Reflect.get(target, key, receiver);
    },
  });
}

describe("arguments", () => {
  const injections = countInjections("odd arguments");
  const fixture = new ServerFixture().install();
  let redis: Redis;
  beforeEach(() => {
    redis = fixture.connectDirectly();
  });

  const anything = redisMethod();
  /** Calls that take arguments of any type. */
  function redisMethod(): (name: string, ...args: unknown[]) => Promise<unknown> {
    return (name, ...args) =>
      (redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name]?.(
        ...args,
      ) as Promise<unknown>;
  }

  for (const [name, value, text] of SENT) {
    it(`${name} is sent as its text`, async () => {
      expect(await anything("echo", value)).to.equal(text);
      injections.add(3);
      await anything("set", "args:key", value);
      expect(await redis.get("args:key")).to.equal(text);
      await anything("set", value, "by key");
      expect(await redis.get(text)).to.equal("by key");
    });
  }

  for (const [name, value] of REFUSED) {
    it(`${name} is refused, alone`, async () => {
      const before = redis.echo("before");
      injections.add(2);
      const refused = anything("set", "args:key", value);
      const after = redis.echo("after");
      const error = (await refused.catch((reason) => reason)) as Error;
      expect(error).to.include({ name: "ArgumentError", code: "INVALID_ARGUMENT" });
      expect(error.message)
        .to.match(/^Argument 2 of "set" cannot be sent: /)
        .and.not.match(/secret/);
      expect(await Promise.all([before, after])).to.deep.equal(["before", "after"]);
      const rows = await redis
        .pipeline()
        .echo("first")
        .set("args:key", value as string)
        .echo("last")
        .exec();
      expect(rows?.map(([failure, reply]) => failure?.name ?? reply)).to.deep.equal([
        "first",
        "ArgumentError",
        "last",
      ]);
    });
  }

  it("names of commands are data", async () => {
    for (const name of ["__proto__", "constructor", "toString", "get\r\nflushall\r\n", "", "\ud800"]) {
      expect((await outcomeOf(redis.call(name, "x")))[1], name).to.match(/^REPLY: ERR unknown command/);
    }
    for (const name of [undefined, null, 7, Symbol("x"), {}, [], [undefined]]) {
      const outcome = await outcomeOf(redis.call(name as never));
      expect(outcome[1], String(name)).to.equal(
        'INVALID_ARGUMENT: Argument 1 of "call" cannot be sent: the name of a command must be a string',
      );
    }
    for (const name of ["__proto__", "constructor", "hasOwnProperty", "valueOf"]) {
      expect(() => redis.pipeline([[name, "x"]])).to.throw(TypeError, /^Unknown command/);
    }
    expect(await redis.ping()).to.equal("PONG");
  });

  it("names of keys, fields, scripts and options are data", async () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    await redis.hset("args:hash", ...names.flatMap((name) => [name, `value of ${name}`]));
    const hash = await redis.hgetall("args:hash");
    expect(Object.keys(hash).sort()).to.deep.equal([...names].sort());
    expect(Object.getOwnPropertyDescriptor(hash, "__proto__")?.value).to.equal("value of __proto__");
    expect(Object.getPrototypeOf(hash)).to.equal(Object.prototype);
    for (const name of names) redis.defineCommand(name, { lua: "return 1", numberOfKeys: 0 });
    expect(Object.keys(redis.scriptsSet).sort()).to.deep.equal([...names].sort());
    expect(Object.getPrototypeOf(redis.scriptsSet)).to.equal(Object.prototype);
    const options = JSON.parse('{"__proto__":{"host":"elsewhere"},"constructor":1,"lazyConnect":true}');
    expect(new Redis(options).options.host).to.equal("localhost");
    expect(({} as { host?: string }).host).to.equal(undefined);
    const url = new Redis(
      `redis://${fixture.server.host}:${fixture.server.port}?__proto__=1&constructor=2&lazyConnect=true`,
    );
    expect(url.options.host).to.equal(fixture.server.host);
  });

  it("counts of keys that are no counts bring the server's error, with a prefix too", async () => {
    const prefixed = new Redis({ host: fixture.server.host, port: fixture.server.port, keyPrefix: "p:" });
    try {
      for (const count of [1e9, -1, Number.NaN, "abc", 1.5, 2 ** 53, ""]) {
        const calls = [
          prefixed.call("eval", "return 1", count, "k"),
          prefixed.call("zunion", count, "a", "b"),
          prefixed.call("xread", "COUNT", count, "STREAMS"),
        ];
        for (const call of calls) expect((await outcomeOf(call))[1], String(count)).to.match(/^REPLY: /);
      }
    } finally {
      await closeClient(prefixed);
    }
  });

  it("commands whose replies could not be matched are refused before they are written", async () => {
    const refused: unknown[][] = [
      ["client", "reply", "off"],
      ["CLIENT", Buffer.from("Reply"), "SKIP"],
      ["monitor"],
      ["MONITOR"],
      ["sync"],
      ["PSYNC", "?", "-1"],
      ["replconf", "ack", "1"],
      ["REPLCONF", "GETACK", "*"],
    ];
    for (const [name, ...args] of refused) {
      const calls = [
        redis.call(name as string, ...(args as string[])),
        redis.sendCommand(new Command(name as string, args as string[])),
      ];
      for (const call of calls) expect((await outcomeOf(call))[1]).to.match(/^UNANSWERED_COMMAND: /);
      const rows = await redis
        .pipeline()
        .echo("a")
        .call(name as string, ...(args as string[]))
        .echo("b")
        .exec();
      expect(rows?.map(([error, reply]) => (error as { code?: string } | null)?.code ?? reply)).to.deep.equal(
        ["a", "UNANSWERED_COMMAND", "b"],
      );
      const whole = redis
        .multi()
        .set("args:whole", 1)
        .call(name as string, ...(args as string[]))
        .exec();
      expect((await outcomeOf(whole))[1]).to.match(/^ABORTED: EXECABORT/);
    }
    expect(await redis.get("args:whole")).to.equal(null);
    expect(await redis.client("REPLY", "ON")).to.equal("OK");
    expect(await redis.call("replconf", "listening-port", 1)).to.equal("OK");
  });

  it("whatever they are, neighbours keep their own replies (property)", async function () {
    // A hundred times as many runs in the long form.
    this.timeout(process.env.SLUICE_LONG === "1" ? 900_000 : 60_000);
    const value = fc.oneof(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withNullPrototype: true,
        withSet: true,
      }),
      fc.anything({ withTypedArray: true, withSparseArray: true }),
      fc.string({ unit: "binary" }),
      fc.constantFrom(...SENT.map(([, sent]) => sent), ...REFUSED.slice(1).map(([, refused]) => refused)),
    );
    const word = fc.constantFrom(
      "set",
      "echo",
      "lpush",
      "hset",
      "mset",
      "eval",
      "zadd",
      "xadd",
      "sort",
      "migrate",
    );
    const run = fc.asyncProperty(
      fc.array(fc.tuple(word, fc.array(value, { maxLength: 5 })), { maxLength: 8 }),
      (calls) => neighboursStay(calls),
    );
    await fc.assert(run, fixedRuns(150));
  });

  /** Sends the calls with numbered echoes between them: singly, as a pipeline, as a transaction. */
  async function neighboursStay(calls: readonly [string, unknown[]][]): Promise<void> {
    const pipeline = redis.pipeline();
    const echoes = calls.map(([name, args], index) => {
      // A function at the end would be a callback.
      const own = args.filter((argument) => typeof argument !== "function");
      injections.add(own.length);
      anything(name, ...own).catch(() => {});
      (pipeline as unknown as Record<string, (...args: unknown[]) => unknown>)[name]?.(...own);
      pipeline.echo(`p${index}`);
      return redis.echo(`e${index}`);
    });
    expect(await Promise.all(echoes)).to.deep.equal(calls.map((_, index) => `e${index}`));
    const rows = (await pipeline.exec()) ?? [];
    expect(rows.filter((_, index) => index % 2 === 1)).to.deep.equal(
      calls.map((_, index) => [null, `p${index}`]),
    );
  }
});
