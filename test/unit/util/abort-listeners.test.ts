/** One listener at a signal for any number of calls, and none when no call is left. */

import { expect } from "chai";
import { listenToAbort, stopListening } from "../../../src/util/abort-listeners";

describe("listenToAbort", () => {
  let controller: AbortController;
  let registered: string[];
  let heard: string[];

  beforeEach(() => {
    controller = new AbortController();
    registered = [];
    heard = [];
    const { signal } = controller;
    const [add, remove] = [signal.addEventListener, signal.removeEventListener];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      registered.push("added");
      add.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      registered.push("removed");
      remove.apply(signal, args);
    };
  });

  it("calls all of them, in their order, and listens once", () => {
    for (const word of ["a", "b", "c"]) listenToAbort(controller.signal, () => heard.push(word));
    expect(registered).to.deep.equal(["added"]);
    controller.abort();
    expect(heard).to.deep.equal(["a", "b", "c"]);
  });

  it("calls none that has left, and listens as long as one is there", () => {
    const { signal } = controller;
    const [first, second] = [() => heard.push("first"), () => heard.push("second")];
    listenToAbort(signal, first);
    listenToAbort(signal, second);
    stopListening(signal, first);
    expect(registered).to.deep.equal(["added"]);
    controller.abort();
    expect(heard).to.deep.equal(["second"]);
    stopListening(signal, second);
    expect(registered).to.deep.equal(["added", "removed"]);
  });

  it("listens anew after the last one has left", () => {
    const { signal } = controller;
    const listener = () => heard.push("again");
    listenToAbort(signal, listener);
    stopListening(signal, listener);
    stopListening(signal, listener);
    listenToAbort(signal, listener);
    expect(registered).to.deep.equal(["added", "removed", "added"]);
    controller.abort();
    expect(heard).to.deep.equal(["again"]);
  });

  it("calls those too that leave while it calls, and does not care for strangers", () => {
    const { signal } = controller;
    const second = () => heard.push("second");
    listenToAbort(signal, () => {
      heard.push("first");
      stopListening(signal, second);
    });
    listenToAbort(signal, second);
    stopListening(signal, () => {});
    stopListening(new AbortController().signal, second);
    controller.abort();
    expect(heard).to.deep.equal(["first", "second"]);
  });
});
