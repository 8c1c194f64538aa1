/** Keys that commands under way may change: nothing of them is kept until the last of these commands has ended. */

import { expect } from "chai";
import type { CacheStore } from "../../../src/caching/cache-store";
import { Hold, Holds } from "../../../src/caching/holds";

describe("Holds", () => {
  let dropped: string[];
  let holds: Holds;

  beforeEach(() => {
    dropped = [];
    const store = {
      drop: (key: string) => void dropped.push(key),
      dropAll: () => void dropped.push("*"),
    };
    holds = new Holds(store as unknown as CacheStore);
  });

  const isHeld = (...keys: string[]): boolean => holds.isHeld(keys.map((key) => ({ key })));

  it("hold a key until the last command that may change it has ended, and drop it at both ends", () => {
    const [first, second] = [new Hold([holds]), new Hold([holds])];
    first.take("a");
    second.take("a");
    expect([isHeld("a"), isHeld("b"), isHeld("b", "a")]).to.deep.equal([true, false, true]);
    first.onSettled();
    expect(isHeld("a")).to.equal(true);
    second.onSettled();
    expect(isHeld("a")).to.equal(false);
    expect(dropped).to.deep.equal(["a", "a", "a", "a"]);
  });

  it("release every key of a command, and each as often as it was taken", () => {
    const hold = new Hold([holds]);
    for (const key of ["a", "b", "a"]) hold.take(key);
    hold.onSettled();
    expect([isHeld("a"), isHeld("b")]).to.deep.equal([false, false]);
    expect(dropped.slice(3)).to.deep.equal(["a", "b", "a"]);
  });

  it("release once, however often a command is said to have ended", () => {
    const [first, second] = [new Hold([holds]), new Hold([holds])];
    first.take("a");
    second.take("a");
    first.onSettled();
    first.onSettled();
    first.onSettled();
    expect(isHeld("a")).to.equal(true);
  });

  it("hold everything for a command of which no keys are known", () => {
    const [first, second] = [new Hold([holds]), new Hold([holds])];
    first.take(null);
    second.take(null);
    expect([isHeld("a"), isHeld()]).to.deep.equal([true, true]);
    first.onSettled();
    first.onSettled();
    expect(isHeld("a")).to.equal(true);
    second.onSettled();
    expect(isHeld("a")).to.equal(false);
    expect(dropped).to.deep.equal(["*", "*", "*", "*"]);
  });
});
