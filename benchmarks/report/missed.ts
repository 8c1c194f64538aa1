/**
 * The section about goals that are missed: which, whether the bare socket reaches them, and what profiles say.
 * The table comes from stored results. The text is kept by hand: its shares are those of the runs that it names.
 */

import { goals } from "../support/goals";
import type { Results, RowResult } from "../support/results-store";
import { type Column, CPU, OPS } from "../support/scenario";
import { formatRatio, markdownTable, type Table } from "./format";
import { ratio } from "./tables";

/** Empty while everything is met. */
export function missedSection(results: Results): string {
  const table = missedTable(results);
  return table.body.length === 0 ? "" : [ABOUT, markdownTable(table), WHY].join("\n\n");
}

/** Goals in throughput and CPU to the reference side, with the ratio that the bare socket reaches. */
function missedTable({ scenarios }: Results): Table {
  const rows = new Map(Object.values(scenarios).flatMap((result) => Object.entries(result.rows)));
  const body: string[][] = [];
  for (const { row: id, ops, cpu } of goals) {
    const row = rows.get(id);
    if (row === undefined) continue;
    if (ops !== undefined) body.push(...missed(row, OPS, ops));
    if (cpu !== undefined) body.push(...missed(row, CPU, cpu));
  }
  return { head: ["workload", "figure", "wanted", "sluice", "raw+p"], body };
}

function missed(row: RowResult, column: Column, wanted: number): string[][] {
  const reached = ratio(row, "sluice", column);
  if (reached === undefined) return [];
  const isMet = column === OPS ? reached >= wanted : reached <= wanted;
  if (isMet) return [];
  const goal = `${column === OPS ? "≥" : "≤"} ${formatRatio(wanted)}`;
  return [[row.title, column.title, goal, formatRatio(reached), formatRatio(ratio(row, "raw+p", column))]];
}

const ABOUT = `## What is missed, and why

Ratios to ioredis again. raw+p is the yardstick: where it misses the line as well, socket, values and one promise for
each command cost more than the goal allows. sluice can be below it, since a pipeline
has one promise for all its commands.`;

const WHY = `What profiles say, shares of the CPU of the main thread. They are from three runs of
\`npm run bench:profile\` on 2026-11-21, Node 20, on two CPUs that did other work as well; a range is the least and the
most of the three. *Kernel* is the system time of the whole process, *collector* the garbage collector on the main
thread.

- **Pipeline of 10**: the socket write is 63-68 %, the kernel 63-71 %. Encoding is 3-5 %.
- **Pipeline of 100**: the write is still 34-39 % and the kernel 42-51 %; the collector has 7-11 %, encoding 10-14 %.
- **Pipeline of 1,000**: spread out: encoding 18-20 %, the write 9-18 %, the collector 13-22 % (two runs). Here the client
  costs more than one and a half times raw+p, so there is room left.
- **Pipeline of 100,000**: the collector is 20-29 %, and 27 % in a run with \`--single-threaded-gc\`, where none of its
  work is hidden in other threads. The API returns a row \`[null, reply]\` for each command, and all of them are alive
  at the end. Encoding is 21-28 %, taking in the calls 17-19 %.
- **GET of 1 MiB as text**: making the string is 33 %, the collector 28 % (two runs).
- **GET of 1 MiB as a Buffer**: copying into the Buffer that the caller gets is 23-55 %, the collector 9-37 %. ioredis
  does the same work (24 % and 25 %), so little is left to win from it. Page faults differed from run to run
  (0, 0 and 73 for each GET), so they do not explain the row.
- **SET of 1 MiB**: of a Buffer the socket write is 91-98 %. Of a text it is 70-79 %, and copying the text into the
  buffers of the encoder 12-18 %; this row is beyond 1.5 times raw+p, so there is room left.
- **MGET of 1,000**: nothing stands out: the write 21-23 %, encoding the keys 11-20 %, decoding the values 10-22 %,
  the collector 8-18 %.
- **HGETALL of 1,000**: setting the fields of the object, safely for names such as \`__proto__\`, is 41-43 %; decoding
  the texts 11-17 %.
- The other lines have no profile. Those within a few hundredths of their goal change sides from run to run.

\`\`\`sh
npm run bench:profile -- pipeline-100000 get-mib-buffer         # ids of rows as in npm run bench -- --list
npm run bench:profile -- --side=ioredis get-mib-buffer          # another client
node --single-threaded-gc build/benchmarks/profile.js pipeline-100000
\`\`\``;
