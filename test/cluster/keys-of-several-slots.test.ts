/** Commands whose keys are in several slots: no server of a cluster runs one, or the client refuses it. A part of the keys would be lost. */

import { expect } from "chai";
import { specOf } from "../../src/command/command-table";
import { keyPositions } from "../../src/command/key-positions";
import type { Cluster } from "../../src/index";
import { ClusterFixture } from "../support/cluster-fixture";
import { COMMAND_CORPUS } from "../support/command-corpus";
import { errorOf } from "../support/outcome";
import { serverKinds } from "../support/shared-servers";

/** Refused as a whole, or for another reason. */
const REFUSALS = /^(CROSSSLOT|ERR unknown command|ERR GET option of SORT denied)/;

/** Split by keys with `followCommandTips`. */
const SPLIT = new Set(["del", "exists", "mget", "mset", "touch", "unlink"]);

for (const kind of serverKinds()) {
  describe(`cluster: keys of several slots, ${kind}`, () => {
    const fixture = new ClusterFixture(kind);
    fixture.install();

    for (const followCommandTips of [false, true]) {
      it(`are refused by every command that takes several keys, with followCommandTips ${followCommandTips}`, async () => {
        const cluster = fixture.connect({ followCommandTips });
        let count = 0;
        for (const { word, args, text } of COMMAND_CORPUS) {
          const positions = keyPositions(specOf(word), args);
          if (positions.length < 2 || (followCommandTips && SPLIT.has(word.toLowerCase()))) continue;
          count++;
          const spread = [...args];
          for (const [place, position] of positions.entries()) spread[position] = `key{${place}}`;
          expect((await errorOf(cluster.call(word, ...spread)))?.message, text).to.match(REFUSALS);
        }
        expect(count).to.be.greaterThan(30);
      });
    }

    for (const followCommandTips of [false, true]) {
      it(`MSETEX stores none of them, with followCommandTips ${followCommandTips}`, async () => {
        const cluster = fixture.connect({ followCommandTips });
        const keys = Array.from({ length: 10 }, (_, index) => `key:${followCommandTips}:${index}`);
        const msetex = [
          "msetex",
          String(keys.length),
          ...keys.flatMap((key) => [key, "value"]),
          "EX",
          "100",
        ] as const;
        const ways: ((client: Cluster) => Promise<unknown>)[] = [
          (client) => client.call(...msetex),
          (client) => client.call("MSETEX", ...msetex.slice(1)),
          async (client) =>
            (
              await client
                .pipeline()
                .get("other")
                .call(...msetex)
                .exec()
            )?.[1]?.[0] ?? null,
        ];
        for (const way of ways) {
          const outcome = await way(cluster).catch((error: Error) => error);
          expect((outcome as Error).message).to.match(/^CROSSSLOT/);
        }
        for (const key of keys) expect(await cluster.get(key)).to.equal(null);
      });
    }

    it("MSETEX stores keys of one slot where the server knows it", async () => {
      const cluster = fixture.connect({ followCommandTips: true });
      const outcome = await cluster.call("msetex", "2", "{t}a", "1", "{t}b", "2", "EX", "100").catch(String);
      if (!String(outcome).includes("unknown command")) expect(await cluster.get("{t}b")).to.equal("2");
    });
  });
}
