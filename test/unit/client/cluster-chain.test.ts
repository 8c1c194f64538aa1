/** The dispatchers in front of a cluster's router: which stand there, and in which order. */

import { expect } from "chai";
import { ClusterChain } from "../../../src/client/cluster/cluster-chain";
import { EXECUTE } from "../../../src/command/commander";
import type { Dispatcher } from "../../../src/command/dispatcher";

const router: Dispatcher = { dispatch() {}, dispatchBatch() {} };

describe("ClusterChain", () => {
  function make(cache?: boolean | object | null): ClusterChain {
    const client = {
      options: { cache },
      emit: () => true,
      silentEmit: () => true,
      [EXECUTE]: async () => {},
    };
    return new ClusterChain(client as never);
  }

  it("is nothing but the router with default options", () => {
    for (const cache of [undefined, null, false]) {
      const chain = make(cache);
      expect([chain.joinTo(router, undefined, false), chain.caching, chain.admission]).to.deep.equal([
        router,
        null,
        null,
      ]);
      expect([chain.cache.peek("get", "k"), chain.cache.stats().hits]).to.deep.equal([undefined, 0]);
    }
  });

  it("bounds what goes to the router", () => {
    const chain = make();
    const top = chain.joinTo(router, { maxCommands: 1 }, false);
    expect(top).to.equal(chain.admission);
    expect(chain.admission?.next).to.equal(router);
  });

  it("has the cache in front of everything, whatever it is told about it", () => {
    for (const cache of [true, { maxBytes: 1000 }]) {
      const chain = make(cache);
      expect(chain.cache).to.equal(chain.caching?.cache);
      expect(chain.joinTo(router, undefined, false)).to.equal(chain.caching?.cache);
      expect(chain.caching?.cache.next).to.equal(router);
      expect(chain.joinTo(router, {}, false)).to.equal(chain.caching?.cache);
      expect(chain.admission?.next).to.equal(router);
      expect(chain.caching?.cache.next).to.equal(chain.admission);
    }
  });
});
