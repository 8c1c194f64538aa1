/** Runs the demo on a server that it finds or installs, and draws the curve as a picture. `npm run demo` runs it. */

import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { renderChart } from "../benchmarks/report/chart";
import { curveSpec } from "../benchmarks/report/curves";
import { checkoutDirectory } from "../scripts/servers/cache-directory";
import { findDemoServer } from "./demo-server";
import { bold, dim, say } from "./screen";
import { type Point, show, WHOLE } from "./show";

const SVG_NAME = "pipeline-depth.svg";

async function writePicture(points: readonly Point[]): Promise<void> {
  const path = join(checkoutDirectory(), SVG_NAME);
  const spec = curveSpec({
    plot: {
      file: SVG_NAME,
      title: "Commands per second by the length of the pipeline",
      xTitle: "commands in one pipeline",
      yTitle: "commands per second",
      figure: "opsPerSecond",
      pick: "median",
    },
    points: points.map(([x, y]) => ({ side: "sluice", x, y, least: y, most: y })),
    sides: ["sluice"],
    caption: [],
    theme: "light",
  });
  const svg = (await renderChart(spec, "light")).replace("<svg ", '<svg style="background: white" ');
  writeFileSync(path, svg);
  say(`  The same curve as a picture: ${relative(process.cwd(), path)}`);
}

async function main(): Promise<void> {
  say(bold("\nsluice: explicit and automatic pipelining\n"));
  const server = await findDemoServer((line) => say(dim(line)));
  try {
    say(`Server: ${server.description}\n`);
    await writePicture(await show(server.url, WHOLE));
  } finally {
    await server.stop();
  }
  say();
}

main().catch((error: unknown) => {
  console.error(`\n${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
