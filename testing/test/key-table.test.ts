/** The keys of a database of the test server against a plain map that is copied whole at each snapshot. */

import { expect } from "chai";
import fc from "fast-check";
import type { Entry } from "../src/keyspace/entry";
import { KeyTable } from "../src/keyspace/key-table";

type Step =
  | { readonly kind: "set"; readonly key: string; readonly value: string }
  | { readonly kind: "delete"; readonly key: string }
  | { readonly kind: "clear" }
  | { readonly kind: "snapshot" }
  | { readonly kind: "restore"; readonly back: number };

const key = fc.constantFrom("a", "b", "c", "d", "e");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("set" as const), key, value: fc.string() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("delete" as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("snapshot" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restore" as const), back: fc.nat(30) }) },
);

function entryOf(value: string): Entry {
  return { value, expireAt: 0, epoch: 0, usedAt: 0, form: "plain" };
}

function contentOf(table: KeyTable): Record<string, unknown> {
  return Object.fromEntries([...table].map(([name, { value }]) => [name, value]));
}

describe("key table of the test server", () => {
  it("holds what a map holds that is copied at each snapshot", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const table = new KeyTable();
        let model = new Map<string, string>();
        let snapshots: { readonly id: number; readonly content: Map<string, string> }[] = [];
        let lastId = 0;
        for (const one of steps) {
          if (one.kind === "set") {
            table.set(one.key, entryOf(one.value));
            model.set(one.key, one.value);
          } else if (one.kind === "delete") {
            table.delete(one.key);
            model.delete(one.key);
          } else if (one.kind === "clear") {
            table.replace();
            model = new Map();
          } else if (one.kind === "snapshot") {
            table.snapshot(++lastId);
            snapshots.push({ id: lastId, content: new Map(model) });
          } else {
            const index = snapshots.length - 1 - one.back;
            const wanted = snapshots[index];
            const gone = wanted === undefined ? [] : snapshots.slice(index + 1);
            expect(table.restore(wanted?.id ?? lastId + 1)).to.equal(wanted !== undefined);
            if (wanted !== undefined) model = new Map(wanted.content);
            for (const { id } of gone) expect(table.restore(id)).to.equal(false);
            if (wanted !== undefined) snapshots = snapshots.slice(0, index + 1);
          }
          expect(table.size).to.equal(model.size);
          expect(contentOf(table)).to.deep.equal(Object.fromEntries(model));
          for (const name of ["a", "b", "c", "d", "e"])
            expect(table.get(name)?.value).to.equal(model.get(name));
        }
      }),
      { numRuns: 500 },
    );
  });
});
