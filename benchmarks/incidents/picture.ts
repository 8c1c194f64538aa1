/** The recorded figures as one picture and as a table. */

import type { TopLevelSpec } from "vega-lite";
import { colourOf, type Theme } from "../report/chart";
import type { Sample } from "./recording";
import type { Incident } from "./scenes";

const WIDTH = 230;
const HEIGHT = 90;

type Figure = Exclude<keyof Sample, "at">;

const FIGURES: readonly (readonly [figure: Figure, title: string])[] = [
  ["perSecond", "commands/s"],
  ["roundTripMs", "round trip, ms"],
  ["inFlight", "in flight"],
  ["perWrite", "commands/write"],
  ["redirects", "redirects/s"],
];

/** A column for each incident, a row for each figure; the time of the incident is shaded. */
export function incidentsSpec(incidents: readonly Incident[], caption: readonly string[], theme: Theme) {
  const color = colourOf("sluice", theme);
  const chart = (incident: Incident, [figure, title]: (typeof FIGURES)[number], isFirst: boolean) => {
    const { from, to, samples } = incident;
    const most = Math.max(1, ...samples.map((sample) => sample[figure]));
    const last = samples.at(-1)?.at ?? to;
    const x = {
      type: "quantitative" as const,
      axis: { title: null, grid: false },
      scale: { domain: [0, last] },
    };
    return {
      width: WIDTH,
      height: HEIGHT,
      ...(isFirst ? { title: { text: incident.title, fontSize: 12, offset: 6 } } : {}),
      layer: [
        {
          data: { values: [{ from, to: Math.min(Math.max(to, from + 0.1), last) }] },
          mark: { type: "rect" as const, opacity: 0.15, color },
          encoding: { x: { field: "from", ...x }, x2: { field: "to" } },
        },
        {
          data: { values: samples.map((sample) => ({ at: sample.at, value: sample[figure] })) },
          mark: { type: "line" as const, color, strokeWidth: 1.8, interpolate: "step-before" as const },
          encoding: {
            x: { field: "at", ...x },
            y: {
              field: "value",
              type: "quantitative" as const,
              scale: { domain: [0, most] },
              axis: { title, format: "~s", tickCount: 4 },
            },
          },
        },
      ],
    };
  };
  const columns = incidents.map((incident) => ({
    vconcat: FIGURES.map((figure, row) => chart(incident, figure, row === 0)),
    spacing: 14,
  }));
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: { text: "Three incidents, as stats() told them", subtitle: [...caption] },
    hconcat: columns,
    spacing: 26,
  } as TopLevelSpec;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? 0;
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Math.round(value * 10) / 10);
}

/** Before, and the worst while it lasted, which for most figures is the most. */
export function incidentsTable(incidents: readonly Incident[]): string {
  const head = ["before → at the worst", ...incidents.map(({ title }) => title.toLowerCase())];
  const rows = FIGURES.map(([figure, title]) => [
    title,
    ...incidents.map(({ from, to, samples }) => {
      const before = median(samples.filter(({ at }) => at < from).map((sample) => sample[figure]));
      const during = samples.filter(({ at }) => at >= from && at <= to + 0.5).map((sample) => sample[figure]);
      const isLow = figure === "perSecond" && Math.max(...during) < 1.5 * before;
      return `${shown(before)} → ${shown(isLow ? Math.min(...during) : Math.max(...during))}`;
    }),
  ]);
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, at) => (at === 0 ? "---" : "--:"))), ...rows.map(line)].join("\n");
}
