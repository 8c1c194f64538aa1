/**
 * On a cluster merging changes neither what callers are told nor what is left behind: at random, and while a slot
 * lies on two nodes, so that a merged command is refused that none of its members would have been.
 */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import fc from "fast-check";
import type { Cluster, Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { ALL_MERGEABLE, contentOf, outcomesOf, type Program, programsOn } from "../support/merged-programs";
import { fixedRuns } from "../support/properties";
import { serverKinds } from "../support/shared-servers";

const LONG = process.env.SLUICE_LONG === "1";
const PROGRAMS = 60;
const SHRINKING_MS = 60_000;

/** Of one slot, and of others. */
const NEAR = ["{a}k", "{a}l", Buffer.from("{a}k")];
const FAR = ["{b}k", "{c}ö", "d"];

const MANY = 8;

for (const kind of serverKinds()) {
  describe(`merging on a cluster, ${kind}`, function () {
    this.timeout(LONG ? 3_600_000 : 120_000);
    const fixture = new ClusterFixture(kind).install();

    const flush = async (): Promise<void> => {
      for (const master of await fixture.cluster.masters()) await master.command("FLUSHALL");
    };
    const contentNow = async (cluster: Cluster): Promise<unknown[]> => {
      const contents = await Promise.all(cluster.nodes("master").map((node) => contentOf(node as Redis)));
      return contents.flat().sort((one, other) => String(one).localeCompare(String(other)));
    };
    const open = async (merges: boolean, coalesce = false): Promise<Cluster> => {
      const merge = [...ALL_MERGEABLE];
      const cluster = fixture.connect({ enableAutoPipelining: merges ? { merge, coalesce } : true });
      await untilClusterReady(cluster);
      return cluster;
    };
    const callsOf = async (name: string): Promise<number> => {
      let calls = 0;
      for (const master of await fixture.cluster.masters()) {
        const text = String(await master.command("INFO", "commandstats"));
        calls += Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
      }
      return calls;
    };

    for (const coalesce of [false, true]) {
      it(`callers are told the same, and the same is left behind${coalesce ? ", with coalesce" : ""}`, async () => {
        const merged = await open(true, coalesce);
        const plain = await open(false);
        let firstFailureMs = Number.POSITIVE_INFINITY;
        await fc.assert(
          fc.asyncProperty(programsOn(NEAR, FAR), async (program: Program) => {
            if (performance.now() - firstFailureMs > SHRINKING_MS) return;
            try {
              await flush();
              const told = await outcomesOf(merged, program, true);
              const left = await contentNow(merged);
              await flush();
              expect(told).to.deep.equal(await outcomesOf(plain, program, false));
              expect(left).to.deep.equal(await contentNow(plain));
            } catch (error) {
              firstFailureMs = Math.min(firstFailureMs, performance.now());
              throw error;
            }
          }),
          fixedRuns(PROGRAMS) as fc.Parameters<[Program]>,
        );
        for (const name of ["mget", "hmget", "mset"]) expect(await callsOf(name), name).to.be.greaterThan(0);
      });
    }

    it("a user of a part of the keys gets what each command gets by itself", async () => {
      await flush();
      for (const master of await fixture.cluster.masters()) {
        await master.command("ACL", "SETUSER", "narrow", "on", ">pw", "~{a}k*", "+@all");
      }
      const cluster = fixture.connect({
        enableAutoPipelining: { merge: ["get", "set"] },
        redisOptions: { username: "narrow", password: "pw" },
      });
      await untilClusterReady(cluster);
      const outcome = (call: Promise<unknown>) => call.catch((error: Error) => error.message.slice(0, 6));
      for (let turn = 0; turn < 3; turn++) {
        const reads = ["{a}k", "{a}l", "{a}k2"].map((key) => outcome(cluster.get(key)));
        const writes = ["{a}k", "{a}l"].map((key) => outcome(cluster.set(key, String(turn))));
        const last = turn === 0 ? null : String(turn - 1);
        expect(await Promise.all([...reads, ...writes])).to.deep.equal([
          last,
          "NOPERM",
          null,
          "OK",
          "NOPERM",
        ]);
      }
      for (const master of await fixture.cluster.masters()) await master.command("ACL", "DELUSER", "narrow");
    });

    it("keys of a slot that lies on two nodes are read and written as if singly", async () => {
      await flush();
      const merged = await open(true);
      const keys = Array.from({ length: MANY }, (_, index) => `{a}${index}`);
      const read = (): Promise<unknown[]> => Promise.all(keys.map((key) => merged.get(key)));
      await Promise.all(keys.map((key) => merged.set(key, key)));
      await read();
      const slot = calculateSlot("{a}");
      const source = await fixture.cluster.ownerOf(slot);
      const masters = await fixture.cluster.masters();
      const target = masters.find((master) => master !== source) as typeof source;
      await fixture.cluster.beginMigration(slot, target);
      await source.command("MIGRATE", target.host, target.port, "", 0, 5000, "KEYS", ...keys.slice(0, 3));
      const before = await callsOf("mget");
      expect(await read()).to.deep.equal(keys);
      const rows = await merged
        .pipeline(
          keys.map((key) => ["get", key]),
          { merge: ["get"] },
        )
        .exec();
      expect(rows).to.deep.equal(keys.map((key) => [null, key]));
      await Promise.all(keys.map((key) => merged.set(key, `${key}!`)));
      expect(await read()).to.deep.equal(keys.map((key) => `${key}!`));
      // They were tried, and refused.
      expect(await callsOf("mget")).to.be.at.least(before);
      await fixture.cluster.moveKeys(slot, source, target);
      await fixture.cluster.endMigration(slot, target);
      expect(await read()).to.deep.equal(keys.map((key) => `${key}!`));
      await fixture.cluster.moveSlot(slot, source);
    });
  });
}
