/** The messages of a cache to the channel `sluice:cache`: sums over short times, and no timer while nobody listens. In virtual time. */

import diagnostics from "node:diagnostics_channel";
import { expect } from "chai";
import type { CacheReport, CacheStats } from "../../../src/caching/cache-report";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

const INTERVAL_MS = 100;
const NOTHING = {
  hits: 0,
  misses: 0,
  joined: 0,
  stores: 0,
  evictions: 0,
  invalidations: 0,
  entries: 0,
  bytes: 0,
};
type Figures = { -readonly [Name in keyof CacheStats]: CacheStats[Name] };

describe("CacheReport", () => {
  let home: InVirtualTime<typeof import("../../../src/caching/cache-report")>;
  let figures: Figures;
  let report: CacheReport;
  let heard: object[];
  const listener = (message: unknown): void => void heard.push(message as object);
  const listen = (): void => diagnostics.subscribe("sluice:cache", listener);

  before(() => {
    home = inVirtualTime(() => require("../../../src/caching/cache-report"));
  });

  beforeEach(() => {
    home.time.reset();
    heard = [];
    figures = { ...NOTHING };
    const place = () => ({ serverAddress: "host", serverPort: 1 });
    report = new home.modules.CacheReport(() => ({ ...figures }), place);
  });

  afterEach(() => void diagnostics.unsubscribe("sluice:cache", listener));

  it("does nothing while nobody listens", async () => {
    report.note();
    expect(home.time.pending).to.equal(0);
  });

  it("adds up what is done in one interval, from before the first thing on", async () => {
    listen();
    figures.hits = 5;
    report.note();
    figures.hits = 7;
    report.note();
    Object.assign(figures, {
      misses: 2,
      joined: 3,
      stores: 4,
      evictions: 5,
      invalidations: 6,
      entries: 8,
      bytes: 9,
    });
    await home.pass(INTERVAL_MS);
    const counted = {
      hits: 2,
      misses: 2,
      joined: 3,
      stores: 4,
      evictions: 5,
      invalidations: 6,
      entries: 8,
      bytes: 9,
    };
    expect(heard).to.deep.equal([
      { ...counted, intervalMs: INTERVAL_MS, serverAddress: "host", serverPort: 1 },
    ]);
  });

  it("goes on as long as something is done, and then rests without a timer", async () => {
    listen();
    report.note();
    figures.misses++;
    await home.pass(INTERVAL_MS);
    figures.misses += 2;
    await home.pass(INTERVAL_MS);
    await home.pass(INTERVAL_MS);
    expect(heard.map((one) => (one as CacheStats).misses)).to.deep.equal([1, 2]);
    await home.pass(1);
    expect(home.time.pending).to.equal(0);
    report.note();
    figures.misses++;
    await home.pass(INTERVAL_MS);
    expect(heard.length).to.equal(3);
  });

  it("tells of any of the counts, but not of what the cache holds alone", async () => {
    listen();
    for (const name of ["hits", "misses", "joined", "stores", "evictions", "invalidations"] as const) {
      report.note();
      figures[name]++;
      await home.pass(2 * INTERVAL_MS);
    }
    expect(heard.length).to.equal(6);
    report.note();
    figures.entries++;
    figures.bytes++;
    await home.pass(INTERVAL_MS);
    expect(heard.length).to.equal(6);
  });

  it("ends with the interval in which the last listener goes", async () => {
    listen();
    report.note();
    figures.hits++;
    diagnostics.unsubscribe("sluice:cache", listener);
    await home.pass(INTERVAL_MS + 1);
    expect([heard.length, home.time.pending]).to.deep.equal([0, 0]);
  });
});
