/** Arguments of the calls that are no commands: each wrong one has an error with a code, which names the call. */

import { expect } from "chai";
import { Cluster, OptionError, Redis } from "../../../src/index";

const redis = new Redis({ lazyConnect: true });
const cluster = new Cluster([{ host: "127.0.0.1", port: 1 }], { lazyConnect: true });

const NOTHING = [undefined, null] as const;
const NO_SETTINGS = [null, 5, "x", true, [], () => 1] as const;
const NO_FUNCTION = [...NOTHING, 5, "x", {}] as const;
const NO_KEY = [null, 5, true, {}, Object.create(null)] as const;
const NO_NAMES = [...NOTHING, 5, true, [], [1], {}] as const;
const CONSUMER = { stream: "s", group: "g", consumer: "c" };

type Call = (value: never) => unknown;

/** The wrong values of one argument, and the text of the error. */
const CALLS: readonly (readonly [name: string, call: Call, wrong: readonly unknown[]])[] = [
  ["consume()", (value) => redis.consume(value), [...NOTHING, ...NO_SETTINGS, {}]],
  ["consume()", (value) => redis.consume(CONSUMER, value), [null, 5, "x", {}]],
  ["consume()", (value) => redis.consume({ ...CONSUMER, concurrency: value }, () => 1), ["2", {}]],
  ["messages()", (value) => redis.messages(value), NO_NAMES],
  ["messages()", (value) => redis.messages("a", value), NO_SETTINGS],
  ["listen()", (value) => redis.messages("a", { signal: AbortSignal.abort() }).listen(value), NO_FUNCTION],
  ["keyspaceEvents()", (value) => redis.keyspaceEvents(value), NO_SETTINGS],
  ["keyspaceEvents()", (value) => cluster.keyspaceEvents(value), NO_SETTINGS],
  ["keyspaceEvents()", (value) => redis.keyspaceEvents({ keys: value }), [null, 5, [], [1]]],
  ["keyspaceEvents()", (value) => redis.keyspaceEvents({ events: value }), [null, 5, [], [1]]],
  ["keyspaceEvents()", (value) => redis.keyspaceEvents({ maxBuffered: value }), [0, "5"]],
  ["lock()", (value) => redis.lock(value), [...NOTHING, 5, {}]],
  ["lock()", (value) => redis.lock("k", value), NO_SETTINGS],
  ["lock()", (value) => redis.lock("k", { ttl: value }), [Object.create(null), [], "5"]],
  ["lease()", (value) => redis.lease(value), NO_SETTINGS],
  ["lease()", (value) => cluster.lease(value), [...NOTHING, ...NO_SETTINGS, {}]],
  ["lease()", (value) => cluster.lease({ key: value }), NO_KEY],
  ["lease()", (value) => cluster.lease({ slot: value }), [-1, 16_384, 1.5, "1"]],
  ["lease()", (value) => redis.lease({ signal: value }), [null, 5, {}]],
  ["withConnection()", (value) => redis.withConnection(value), NO_FUNCTION],
  ["transaction()", (value) => redis.transaction(value, (own) => own.multi()), [...NOTHING, ...NO_KEY, []]],
  ["transaction()", (value) => redis.transaction("k", value), NO_FUNCTION],
  ["transaction()", (value) => redis.transaction("k", (own) => own.multi(), value), NO_SETTINGS],
  ["onAll()", (value) => cluster.onAll(value), [...NOTHING, "", 5, {}]],
  ["onAll()", (value) => cluster.onAll("ping", value), [null, 5, "x", { nodes: "all" }]],
  ["onAll()", (value) => cluster.onAll("ping", [], value), NO_SETTINGS],
  ["onAll()", (value) => cluster.onAll("ping", [], { buffers: value }), [5, "true"]],
  ["scanPage()", (value) => cluster.scanPage("0", value), NO_SETTINGS],
  ["scanPage()", (value) => cluster.scanPage("0", { count: value }), [0, "x", {}]],
];

describe("arguments of calls", () => {
  after(() => {
    redis.disconnect();
    cluster.disconnect();
  });

  for (const [name, call, wrong] of CALLS) {
    it(`of ${name} are checked: ${call}`, async () => {
      for (const value of wrong) {
        const error: unknown = await (async () => call(value as never))().catch((thrown) => thrown);
        expect(error).to.be.instanceOf(OptionError);
        expect((error as OptionError).code).to.equal("INVALID_OPTION");
        expect((error as OptionError).message)
          .to.contain(name)
          .and.match(/expected|needs/);
      }
    });
  }
});
