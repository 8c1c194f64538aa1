/** A limit of requests that are served together: who is served at once, who waits, and who is skipped. */

import { expect } from "chai";
import { Quota } from "../../../src/leases/quota";

describe("Quota", () => {
  let served: string[];
  let unwanted: Set<string>;
  let quota: Quota<string>;

  beforeEach(() => {
    served = [];
    unwanted = new Set();
    quota = new Quota(2, (request) => {
      if (unwanted.has(request)) return false;
      served.push(request);
      return true;
    });
  });

  const request = (...names: string[]): void => {
    for (const name of names) quota.request(name);
  };

  it("serves requests at once up to the limit, and later ones in order", () => {
    request("a", "b", "c", "d");
    expect([served, quota.waitingCount]).to.deep.equal([["a", "b"], 2]);
    expect([quota.waitingAt(0), quota.waitingAt(1)]).to.deep.equal(["c", "d"]);
    quota.release();
    expect(served).to.deep.equal(["a", "b", "c"]);
    quota.release();
    expect([served, quota.waitingCount]).to.deep.equal([["a", "b", "c", "d"], 0]);
  });

  it("has room again after releases without waiting requests", () => {
    request("a", "b");
    quota.release();
    quota.release();
    request("c", "d", "e");
    expect([served, quota.waitingCount]).to.deep.equal([["a", "b", "c", "d"], 1]);
  });

  it("skips requests that are no longer wanted, and gives their place to the next ones", () => {
    request("a", "b", "c", "d", "e");
    unwanted.add("c").add("d");
    quota.release();
    expect([served, quota.waitingCount]).to.deep.equal([["a", "b", "e"], 0]);
    quota.release();
    unwanted.add("f");
    request("f", "g");
    expect(served).to.deep.equal(["a", "b", "e", "g"]);
  });

  it("gives waiting requests away, and serves later ones", () => {
    request("a", "b", "c", "d");
    expect(quota.takeWaiting()).to.deep.equal(["c", "d"]);
    expect([quota.takeWaiting(), quota.waitingCount]).to.deep.equal([[], 0]);
    quota.release();
    request("e");
    expect(served).to.deep.equal(["a", "b", "e"]);
  });

  it("serves each request once if it is released while it is served", () => {
    const order: string[] = [];
    const own: Quota<string> = new Quota(1, (name) => {
      order.push(name);
      if (name !== "c") own.release();
      return true;
    });
    for (const name of ["a", "b", "c", "d"]) own.request(name);
    expect([order, own.waitingCount]).to.deep.equal([["a", "b", "c"], 1]);
  });

  it("serves nobody without a limit above zero", () => {
    const none = new Quota<string>(0, () => {
      throw new Error("It was served");
    });
    none.request("a");
    expect(none.waitingCount).to.equal(1);
  });
});
