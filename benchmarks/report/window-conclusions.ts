/**
 * What follows from the tables of docs/auto-pipelining.md, in sentences: which window is best at each added round trip
 * and how far behind the others lie. They are made from the figures, so that they cannot contradict them.
 */

import { DELAYS_MS } from "../scenario/round-trips";
import type { ScenarioResult } from "../support/results-store";
import { OPS, P50 } from "../support/scenario";
import { formatFigure } from "./format";
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
  const lines = DELAYS_MS.map((delayMs) => {
    const callers = measured(result, windows, `trip-callers`, delayMs);
    const arrivals = measured(result, windows, `trip-arrivals`, delayMs);
    return `- **${delayMs} ms**: ${callersSentence(callers)}; ${arrivalsSentence(arrivals)}.`;
  });
  return [
    `Counting as equal what lies within ${EQUAL * 100} % of the best:`,
    lines.join("\n"),
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

function callersSentence(all: readonly Measured[]): string {
  const best = Math.max(...all.map(({ value }) => value));
  const first = all.filter(({ value }) => value >= best * (1 - EQUAL));
  const others = all.filter((one) => !first.includes(one)).sort((a, b) => b.value - a.value);
  if (others.length === 0) return "callers get the same with every window";
  const less = others.map(({ title, value }) => `${title} ${percent(1 - value / best)} less`);
  return `callers get the most with ${listOf(first)} (${formatFigure(best, 0)} a second), ${less.join(", ")}`;
}

function arrivalsSentence(all: readonly Measured[]): string {
  const best = Math.min(...all.map(({ value }) => value));
  const first = all.filter(({ value }) => value <= best * (1 + EQUAL));
  const others = all.filter((one) => !first.includes(one)).sort((a, b) => a.value - b.value);
  if (others.length === 0) return "at a pace of their own, commands wait equally long with every window";
  const longer = others.map(({ title, value }) => `${title} ${percent(value / best - 1)} longer`);
  return `at a pace of their own, commands wait least with ${listOf(first)}, ${longer.join(", ")}`;
}

/** Where callers gain from the option as it is by default, beyond what counts as equal. */
function adviceOf(result: ScenarioResult): string {
  const gains = DELAYS_MS.flatMap((delayMs) => {
    const off = figureOf(result.rows[`trip-callers-${delayMs}`], "sluice", OPS) ?? Number.NaN;
    const on = figureOf(result.rows[`trip-callers-auto-${delayMs}`], "sluice", OPS) ?? Number.NaN;
    return on > off * (1 + EQUAL) ? [`${delayMs} ms (${percent(on / off - 1)} more)`] : [];
  });
  if (gains.length === 0) return "In this run callers gained nothing from the option at any round trip.";
  return `In this run callers gained from the option, as \`true\` sets it, at ${gains.join(", ")}, and nowhere else.`;
}

function listOf(all: readonly Measured[]): string {
  const titles = all.map(({ title }) => title);
  return titles.length === 1 ? (titles[0] ?? "") : `${titles.slice(0, -1).join(", ")} and ${titles.at(-1)}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
