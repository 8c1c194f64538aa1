import { expect } from "chai";
import fc from "fast-check";
import { Deque } from "../../../src/util/deque";

interface Item {
  readonly number: number;
}

type Step = "push" | "unshift" | "shift" | "clear" | "rebuild";

const STEPS: readonly Step[] = ["push", "unshift", "shift", "clear", "rebuild"];
const step = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom<Step>("push", "unshift") },
  { weight: 8, arbitrary: fc.constant<Step>("shift") },
  { weight: 1, arbitrary: fc.constantFrom<Step>(...STEPS) },
);

describe("Deque", () => {
  it("holds what an array holds, in the same order", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        let deque = new Deque<Item>();
        let model: Item[] = [];
        steps.forEach((name, number) => {
          if (name === "push") {
            deque.push({ number });
            model.push({ number });
          } else if (name === "unshift") {
            deque.unshift({ number });
            model.unshift({ number });
          } else if (name === "shift") expect(deque.shift()).to.deep.equal(model.shift());
          else if (name === "clear") {
            deque.clear();
            model = [];
          } else deque = new Deque(model);
          expect(deque.length).to.equal(model.length);
          expect(deque.peekFront()).to.deep.equal(model[0]);
          expect(deque.peekAt(number % 7)).to.deep.equal(model[number % 7]);
        });
        expect(deque.toArray()).to.deep.equal(model);
      }),
    );
  });

  it("stays right through the growth and the return of a large ring", () => {
    const deque = new Deque<Item>();
    for (let round = 0; round < 2; round++) {
      for (let number = 0; number < 50_000; number++) deque.push({ number });
      for (let number = 0; number < 50_000; number++) expect(deque.shift()?.number).to.equal(number);
      expect(deque.length).to.equal(0);
      expect(deque.shift()).to.equal(undefined);
      expect(deque.peekFront()).to.equal(undefined);
    }
  });
});
