/** Bars for a few workloads, all clients side by side: the best first, its figure at the end of each bar. */

import type { TopLevelSpec } from "vega-lite";
import { SIDE_NAMES, type SideName } from "../sides/all-sides";
import { colourOf, SIDE_TITLES, type Theme, writeChart } from "./chart";

export interface Bar {
  readonly workload: string;
  readonly side: SideName;
  readonly value: number;
  readonly label: string;
}

export interface BarChart {
  readonly file: string;
  readonly title: string;
  readonly caption: readonly string[];
  /** Workloads from top to bottom. */
  readonly workloads: readonly string[];
  readonly bars: readonly Bar[];
}

const WIDTH = 420;
const BAR_STEP = 17;
/** Room for the longest name, so that all groups begin at the same place. */
const LABELS_WIDTH = 140;

export function writeBars(chart: BarChart): Promise<void> {
  return writeChart(chart.file, (theme) => specOf(chart, theme));
}

function specOf({ title, caption, workloads, bars }: BarChart, theme: Theme): TopLevelSpec {
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: { text: title, subtitle: [...caption] },
    spacing: 18,
    vconcat: workloads.map((workload) =>
      groupOf(
        workload,
        bars.filter((bar) => bar.workload === workload),
        theme,
      ),
    ),
  };
}

/** The bars of one workload on a scale of their own. */
function groupOf(workload: string, bars: readonly Bar[], theme: Theme) {
  const sorted = [...bars].sort((a, b) => a.value - b.value);
  const x = { field: "value", type: "quantitative" as const, axis: null };
  const y = {
    field: "name",
    type: "nominal" as const,
    sort: sorted.map(({ side }) => SIDE_TITLES[side]),
    axis: {
      title: null,
      domain: false,
      ticks: false,
      labelPadding: 6,
      labelFontSize: 12,
      labelLimit: LABELS_WIDTH * 2,
      minExtent: LABELS_WIDTH,
      labelFontWeight: {
        condition: { test: "datum.value === 'sluice'", value: "bold" as const },
        value: "normal" as const,
      },
    },
  };
  const color = {
    field: "side",
    type: "nominal" as const,
    legend: null,
    scale: { domain: [...SIDE_NAMES], range: SIDE_NAMES.map((side) => colourOf(side, theme)) },
  };
  return {
    title: { text: workload, fontSize: 12, offset: 4 },
    width: WIDTH,
    height: { step: BAR_STEP },
    data: { values: sorted.map((bar) => ({ ...bar, name: SIDE_TITLES[bar.side] })) },
    layer: [
      {
        mark: { type: "bar" as const, cornerRadiusEnd: 2, height: { band: 0.8 } },
        encoding: { x, y, color },
      },
      {
        mark: { type: "text" as const, align: "left" as const, dx: 6, fontSize: 12 },
        encoding: { x, y, text: { field: "label", type: "nominal" as const } },
      },
    ],
  };
}
