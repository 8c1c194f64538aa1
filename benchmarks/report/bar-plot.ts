/**
 * Draws the headline as SVG text: for a few workloads one bar per side, longer is better, sluice first.
 *
 * All bars share one linear scale that begins at zero.
 */

import type { SideName } from "../sides/all-sides";
import { COLOURS, escapeText } from "./line-plot";

export interface BarGroup {
  readonly title: string;
  readonly bars: readonly { readonly side: SideName; readonly value: number; readonly label: string }[];
}

const WIDTH = 760;
const LABELS = 255;
const RIGHT = 110;
const TOP = 46;
const BAR = 13;
const BAR_GAP = 2;
const GROUP_GAP = 14;

export function drawBarPlot(title: string, groups: readonly BarGroup[]): string {
  const most = Math.max(...groups.flatMap((group) => group.bars.map((bar) => bar.value)));
  const lines: string[] = [];
  let y = TOP;
  for (const group of groups) {
    const height = group.bars.length * (BAR + BAR_GAP);
    lines.push(
      `<text x="${LABELS - 12}" y="${y + height / 2}" dy="4" text-anchor="end" fill="#222222">${escapeText(group.title)}</text>`,
    );
    for (const { side, value, label } of group.bars) {
      const width = Math.max(1, (value / most) * (WIDTH - LABELS - RIGHT));
      const weight = side === "sluice" ? ' font-weight="700"' : "";
      lines.push(
        `<rect x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" fill="${COLOURS[side]}"/>`,
        `<text x="${(LABELS + width + 6).toFixed(1)}" y="${y + BAR - 2.5}" font-size="11" fill="#444444"${weight}>${escapeText(label)}</text>`,
      );
      y += BAR + BAR_GAP;
    }
    y += GROUP_GAP;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escapeText(title)}</title>`,
    `<rect width="${WIDTH}" height="${y}" fill="#ffffff"/>`,
    `<text x="16" y="26" font-size="15" font-weight="600" fill="#222222">${escapeText(title)}</text>`,
    ...lines,
    "</svg>",
    "",
  ].join("\n");
}
