/** The figures of docs/caching.md, from stored results: cache hits, and a service that relies on them. */

import type { SideName } from "../sides/all-sides";
import type { Results } from "../support/results-store";
import { type Column, CPU } from "../support/scenario";
import { formatFigure, markdownTable } from "./format";
import { figureOf } from "./tables";

const HIT: Column = { ...CPU, digits: 3 };
const REQUEST: Column = { figure: "cpuMicros", title: "", digits: 1, pick: "least" };
const FLOOR: Column = { ...REQUEST, figure: "floorMicros" };

const HITS: readonly { readonly id: string; readonly title: string }[] = [
  { id: "cached-awaited-ready", title: "hit, awaited, key at hand" },
  { id: "cached-awaited", title: "hit, awaited, key made for the call" },
  { id: "cached-turn-ready", title: "1,000 hits in `Promise.all`, keys at hand" },
  { id: "cached-turn", title: "1,000 hits in `Promise.all`, keys made for the calls" },
  { id: "cached-peek-ready", title: "`peek`, key at hand" },
  { id: "cached-peek", title: "`peek`, key made for the call" },
  { id: "cache-off", title: "1,000 in `Promise.all` without the cache" },
];
const SIDES: readonly { readonly side: SideName; readonly title: string }[] = [
  { side: "sluice", title: "sluice" },
  { side: "redis-nt", title: "node-redis with its cache" },
  { side: "ioredis", title: "ioredis, without one" },
];

/** Null while results are missing. */
export function cachedFigures(results: Results): string | null {
  const hits = results.scenarios["cached"]?.rows;
  const service = results.scenarios["cached-http"]?.rows["app-http-cached"];
  if (hits === undefined || service === undefined) return null;
  const lines = HITS.map(({ id, title }) => [
    title,
    ...SIDES.map(({ side }) => formatFigure(figureOf(hits[id], side, HIT), HIT.digits)),
  ]);
  const request = (title: string, column: Column): string[] => [
    title,
    ...SIDES.map(({ side }) => formatFigure(figureOf(service, side, column), column.digits)),
  ];
  return markdownTable({
    head: ["CPU µs", ...SIDES.map(({ title }) => title)],
    body: [
      ...lines,
      request("HTTP request with 4 GETs, 90 % hits", REQUEST),
      request("the same service without Redis", FLOOR),
    ],
  });
}
