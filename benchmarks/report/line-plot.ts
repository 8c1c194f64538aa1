/**
 * Draws curves on logarithmic axes as SVG text: one line per side, its name at its last point.
 *
 * Colours are readable on light and dark pages; the background is left to the page's own card.
 */

import { type ScaleLogarithmic, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import type { SideName } from "../sides/all-sides";

export interface Series {
  readonly side: SideName;
  readonly points: readonly (readonly [number, number])[];
}

export interface LinePlot {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly series: readonly Series[];
}

type Scale = ScaleLogarithmic<number, number>;

const WIDTH = 760;
const HEIGHT = 440;
const LEFT = 70;
const RIGHT = 90;
const TOP = 46;
const BOTTOM = 54;
const LABEL_GAP = 14;

export const COLOURS: Record<SideName, string> = {
  sluice: "#d62728",
  before: "#ff9896",
  ioredis: "#1f77b4",
  iovalkey: "#17a2b8",
  redis: "#9467bd",
  "redis-nt": "#6a3d9a",
  glide: "#2ca02c",
  raw: "#8c8c8c",
  "raw+p": "#b08d57",
};

export function drawLinePlot(plot: LinePlot): string {
  const points = plot.series.flatMap((series) => series.points);
  const x = scaleOf(points.map((point) => point[0])).range([LEFT, WIDTH - RIGHT]);
  const y = scaleOf(points.map((point) => point[1]))
    .range([HEIGHT - BOTTOM, TOP])
    .nice();
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escapeText(plot.title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="24" font-size="15" font-weight="600" fill="#222222">${escapeText(plot.title)}</text>`,
    ...xAxis(x, plot.xTitle),
    ...yAxis(y, plot.yTitle),
    ...plot.series.map((series) => curve(series, x, y)),
    ...labels(plot.series, x, y),
    "</svg>",
    "",
  ].join("\n");
}

function scaleOf(values: readonly number[]): Scale {
  const least = Math.min(...values);
  const most = Math.max(...values);
  return scaleLog().domain([least, most > least ? most : least * 10]);
}

/** Powers of ten inside the domain, with its ends where there are fewer than two. */
function ticksOf(scale: Scale): number[] {
  const [least = 1, most = 10] = scale.domain();
  const powers: number[] = [];
  for (let power = Math.ceil(Math.log10(least) - 1e-9); 10 ** power <= most * 1.000001; power++)
    powers.push(10 ** power);
  return powers.length >= 2 ? powers : [least, most];
}

function xAxis(x: Scale, title: string): string[] {
  const bottom = HEIGHT - BOTTOM;
  const ticks = ticksOf(x).map((tick) => {
    const at = x(tick).toFixed(1);
    return `<path d="M${at} ${TOP}V${bottom}" stroke="#e4e4e4"/><text x="${at}" y="${bottom + 18}" text-anchor="middle" fill="#555555">${shorten(tick)}</text>`;
  });
  const middle = (LEFT + WIDTH - RIGHT) / 2;
  return [
    ...ticks,
    `<text x="${middle}" y="${HEIGHT - 12}" text-anchor="middle" fill="#333333">${escapeText(title)}</text>`,
  ];
}

function yAxis(y: Scale, title: string): string[] {
  const ticks = ticksOf(y).map((tick) => {
    const at = y(tick).toFixed(1);
    return `<path d="M${LEFT} ${at}H${WIDTH - RIGHT}" stroke="#e4e4e4"/><text x="${LEFT - 8}" y="${at}" dy="4" text-anchor="end" fill="#555555">${shorten(tick)}</text>`;
  });
  const middle = (TOP + HEIGHT - BOTTOM) / 2;
  return [
    ...ticks,
    `<text transform="translate(16 ${middle}) rotate(-90)" text-anchor="middle" fill="#333333">${escapeText(title)}</text>`,
  ];
}

function curve({ side, points }: Series, x: Scale, y: Scale): string {
  const path = line<readonly [number, number]>(
    (point) => x(point[0]),
    (point) => y(point[1]),
  ).digits(1)(points as [number, number][]);
  const width = side === "sluice" ? 2.6 : 1.4;
  const dash = side.startsWith("raw") ? ' stroke-dasharray="4 3"' : "";
  return `<path d="${path ?? ""}" fill="none" stroke="${COLOURS[side]}" stroke-width="${width}"${dash}/>`;
}

/** Names at the right end, pushed apart where lines end close together. */
function labels(series: readonly Series[], x: Scale, y: Scale): string[] {
  const ends = series
    .map(({ side, points }) => ({ side, last: points[points.length - 1] as readonly [number, number] }))
    .map(({ side, last }) => ({ side, atX: x(last[0]) + 6, atY: y(last[1]) }))
    .sort((a, b) => a.atY - b.atY);
  let previous = Number.NEGATIVE_INFINITY;
  return ends.map(({ side, atX, atY }) => {
    previous = Math.max(atY, previous + LABEL_GAP);
    const weight = side === "sluice" ? ' font-weight="700"' : "";
    return `<text x="${atX.toFixed(1)}" y="${previous.toFixed(1)}" dy="4" fill="${COLOURS[side]}"${weight}>${side}</text>`;
  });
}

function shorten(value: number): string {
  if (value >= 1e6) return `${trim(value / 1e6)}M`;
  if (value >= 1e3) return `${trim(value / 1e3)}k`;
  return trim(value);
}

function trim(value: number): string {
  return String(Number(value.toPrecision(2)));
}

export function escapeText(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
