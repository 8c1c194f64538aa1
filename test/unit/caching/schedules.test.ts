/** Random orders of replies, invalidations, own writes, writes of others and lost connections. */

import { expect } from "chai";
import { randomSource } from "../../support/random";
import { CacheModel, KEYS, type Key, type Pick } from "./cache-model";

const SCHEDULES = process.env.SLUICE_LONG === "1" ? 40_000 : 300;
const STEPS = 60;

type Step = (model: CacheModel, key: Key, pick: Pick) => void;

const STEPS_OF_CLIENT: readonly Step[] = [
  (model, key) => void model.read(key),
  (model, key) => void model.read(key),
  (model, key) => void model.read(key),
  (model, key) => model.issue(model.write([key])),
  (model, key) => model.issue(model.write([key], "eval")),
  (model) => model.issue(model.write(KEYS, "eval")),
  (model, key) => model.issue(model.read(key, true), model.write([key]), model.read(key, true)),
  (model, key, pick) => model.issue(...model.transaction([key, KEYS[pick(3)] as Key])),
];
const STEPS_OF_OTHERS: readonly Step[] = [
  (model, _key, pick) => model.execute(pick),
  (model, _key, pick) => model.execute(pick),
  (model, _key, pick) => model.execute(pick),
  (model) => model.deliver(),
  (model) => model.deliver(),
  (model) => model.deliver(),
  (model) => model.deliver(),
  (model, key, pick) => model.changeByOther(key, pick),
];
const RARE: readonly Step[] = [
  (model, _key, pick) => model.flushByOther(pick),
  (model) => model.lose(),
  (model) => model.connect(),
  (model) => model.connect(),
  (model) => model.cache.clear(),
];
const BESIDE: readonly Step[] = [
  (model, key) => model.writeBeside(key),
  (model, _key, pick) => model.executeBeside(pick),
  (model) => model.deliverBeside(),
];

function choose<T>(list: readonly T[], pick: Pick): T {
  return list[pick(list.length)] as T;
}

function stepsFor(pick: Pick): readonly Step[] {
  const kind = pick(20);
  if (kind < 9) return STEPS_OF_OTHERS;
  if (kind < 16) return STEPS_OF_CLIENT;
  return kind < 19 ? BESIDE : RARE;
}

for (const mode of ["optin", "all", "broadcast"] as const) {
  describe(`a cache (${mode}) under random schedules`, function () {
    this.timeout(SCHEDULES * 50 + 30_000);

    it("never answers with less than was known, and ends with what the server has", () => {
      let hits = 0;
      let reads = 0;
      for (let seed = 1; seed <= SCHEDULES; seed++) {
        const random = randomSource(seed);
        const pick: Pick = (count) => Math.floor(random() * count);
        const model = new CacheModel(mode);
        for (let step = 0; step < STEPS; step++)
          choose(stepsFor(pick), pick)(model, choose(KEYS, pick), pick);
        model.settle(pick);
        expect(model.violations, `seed ${seed}`).to.deep.equal([]);
        hits += model.cache.stats().hits;
        reads += model.reads;
      }
      // A cache that keeps nothing would pass as well.
      expect(hits / reads).to.be.greaterThan(0.1);
    });
  });
}
