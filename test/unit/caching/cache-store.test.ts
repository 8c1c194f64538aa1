/** The store alone: what it finds, what it counts, what it drops. */

import { expect } from "chai";
import { CacheStore, type Content, type Question, textOfQuestion } from "../../../src/caching/cache-store";
import { TrackedConnection } from "../../../src/caching/tracked-connection";
import { specOf } from "../../../src/command/command-table";
import { slotOfKey } from "../../../src/command/slot";
import { randomSource } from "../../support/random";

const connection = new TrackedConnection(
  { dispatch() {}, dispatchBatch() {} },
  { direct: null },
  1000,
  false,
);

function contentOf(value: string): Content {
  return { value, bytes: value.length, connection, bornMs: 0, expiresAtMs: 1 };
}

function ask(name: string, ...args: string[]): Question {
  return { spec: specOf(name), args, wantsBuffers: false };
}

function keep(
  store: CacheStore,
  question: Question,
  value: string,
  keys = [question.args[0] as string],
): void {
  const nodes = keys.map((key) => store.openNode(key));
  for (const node of nodes) node.uses++;
  store.add(nodes, question, contentOf(value));
  store.release(nodes);
}

function find(store: CacheStore, { spec, args }: Question): unknown {
  const reply = store.find(args[0] as string, spec, args, false);
  return reply !== null && store.isValid(reply) ? reply.value : undefined;
}

/** The number of keys that have a node. */
function keysIn(store: CacheStore): number {
  return (store as unknown as { nodes: ReadonlyMap<string, unknown> }).nodes.size;
}

