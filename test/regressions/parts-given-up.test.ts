/**
 * A command that a cluster client splits over several nodes, and a time limit that ends it: the error says that it
 * may have run as soon as one part was written.
 */

import { expect } from "chai";
import { mayHaveRun } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture, KEY, OTHER, OWNER } from "../support/fake-cluster-fixture";
import { NO_REPLY } from "../support/fake-server";
import { failureOf } from "../support/outcome";

/** A key of the other node. */
const OTHER_KEY = "bar";

describe("a split command that is given up", () => {
  const fixture = new FakeClusterFixture().install();

  const cases: Record<string, readonly number[]> = {
    "no part is answered": [],
    "one part is answered": [OTHER],
  };

  for (const [title, answering] of Object.entries(cases)) {
    it(`may have run: ${title}`, async () => {
      for (const index of [OWNER, OTHER])
        fixture.fake.node(index).script = ([name]) =>
          name === "del" ? (answering.includes(index) ? 1 : NO_REPLY) : undefined;
      const cluster = fixture.connect({ followCommandTips: true });
      await untilClusterReady(cluster);
      const error = await failureOf(cluster.with({ timeout: 50 }).del(KEY, OTHER_KEY));
      expect(error).to.have.property("code", "COMMAND_TIMEOUT");
      expect(mayHaveRun(error)).to.equal(true);
      expect(error).to.have.nested.property("details.phase", "waiting");
      const servers = fixture.fake.nodes.map(({ key }) => key);
      expect(servers).to.include((error as { details?: { server?: string } }).details?.server);
    });
  }
});
