/** Figures as people read them, and tables for the terminal and for Markdown. */

import type { Column } from "../support/scenario";
import type { Spread } from "../support/statistics";

export const NO_VALUE = "–";

export function pickOf(spread: Spread | undefined, pick: Column["pick"]): number | undefined {
  if (spread === undefined) return undefined;
  const value = spread[pick];
  return value === null || Number.isNaN(value) ? undefined : value;
}

/** 1,234,567 → 1.23M; small numbers keep the digits asked for. */
export function formatFigure(value: number | undefined, digits: number): string {
  if (value === undefined) return NO_VALUE;
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toFixed(2)}M`;
  if (size >= 1e5) return `${(value / 1e3).toFixed(0)}k`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)}k`;
  return value.toFixed(size >= 100 ? 0 : digits);
}

export function formatRatio(ratio: number | undefined): string {
  if (ratio === undefined) return NO_VALUE;
  return `${ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2)}×`;
}

/** How far the samples of a figure lie apart, as a percentage of their median. */
export function formatSpread(spread: Spread): string {
  const percent = ((spread.most - spread.least) / 2 / spread.median) * 100;
  return Number.isFinite(percent) ? `±${percent.toFixed(0)} %` : NO_VALUE;
}

/** The first column is text, all others are figures. */
export interface Table {
  readonly head: readonly string[];
  readonly body: readonly (readonly string[])[];
}

export function terminalTable({ head, body }: Table): string {
  const widths = head.map((title, at) =>
    Math.max(title.length, ...body.map((cells) => cells[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ");
  const rule = widths.map((width) => "─".repeat(width)).join("──");
  return [line(head), rule, ...body.map(line)].map((text) => `  ${text.trimEnd()}`).join("\n");
}

export function markdownTable({ head, body }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, at) => (at === 0 ? "---" : "--:"));
  return [line(head), line(rule), ...body.map(line)].join("\n");
}