describe("the store of a cache", () => {
  it("keeps one answer to each question, the newest", () => {
    const store = new CacheStore(1e6);
    keep(store, ask("get", "a"), "old");
    const { bytes } = store;
    keep(store, ask("get", "a"), "new");
    expect(find(store, ask("get", "a"))).to.equal("new");
    expect(store).to.include({ size: 1, bytes });
    expect(keysIn(store)).to.equal(1);
  });

  it("tells the answers of one key apart, few or many", () => {
    const store = new CacheStore(1e6);
    for (let index = 0; index < 100; index++) {
      keep(store, ask("hget", "h", `f${index}`), `value ${index}`);
      for (let known = 0; known <= index; known++) {
        expect(find(store, ask("hget", "h", `f${known}`))).to.equal(`value ${known}`);
      }
    }
    keep(store, ask("hmget", "h", "a", "bc"), "one");
    expect(find(store, ask("hmget", "h", "ab", "c"))).to.equal(undefined);
    expect(store.find("h", specOf("hget"), ["h", "f1"], true)).to.equal(null);
    expect(store.find("h", specOf("hget"), ["h", { toString: () => "f1" }], false)).to.equal(null);
  });

  it("gives equal texts to equal questions only", () => {
    const questions = [
      ask("hmget", "a", "x", "y"),
      ask("hget", "a", "x", "y"),
      { ...ask("hmget", "a", "x", "y"), wantsBuffers: true },
      ask("hmget", "a", "x"),
      ask("hmget", "a", "y", "x"),
      ask("hmget", "a", "xy"),
      ask("get", "1:ax"),
      ask("get", "x", "a"),
      ask("get", "x"),
    ];
    expect(new Set(questions.map(textOfQuestion)).size).to.equal(questions.length);
    expect(textOfQuestion(ask("get", "x"))).to.equal(textOfQuestion(ask("get", "x")));
  });

  it("drops an answer with each of its keys", () => {
    for (const key of ["a", "b", "c"]) {
      const store = new CacheStore(1e6);
      keep(store, ask("mget", "a", "b", "c"), "all", ["a", "b", "c"]);
      expect(find(store, ask("mget", "a", "b", "c"))).to.equal("all");
      store.drop(key);
      expect(find(store, ask("mget", "a", "b", "c"))).to.equal(undefined);
      for (const other of ["a", "b", "c"]) store.drop(other);
      expect(store).to.include({ size: 0, bytes: 0 });
      expect(keysIn(store)).to.equal(0);
    }
  });

  it("makes room by what is not asked for", () => {
    const store = new CacheStore(20_000);
    keep(store, ask("get", "wanted"), "x");
    for (let index = 0; index < 1000; index++) {
      const reply = store.find("wanted", specOf("get"), ["wanted"], false);
      if (reply !== null) reply.isVisited = true;
      keep(store, ask("get", `key:${index}`), "x");
    }
    expect(find(store, ask("get", "wanted"))).to.equal("x");
    expect(store.bytes).to.be.at.most(20_000);
    expect(store.evictions).to.be.greaterThan(900);
  });

  it("evicts the oldest reply after a pass in which every reply was used", () => {
    const store = new CacheStore(20_000);
    let count = 0;
    while (store.evictions === 0) keep(store, ask("get", `key:${count++}`), "x");
    const isKept = (index: number): boolean => find(store, ask("get", `key:${index}`)) !== undefined;
    for (let index = 0; index < count; index++) {
      const key = `key:${index}`;
      const reply = store.find(key, specOf("get"), [key], false);
      if (reply !== null) reply.isVisited = true;
    }
    for (const _ of Array(3)) keep(store, ask("get", `key:${count++}`), "x");
    expect([isKept(count - 2), isKept(count - 1)]).to.deep.equal([true, true]);
  });

  it("drops a slot with its keys, those of reads under way included, and no other slot", () => {
    const store = new CacheStore(1e6, true);
    for (const tag of ["x", "y"]) {
      for (const name of ["1", "2", "3"]) keep(store, ask("get", `{${tag}}${name}`), tag);
    }
    const underWay = store.openNode("{x}4");
    store.drop("{x}2");
    expect(store.dropSlot(slotOfKey("x")).sort()).to.deep.equal(["{x}1", "{x}3"]);
    expect(store.has(underWay)).to.equal(false);
    expect(store.size).to.equal(3);
    for (const name of ["1", "2", "3"]) expect(find(store, ask("get", `{y}${name}`))).to.equal("y");
    store.dropAll();
    expect(store.dropSlot(slotOfKey("y"))).to.deep.equal([]);
  });

  it("keeps nothing of a slot without keys", () => {
    const store = new CacheStore(1e6, true);
    for (let index = 0; index < 100; index++) {
      keep(store, ask("get", `${index}`), "value");
      store.drop(`${index}`);
    }
    expect((store as unknown as { slots: ReadonlyMap<number, unknown> }).slots.size).to.equal(0);
  });

  it("drops what came over a connection, and no more", () => {
    const store = new CacheStore(1e6, true);
    const other = new TrackedConnection({ dispatch() {}, dispatchBatch() {} }, { direct: null }, 1000, true);
    keep(store, ask("get", "a"), "mine");
    store.add([store.openNode("a"), store.openNode("b")], ask("mget", "a", "b"), {
      ...contentOf("its"),
      connection: other,
    });
    store.dropConnection(other);
    expect(find(store, ask("get", "a"))).to.equal("mine");
    expect(store).to.include({ size: 1 });
    expect(keysIn(store)).to.equal(1);
  });

  it("counts to zero when everything was dropped, in whatever order", () => {
    const random = randomSource(7);
    const pick = (count: number): number => Math.floor(random() * count);
    const store = new CacheStore(30_000, true);
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`);
    for (let step = 0; step < 20_000; step++) {
      const key = keys[pick(30)] as string;
      const other = keys[pick(30)] as string;
      const kind = pick(10);
      if (kind < 4) keep(store, ask("hget", key, String(pick(20))), "x".repeat(pick(100)));
      else if (kind < 6) keep(store, ask("mget", key, other), "y", [key, other]);
      else if (kind < 8) store.drop(key);
      else if (kind < 9) store.dropSlot(slotOfKey(other));
      else {
        const reply = store.find(key, specOf("mget"), [key, other], false);
        if (reply !== null) store.remove(reply);
      }
      expect(store.bytes).to.be.within(0, 30_000);
    }
    for (const key of keys) store.drop(key);
    expect(store).to.include({ size: 0, bytes: 0 });
    expect(keysIn(store)).to.equal(0);
  });
});
