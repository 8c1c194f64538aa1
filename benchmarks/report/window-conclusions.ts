/**
 * The table of conclusions in docs/auto-pipelining.md: the best window at each added round trip, and the distance of the
 * others. It is computed from the figures, so that it cannot contradict them.
 */

import { DELAYS_MS } from "../scenario/round-trips";
import type { ScenarioResult } from "../support/results-store";
import { OPS, P50 } from "../support/scenario";
import { markdownTable } from "./format";
import { figureOf } from "./tables";

/** Figures that lie closer together than this share of the best one count as equal. */
const EQUAL = 0.1;

export interface Window {
  readonly title: string;
  /** The end of the row's id. */
  readonly id: string;
}

interface Measured {
  readonly title: string;
  readonly value: number;
}

export function windowConclusions(result: ScenarioResult, windows: readonly Window[]): string {
  const body = DELAYS_MS.map((delayMs) => [
    `${delayMs} ms`,
    ranked(measured(result, windows, `trip-callers`, delayMs), true),
    ranked(measured(result, windows, `trip-arrivals`, delayMs), false),
  ]);
  return [
    `The best settings, where differences within ${EQUAL * 100} % count as equal:`,
    markdownTable({
      head: ["added round trip", "200 callers: throughput", "5,000 a second: median latency"],
      body,
    }),
    adviceOf(result),
  ].join("\n\n");
}

function measured(
  result: ScenarioResult,
  windows: readonly Window[],
  load: string,
  delayMs: number,
): Measured[] {
  return windows.flatMap(({ title, id }) => {
    const column = load === "trip-callers" ? OPS : P50;
    const value = figureOf(result.rows[`${load}${id}-${delayMs}`], "sluice", column);
    return value === undefined ? [] : [{ title, value }];
  });
}

/** The best of them, and how far each other one is behind. */
function ranked(all: readonly Measured[], isMoreBetter: boolean): string {
  const values = all.map(({ value }) => value);
  const best = isMoreBetter ? Math.max(...values) : Math.min(...values);
  const distance = ({ value }: Measured): number => Math.abs(value / best - 1);
  const behind = all.filter((one) => distance(one) > EQUAL).sort((a, b) => distance(a) - distance(b));
  if (behind.length === 0) return "all equal";
  const first = all.filter((one) => !behind.includes(one)).map(({ title }) => title);
  const sign = isMoreBetter ? "-" : "+";
  return [
    `${first.join(", ")}`,
    ...behind.map((one) => `${one.title} ${sign}${percent(distance(one))}`),
  ].join("; ");
}

/** Where callers gain from the option as it is by default, beyond what counts as equal. */
function adviceOf(result: ScenarioResult): string {
  const gains = DELAYS_MS.flatMap((delayMs) => {
    const off = figureOf(result.rows[`trip-callers-${delayMs}`], "sluice", OPS) ?? Number.NaN;
    const on = figureOf(result.rows[`trip-callers-auto-${delayMs}`], "sluice", OPS) ?? Number.NaN;
    return on > off * (1 + EQUAL) ? [`${delayMs} ms (${percent(on / off - 1)} more)`] : [];
  });
  if (gains.length === 0)
    return "In this run, the option did not increase the throughput of callers at any round trip.";
  return `In this run, \`true\` increased the throughput of callers only at ${gains.join(", ")}.`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
