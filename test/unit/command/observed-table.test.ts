import { expect } from "chai";
import { observedTable } from "../../../src/command/observed-table";

describe("watched table", () => {
  it("tells of every change, however it is made", () => {
    const changes: string[] = [];
    const table = observedTable<number>({ a: 1 }, (key) => changes.push(`${key}=${table[key]}`));
    table.a = 2;
    table.b = 3;
    Object.assign(table, { c: 4 });
    Object.defineProperty(table, "d", { value: 5 });
    delete table.a;
    expect(changes).to.deep.equal(["a=2", "b=3", "c=4", "d=5", "a=undefined"]);
    expect(Object.keys(table)).to.deep.equal(["b", "c"]);
  });

  it("has no words but its own", () => {
    const initial = { a: 1 };
    const table = observedTable<unknown>(initial, () => {});
    expect(table.constructor).to.equal(undefined);
    expect(table["toString"]).to.equal(undefined);
    table.a = 2;
    expect(initial.a).to.equal(1);
  });

  it("refuses what cannot be done as an ordinary object does", () => {
    const changes: string[] = [];
    const table = observedTable<number>({}, (key) => changes.push(key));
    Object.defineProperty(table, "fixed", { value: 1 });
    expect(() => {
      table.fixed = 2;
    }).to.throw(TypeError);
    expect(() => delete table.fixed).to.throw(TypeError);
    expect(changes).to.deep.equal(["fixed"]);
  });
});
