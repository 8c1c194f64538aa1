/**
 * Records three incidents by `stats()`, and writes the picture and the table of docs/observability.md.
 *
 *   npm run incidents              plays and records them, about half a minute
 *   npm run incidents -- --draw    draws what was recorded last
 */

import fs from "node:fs";
import path from "node:path";
import { writeChart } from "../report/chart";
import { withFigures } from "../report/marked-place";
import { projectRoot, resultsFolder } from "../support/project";
import { describeMachine } from "../support/results-store";
import { incidentsSpec, incidentsTable } from "./picture";
import { type Incident, SCENES } from "./scenes";

const FILE = path.join(resultsFolder, "incidents.json");
const PAGE = path.join(projectRoot, "docs", "observability.md");

interface Recording {
  readonly caption: readonly string[];
  readonly incidents: readonly Incident[];
}

async function play(): Promise<Recording> {
  const { processor, cpus, node } = describeMachine();
  const date = new Date().toISOString().slice(0, 10);
  const incidents: Incident[] = [];
  for (const scene of SCENES) {
    const incident = await scene();
    console.log(`${incident.title}: ${incident.samples.length} samples`);
    incidents.push(incident);
  }
  const caption = [
    "50 callers, each with a get and 2 ms of rest; a sample every 250 ms; the incident is shaded, the axis has seconds",
    `${date}, ${processor}, ${cpus} CPUs for client and servers, Node ${node.slice(1)}`,
  ];
  return { caption, incidents };
}

async function main(): Promise<void> {
  if (!process.argv.includes("--draw")) {
    fs.writeFileSync(FILE, `${JSON.stringify(await play())}\n`);
  }
  const { caption, incidents } = JSON.parse(fs.readFileSync(FILE, "utf8")) as Recording;
  await writeChart("incidents", (theme) => incidentsSpec(incidents, caption, theme));
  const page = fs.readFileSync(PAGE, "utf8");
  fs.writeFileSync(PAGE, withFigures(page, incidentsTable(incidents), "incidents", "incidents"));
}

void main();
