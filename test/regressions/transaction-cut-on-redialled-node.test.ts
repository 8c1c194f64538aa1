/**
 * A transaction whose connection breaks between QUEUED and the reply of EXEC, on a cluster node
 * that is dialled again (`clusterNodeRetryStrategy`): what is left of it must not go out alone.
 */

import { expect } from "chai";
import { FakeClusterFixture, KEY, OWNER } from "../support/fake-cluster-fixture";
import { NO_REPLY, status } from "../support/fake-server";
import { outcomeOf } from "../support/outcome";

describe("cluster: a transaction that is cut on a node that is dialled again", () => {
  const fixture = new FakeClusterFixture().install();

  for (const answered of ["multi", "incr"] as const) {
    it(`goes again whole or not at all, cut behind the reply to ${answered}`, async () => {
      const owner = fixture.fake.node(OWNER);
      let cuts = 0;
      let open = false;
      owner.script = ([word = ""], { socket }) => {
        const name = word.toLowerCase();
        if (name === "multi") open = true;
        if (name === "exec" && !open) return new Error("ERR EXEC without MULTI");
        if (name === answered && cuts === 0) {
          cuts++;
          open = false;
          socket.end(name === "multi" ? "+OK\r\n" : "+QUEUED\r\n");
          return NO_REPLY;
        }
        if (cuts === 1 && socket.writableEnded) return NO_REPLY;
        if (name === "multi") return status("OK");
        if (name === "incr") return status("QUEUED");
        if (name !== "exec") return undefined;
        open = false;
        return [1];
      };
      const cluster = fixture.connect({ clusterNodeRetryStrategy: () => 5 });
      const outcome = await outcomeOf(cluster.multi().incr(KEY).exec());
      // Both are honest: all of it once more, or an error that claims nothing.
      if (outcome[0] === "fulfilled") expect(outcome[1]).to.deep.equal([[null, 1]]);
      else expect(outcome[1]).to.match(/Outcome unknown/);
      const sent = owner.server.received
        .map(([name]) => name)
        .filter((name) => /^(multi|incr|exec)$/.test(name ?? ""));
      expect(sent.length % 3, sent.join(" ")).to.equal(0);
    });
  }
});
