import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "chai";
import { asCallback, callSafely, takeCallback } from "../../../src/util/callback";

/** Runs the work and returns what became an uncaught exception meanwhile. */
async function uncaughtDuring(work: () => void): Promise<unknown[]> {
  const uncaught: unknown[] = [];
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const note = (error: unknown): void => void uncaught.push(error);
  process.on("uncaughtException", note);
  try {
    work();
    await nextTurn();
    await nextTurn();
  } finally {
    process.off("uncaughtException", note);
    for (const listener of others) process.on("uncaughtException", listener);
  }
  return uncaught;
}

async function heardFrom(promise: Promise<unknown>): Promise<unknown[]> {
  return new Promise((resolve) => asCallback(promise, (...args) => resolve(args)).catch(() => {}));
}

describe("asCallback", () => {
  it("gives (null, result), null results included", async () => {
    expect(await heardFrom(Promise.resolve(7))).to.deep.equal([null, 7]);
    expect(await heardFrom(Promise.resolve(null))).to.deep.equal([null, null]);
    expect(await heardFrom(Promise.resolve(0))).to.deep.equal([null, 0]);
  });

  it("gives just (null) for undefined, and (error)", async () => {
    const error = new Error("no");
    expect(await heardFrom(Promise.resolve(undefined))).to.deep.equal([null]);
    expect(await heardFrom(Promise.reject(error))).to.deep.equal([error]);
  });

  it("returns the promise itself", async () => {
    const promise = Promise.resolve(1);
    expect(asCallback(promise)).to.equal(promise);
    expect(asCallback(promise, () => {})).to.equal(promise);
  });

  it("counts as handling a failure", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    asCallback(Promise.reject(new Error("no")), () => {});
    await nextTurn();
    await nextTurn();
    process.off("unhandledRejection", note);
    expect(unhandled).to.deep.equal([]);
  });

  it("makes what the callback throws an uncaught exception and disturbs nobody", async () => {
    const boom = new Error("boom");
    const order: string[] = [];
    const uncaught = await uncaughtDuring(() => {
      asCallback(Promise.resolve(1), () => {
        order.push("first");
        throw boom;
      });
      asCallback(Promise.resolve(2), () => order.push("second"));
    });
    expect(uncaught).to.deep.equal([boom]);
    expect(order).to.deep.equal(["first", "second"]);
  });
});

describe("callSafely", () => {
  it("throws on a later tick only", async () => {
    const boom = new Error("boom");
    const uncaught = await uncaughtDuring(() =>
      callSafely(() => {
        throw boom;
      }, null),
    );
    expect(uncaught).to.deep.equal([boom]);
  });
});

describe("takeCallback", () => {
  it("takes a function at the end only", () => {
    const callback = (): void => {};
    const args: unknown[] = ["k", callback];
    expect(takeCallback(args)).to.equal(callback);
    expect(args).to.deep.equal(["k"]);
    expect(takeCallback([callback, "k"])).to.equal(null);
    expect(takeCallback([])).to.equal(null);
  });
});
