/** Prints the output of the demo. Without a terminal, it prints the same text without colours and bars. */

import { plot } from "asciichart";
import { Presets, SingleBar } from "cli-progress";

const isTerminal = process.stdout.isTTY === true;
const hasColours = isTerminal && process.env["NO_COLOR"] === undefined;
const CHART_HEIGHT = 12;
const CHART_STEP = 9;

function paint(code: string): (text: string) => string {
  return (text) => (hasColours ? `\u001b[${code}m${text}\u001b[0m` : text);
}

export const bold = paint("1");
export const dim = paint("2");
export const green = paint("32");
const cyan = paint("36");

export function say(text = ""): void {
  console.log(text);
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** Shows a progress bar while a task runs. */
export async function withBar<T>(
  name: string,
  total: number,
  work: (onProgress: (done: number) => void) => Promise<T>,
): Promise<T> {
  if (!isTerminal) say(`${name} ...`);
  const format = `${name.padEnd(42)} ${cyan("{bar}")} {percentage}%  {value}/{total}`;
  const bar = new SingleBar({ format, clearOnComplete: true, barsize: 28, fps: 12 }, Presets.shades_classic);
  bar.start(total, 0);
  try {
    return await work((done) => bar.update(done));
  } finally {
    bar.stop();
  }
}

export interface Row {
  readonly name: string;
  readonly perSecond: number;
  readonly writes: number;
  readonly ratio: number;
}

export function sayHead(): void {
  say(
    dim(
      `  ${"".padEnd(42)} ${"commands/s".padStart(12)} ${"socket writes".padStart(14)} ${"ratio".padStart(9)}`,
    ),
  );
}

export function sayRow({ name, perSecond, writes, ratio }: Row): void {
  const factor = `${ratio.toFixed(1)} x`;
  const figures = `${bold(count(perSecond).padStart(12))} ${count(writes).padStart(14)}`;
  say(`  ${name.padEnd(42)} ${figures} ${ratio > 1 ? green(factor.padStart(9)) : factor.padStart(9)}`);
}

/** A curve on logarithmic axes: equal steps from one depth to the next. */
export function sayCurve(points: readonly (readonly [number, number])[]): void {
  const heights: number[] = [];
  for (const [index, [, value]] of points.entries()) {
    const next = points[index + 1]?.[1];
    const steps = next === undefined ? 1 : CHART_STEP;
    for (let step = 0; step < steps; step++) {
      const share = step / CHART_STEP;
      heights.push(Math.log10(value) * (1 - share) + Math.log10(next ?? value) * share);
    }
  }
  const format = (height: number): string => count(10 ** height).padStart(11);
  say(cyan(plot(heights, { height: CHART_HEIGHT, format })));
  const labels = points.map(([depth]) => count(depth).padEnd(CHART_STEP)).join("");
  say(`${" ".repeat(13)}${labels}`);
  say(dim(`${" ".repeat(13)}commands in one pipeline`));
}
