/**
 * The section about missed goals: the rows, the ratio that the bare socket reaches, and the reasons that profiles show.
 * The table comes from stored results. The text is written by hand, with figures of separate runs.
 */

import { goals } from "../support/goals";
import type { Results, RowResult } from "../support/results-store";
import { type Column, CPU, OPS } from "../support/scenario";
import { boundRows } from "./bound-report";
import { formatRatio, markdownTable, type Table } from "./format";
import { gridStanding } from "./grid";
import { ratio } from "./tables";

/** Empty while everything is met. */
export function missedSection(results: Results): string {
  const table = missedTable(results);
  const others = boundRows(results).filter((cells) => cells.at(-1) === "missed");
  if (table.body.length === 0 && others.length === 0) return "";
  const rest = markdownTable({ head: ["workload", "figure", "wanted", "reached", ""], body: others });
  const parts = [
    ABOUT,
    markdownTable(table),
    others.length === 0 ? "" : `${ABOUT_OTHERS}\n\n${rest}`,
    why(gridStanding(results)),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
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

const ABOUT = `## Missed goals

Ratios to ioredis. raw+p is the bare socket with one promise for each command. Where raw+p misses the goal too, the socket,
the values and the promises cost more than the goal allows. sluice can be below raw+p, because a pipeline has one promise
for all its commands.`;

const ABOUT_OTHERS = "Goals that are not ratios to ioredis:";

const why = (
  grid: string,
): string => `The reasons, from profiles of \`npm run bench:profile\` (2026-11-21 to 23, Node 20, two CPUs). Shares are shares of the CPU
of the main thread. *Kernel* is the system time of the process, *collector* the garbage collector on the main thread.

- **Pipelines of 10 and 100**: the socket write takes 63-68 % and 34-39 %. No client can avoid it.
- **Pipeline of 1,000**: encoding takes 18-20 %, the collector 13-22 %, the write 9-18 %. The code of the client alone takes
  0.13 µs a command.
- **Pipeline of 100,000**: the collector takes 20-29 %, because the API returns a row for each command and all rows are
  alive at the end. Encoding takes 21-28 %, the calls themselves 17-19 %.
- **GET of 1 MiB as text**: creating the string takes 18-33 %, the collector 27-29 %. Only full collections free strings of
  this size.
- **SET of 1 MiB**: the socket write takes 84-98 %. A bare socket that copies the value before each write needs 336-361 µs of
  CPU, which is above the goal. The copy is necessary: the caller may reuse its bytes after the call.
- **SET of 64 KiB**: the write takes 61-65 %, copying the text 6-15 %.
- **MGET of 1,000**: the write takes 21-23 %, encoding the keys 11-20 %, decoding the values 10-22 %, the collector 8-18 %.
- **HGETALL of 1,000**: setting the fields of the object takes 41-43 %, decoding 11-17 %. Copies of a prepared object are
  faster for up to 100 fields and slower from 500 fields on.
- **Hand-over of a batch of 1,000,000**: \`exec()\` holds the loop for 23-30 ms. About 15 ms of them are collections that the
  array of results causes ([decision 0005](../docs/decisions/0005-stretches-and-cursors.md)).
- **First reply**: a client waits for one round trip, as a bare socket does. Through a proxy with a round trip of 10 ms, the
  hundredth client of a process needs 12.2 ms and a bare socket 11.6 ms. The first clients of a process also pay for
  compiling the code.
- **Contexts**: with an \`AsyncLocalStorage\`, Node 20 and 22 call a hook for each promise. The bare socket with one promise for
  each command then needs 1.2 to 2.1 times the CPU on Node 20. Node 24 has no such hook.
- **Ratios to node-redis of one batch after another**: client and server work in turns, so a command takes the CPU time of
  both, and the part of the server is the same for every client.
- **Client and server at work together**: with one caller, every client waits for the kernel. From 50 callers on, one side is
  always busy and determines the throughput of every client. With 5 to 20 callers, more rounds need more reads and writes, and
  so more CPU. ioredis is ahead with 10 callers of a quick server: its ten slow writes reach the server in two parts.
  ${grid}
- **GET, 100 callers**: 0.8 to 0.9 million commands a second; the bare socket, which writes once a turn, has 0.58 million.
- **p99 of few callers**: in samples of 0.1-0.2 s, the compiler of the engine determines it. After 1.5 s of warm-up, *BullMQ, 50
  adders* has 0.78 times and *rate-limiter-flexible* 0.93 times the p99 of the best other client.
- **Express with sessions**: Express itself takes most of the 195 µs a request.
- **Fastify and BullMQ with concurrency 1**: the order of the clients changes from run to run.
- **A service with a cache**: four hits alone (four keys, four promises, one \`Promise.all\`) need 1.19 times the CPU of the
  service without Redis, so 1.1 times is out of reach. The remaining cost is the common write and reply of the misses.
- **Merged commands**: a turn in batches of 256 is as fast as MGET written by hand, because the server works while the rest
  is issued ([decision 0016](../docs/decisions/0016-coalesce-and-merge.md)).
- **200 handlers on Bun**: Bun compiles later than Node.js, so the first second is slow.
- **Idle subscribers**: the client sends PING about every four seconds, so that it detects a dead connection within 6 to 10 s
  ([decision 0011](../docs/decisions/0011-who-asks-for-listeners.md)). Bare sockets that send the same PINGs miss the goal too.
- **500 connects**: half of the CPU is the compiler of the engine. sluice sends HELLO, two SETINFO and INFO, iovalkey only INFO.
- **Commands at their own pace**: all clients make the same system calls, and the order changes from run to run.
- The other rows have no profile. Those within a few hundredths of their goal change from run to run.

\`\`\`sh
npm run bench:profile -- pipeline-100000 get-mib-buffer         # ids of rows as in npm run bench -- --list
npm run bench:profile -- --side=ioredis get-mib-buffer          # another client
node --single-threaded-gc build/benchmarks/profile.js pipeline-100000
\`\`\``;
