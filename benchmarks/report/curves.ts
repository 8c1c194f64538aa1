/**
 * Curves of a scenario on logarithmic axes: one curve per side, a point for each measured value, a band from
 * the lowest to the highest sample, and the name of the side at the end of its curve.
 */

import type { TopLevelSpec } from "vega-lite";
import { SIDE_NAMES, type SideName } from "../sides/all-sides";
import type { ScenarioResult } from "../support/results-store";
import type { Plot, Scenario } from "../support/scenario";
import { captionOf, colourOf, SIDE_TITLES, type Theme, writeChart } from "./chart";
import { pickOf } from "./format";

export interface Point {
  readonly side: SideName;
  readonly x: number;
  readonly y: number;
  readonly least: number;
  readonly most: number;
}

/** The name of a side beside the end of its curve; moved up or down where names would cover each other. */
interface Label {
  readonly side: SideName;
  readonly title: string;
  readonly x: number;
  readonly y: number;
  /** Where the name stands: at the right edge, so that it covers no curve. */
  readonly atX: number;
  readonly at: number;
}

const WIDTH = 520;
const HEIGHT = 330;
/** Height of a line of text. */
const LABEL_GAP = 15;
/** 256, 4 KiB, 1 MiB. */
const BYTES =
  "datum.value < 1024 ? datum.value : datum.value < 1048576 ? datum.value / 1024 + ' KiB' : datum.value / 1048576 + ' MiB'";
/** 0.05, 10, 250, 1k, 1M. */
const PLAIN_NUMBER = "datum.value < 1000 ? format(datum.value, '~r') : format(datum.value, '~s')";

/** Writes the files and says whether there was anything to draw. */
export async function writeCurves(scenario: Scenario, plot: Plot, result: ScenarioResult): Promise<boolean> {
  const points = pointsOf(scenario, plot, result);
  if (points.length === 0) return false;
  const sides = SIDE_NAMES.filter((side) => points.some((point) => point.side === side));
  const caption = captionOf(result, sides, plot.note === undefined ? [] : [plot.note]);
  await writeChart(plot.file, (theme) => curveSpec({ plot, points, sides, caption, theme }));
  return true;
}

/** Rows of the same x come from different ways of one side; the better one is drawn. */
function pointsOf(scenario: Scenario, plot: Plot, result: ScenarioResult): Point[] {
  const rows = scenario.rows.filter((row) => row.x !== undefined && row.id.startsWith(plot.rowPrefix ?? ""));
  const points: Point[] = [];
  for (const side of SIDE_NAMES) {
    const best = new Map<number, Point>();
    for (const row of rows) {
      const spread = result.rows[row.id]?.sides[side]?.figures[plot.figure];
      const y = pickOf(spread, plot.pick);
      if (spread === undefined || y === undefined || y <= 0) continue;
      const x = row.x as number;
      const known = best.get(x)?.y;
      const isBetter = known === undefined || (plot.pick === "least" ? y < known : y > known);
      if (isBetter) best.set(x, { side, x, y, least: spread.least, most: spread.most });
    }
    if (best.size > 1) points.push(...[...best.values()].sort((a, b) => a.x - b.x));
  }
  return points;
}

export interface Drawing {
  readonly plot: Plot;
  readonly points: readonly Point[];
  readonly sides: readonly SideName[];
  readonly caption: readonly string[];
  readonly theme: Theme;
}

export function curveSpec({ plot, points, sides, caption, theme }: Drawing): TopLevelSpec {
  const domain = domainOf(points.flatMap(({ least, y, most }) => [least, y, most]));
  const ends = labelsOf(points, sides, domain);
  const color = {
    field: "side",
    type: "nominal" as const,
    legend: null,
    scale: { domain: [...sides], range: sides.map((side) => colourOf(side, theme)) },
  };
  const xs = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
  const x = {
    field: "x",
    type: "quantitative" as const,
    scale: { type: "log" as const, nice: false },
    axis: {
      title: plot.xTitle,
      values: xs,
      labelExpr: plot.xIsBytes === true ? BYTES : PLAIN_NUMBER,
      grid: false,
      labelOverlap: true,
    },
  };
  const y = {
    field: "y",
    type: "quantitative" as const,
    scale: { type: "log" as const, domain, nice: false },
    axis: { title: plot.yTitle, format: "~s", tickCount: 5 },
  };
  const place = (field: string): typeof y => ({ ...y, field });
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: { text: plot.title, subtitle: [...caption] },
    width: WIDTH,
    height: HEIGHT,
    data: { values: points as Point[] },
    layer: [
      {
        mark: { type: "area", opacity: 0.15 },
        encoding: { x, y: place("least"), y2: { field: "most" }, color },
      },
      {
        mark: { type: "line", strokeJoin: "round" },
        encoding: {
          x,
          y,
          color,
          strokeWidth: { condition: { test: "datum.side === 'sluice'", value: 3 }, value: 1.6 },
        },
      },
      { mark: { type: "point", filled: true, size: 28, opacity: 1 }, encoding: { x, y, color } },
      {
        data: { values: ends as Label[] },
        mark: { type: "rule", xOffset: 4, x2Offset: 14, opacity: 0.8, strokeDash: [2, 2] },
        encoding: { x, x2: { field: "atX" }, y: place("y"), y2: { field: "at" }, color },
      },
      ...[true, false].map((isOwn) => ({
        data: { values: ends.filter(({ side }) => (side === "sluice") === isOwn) },
        mark: {
          type: "text" as const,
          align: "left" as const,
          baseline: "middle" as const,
          dx: 18,
          fontSize: 12,
          fontWeight: isOwn ? ("bold" as const) : ("normal" as const),
        },
        encoding: {
          x: { ...x, field: "atX" },
          y: place("at"),
          text: { field: "title", type: "nominal" as const },
          color,
        },
      })),
    ],
  };
}

function domainOf(values: readonly number[]): [number, number] {
  const room = 1.15;
  return [Math.min(...values) / room, Math.max(...values) * room];
}

/** Names in the order of their curves' ends, a line of text apart at least, all inside the plot. */
function labelsOf(
  points: readonly Point[],
  sides: readonly SideName[],
  domain: readonly [number, number],
): Label[] {
  const [low, high] = domain;
  const perPixel = Math.log(high / low) / HEIGHT;
  const ends = sides
    .map((side) => points.findLast((point) => point.side === side) as Point)
    .map((end) => ({ end, pixel: Math.log(end.y / low) / perPixel }))
    .sort((a, b) => a.pixel - b.pixel);
  const places = ends.map(({ pixel }) => pixel);
  for (let at = 1; at < places.length; at++) {
    places[at] = Math.max(places[at] as number, (places[at - 1] as number) + LABEL_GAP);
  }
  let ceiling = HEIGHT;
  for (let at = places.length - 1; at >= 0; at--) {
    places[at] = Math.min(places[at] as number, ceiling);
    ceiling = (places[at] as number) - LABEL_GAP;
  }
  return ends.map(({ end: { side, x, y } }, at) => ({
    side,
    title: SIDE_TITLES[side],
    x,
    y,
    atX: Math.max(...points.map((point) => point.x)),
    at: low * Math.exp((places[at] as number) * perPixel),
  }));
}
