/**
 * Renders Vega-Lite specifications as SVG files, one for light pages and one for dark ones, without a background of
 * their own. Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart.
 */

import fs from "node:fs";
import path from "node:path";
import type { Config, TopLevelSpec } from "vega-lite";
import type { SideName } from "../sides/all-sides";
import { imagesFolder } from "../support/project";
import type { ScenarioResult } from "../support/results-store";

export type Theme = "light" | "dark";

/** In letters. */
const CAPTION_WIDTH = 76;
const THEMES: readonly Theme[] = ["light", "dark"];

const INK: Record<Theme, { text: string; faint: string; grid: string }> = {
  light: { text: "#1f2328", faint: "#59636e", grid: "#d1d9e0" },
  dark: { text: "#f0f6fc", faint: "#9198a1", grid: "#3d444d" },
};

const COLOURS: Record<SideName, Record<Theme, string>> = {
  sluice: { light: "#d55e00", dark: "#ff7a1a" },
  "sluice-turn": { light: "#f0a878", dark: "#ffb37a" },
  before: { light: "#e69f00", dark: "#e69f00" },
  ioredis: { light: "#0072b2", dark: "#4aa8e0" },
  iovalkey: { light: "#3a9bd0", dark: "#8fd0f5" },
  redis: { light: "#aa4f8f", dark: "#e59cc8" },
  "redis-nt": { light: "#8a5fbf", dark: "#bb9af0" },
  glide: { light: "#00805e", dark: "#2cc79b" },
  raw: { light: "#6e7781", dark: "#9198a1" },
  "raw+p": { light: "#6e7781", dark: "#9198a1" },
};

/** Names of the sides as readers of a page know them. */
export const SIDE_TITLES: Record<SideName, string> = {
  sluice: "sluice",
  "sluice-turn": "sluice, one write a turn",
  before: "sluice, other build",
  ioredis: "ioredis",
  iovalkey: "iovalkey",
  redis: "node-redis",
  "redis-nt": "node-redis, no timeout",
  glide: "valkey-glide",
  raw: "bare socket",
  "raw+p": "bare socket + promises",
};

export function colourOf(side: SideName, theme: Theme): string {
  return COLOURS[side][theme];
}

/** Writes `name-light.svg` and `name-dark.svg`. */
export async function writeChart(name: string, specOf: (theme: Theme) => TopLevelSpec): Promise<void> {
  fs.mkdirSync(imagesFolder, { recursive: true });
  for (const theme of THEMES) {
    const svg = await renderChart(specOf(theme), theme);
    fs.writeFileSync(path.join(imagesFolder, `${name}-${theme}.svg`), `${compact(svg)}\n`);
  }
}

/**
 * Half of the bytes. The page shows the file as an image: its roles and labels are not read, nor its empty shapes seen,
 * and no screen shows a hundredth of a pixel.
 */
function compact(svg: string): string {
  return svg
    .replace(/ (?:class|role|aria-\w+|pointer-events)="[^"]*"/g, "")
    .replace(/<path(?: display="none"| d="")+\/>/g, "")
    .replace(/-?\d+\.\d{3,}(?:e-?\d+)?/g, (number) => String(Math.round(Number(number) * 100) / 100));
}

/** The chart as SVG text. */
export async function renderChart(chart: TopLevelSpec, theme: Theme): Promise<string> {
  // Modules with top-level await, which only an import can load.
  const [{ compile }, { parse, View }] = [await import("vega-lite"), await import("vega")];
  const { spec } = compile(chart, { config: configOf(theme) });
  return new View(parse(spec), { renderer: "none" }).toSVG();
}

/** The picture as Markdown shows it: the file that fits the reader's page. `folder` leads to the images. */
export function pictureOf(name: string, title: string, folder = "images"): string {
  return [
    "<picture>",
    `  <source media="(prefers-color-scheme: dark)" srcset="${folder}/${name}-dark.svg">`,
    `  <img alt="${title}" src="${folder}/${name}-light.svg" width="760">`,
    "</picture>",
  ].join("\n");
}

/** When, on what and with which versions: the line below a chart. */
export function captionOf(
  result: ScenarioResult,
  sides: readonly SideName[],
  lines: readonly string[] = [],
): string[] {
  const { machine } = result;
  const names: Partial<Record<SideName, string>> = {
    ioredis: "ioredis",
    iovalkey: "iovalkey",
    redis: "redis",
    "redis-nt": "redis",
    glide: "@valkey/valkey-glide",
  };
  const packages = [...new Set(sides.map((side) => names[side]).filter((name) => name !== undefined))];
  const versions = packages.map((name) =>
    `${name.replace(/^.*\//, "")} ${result.versions[name] ?? ""}`.trim(),
  );
  return [
    ...lines,
    `${result.measuredAt.slice(0, 10)}, ${machine.processor}, ${machine.cpus} CPUs, Node ${machine.node.slice(1)}, ${result.server}, client and server on a CPU each`,
    versions.join(", "),
  ].flatMap((line) => wrapped(line));
}

/**
 * Lines that are no longer than a chart is wide. The width of a picture follows from them, by an estimate that is half
 * as much again as what browsers draw; a long one leaves the right third of the picture empty.
 */
function wrapped(line: string): string[] {
  const lines: string[] = [];
  // "Redis 7.0.15" stays together where a line has commas to break at.
  const units = line
    .split(/(?<=,) /)
    .flatMap((unit) => (unit.length > CAPTION_WIDTH ? unit.split(" ") : unit));
  for (const word of units.filter((unit) => unit !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= CAPTION_WIDTH)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function configOf(theme: Theme): Config {
  const { text, faint, grid } = INK[theme];
  return {
    background: "transparent",
    font: "system-ui, -apple-system, 'Segoe UI', sans-serif",
    padding: 8,
    view: { stroke: null },
    title: {
      anchor: "start",
      color: text,
      fontSize: 15,
      fontWeight: 600,
      subtitleColor: faint,
      subtitleFontSize: 11,
      subtitlePadding: 5,
      offset: 14,
    },
    axis: {
      labelColor: faint,
      titleColor: text,
      titleFontWeight: 400,
      labelFontSize: 11,
      titleFontSize: 12,
      gridColor: grid,
      domainColor: grid,
      tickColor: grid,
      gridOpacity: 0.7,
    },
    header: { labelColor: text, labelFontSize: 12, titleColor: text },
    text: { color: text },
  };
}
