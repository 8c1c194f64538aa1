/** A scan over a cluster goes on when a connection is lost, also where no command may be sent twice: SCAN changes nothing. */

import { expect } from "chai";
import { FakeClusterFixture, OTHER, OWNER } from "../support/fake-cluster-fixture";
import { NO_REPLY } from "../support/fake-server";

describe("cluster: a scan over a connection that is cut", () => {
  const fixture = new FakeClusterFixture().install();

  for (const retryPolicy of ["at-least-once", "reads-only", "at-most-once"] as const) {
    it(`gives each element, ${retryPolicy}`, async () => {
      let cuts = 0;
      for (const index of [OWNER, OTHER]) {
        fixture.fake.node(index).script = ([name], { socket }) => {
          if (name !== "scan") return undefined;
          if (index === OWNER && cuts++ === 0) {
            socket.destroy();
            return NO_REPLY;
          }
          return ["0", [`of ${index}`]];
        };
      }
      const cluster = fixture.connect({ retryPolicy });
      const found = new Set<unknown>();
      for await (const page of cluster.scanStream()) for (const one of page) found.add(one);
      expect([...found].sort()).to.deep.equal([`of ${OWNER}`, `of ${OTHER}`].sort());
      expect(cuts).to.equal(2);
    });
  }
});
