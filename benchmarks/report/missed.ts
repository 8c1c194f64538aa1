/**
 * The section about goals that are missed: which, whether the bare socket reaches them, and what profiles say.
 * The table comes from stored results. The text is kept by hand: its shares are those of the runs that it names.
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

const ABOUT = `## What is missed, and why

Ratios to ioredis again. raw+p is the yardstick: where it misses the line as well, socket, values and one promise for
each command cost more than the goal allows. sluice can be below it, since a pipeline
has one promise for all its commands.`;

const ABOUT_OTHERS = "Goals that are no ratios to ioredis, or to another row:";

const why = (
  grid: string,
): string => `What profiles say, shares of the CPU of the main thread. They are from three runs of
\`npm run bench:profile\` on 2026-11-21 and 22, Node 20, on two CPUs that did other work as well; a range is the least and the
most of the three. *Kernel* is the system time of the whole process, *collector* the garbage collector on the main
thread.

- **Pipeline of 10**: the socket write is 63-68 %, the kernel 63-71 %. Encoding is 3-5 %.
- **Pipeline of 100**: the write is still 34-39 % and the kernel 42-51 %; the collector has 7-11 %, encoding 10-14 %.
- **Pipeline of 1,000**: spread out: encoding 18-20 %, the write 9-18 %, the collector 13-22 % (two runs). The code of the
  client without socket and server takes 0.13 µs a command (replies fed from memory); with \`--single-threaded-gc\` the
  whole took 0.23-0.27 µs instead of 0.29-0.31 on a busy machine.
- **Pipeline of 100,000**: the collector is 20-29 %, and 27 % in a run with \`--single-threaded-gc\`, where none of its
  work is hidden in other threads. The API returns a row \`[null, reply]\` for each command, and all of them are alive
  at the end. Encoding is 21-28 %, taking in the calls 17-19 %.
- **GET of 1 MiB as text**: making the string is 18-33 %, the collector 27-29 % (four runs): a string of this size has
  memory outside of the heap, which only full collections free (\`--trace-gc\`: one for each 80 values).
- **GET of 1 MiB as a Buffer** was slower than with ioredis until 2026-11-22. \`strace\` showed 0.5-0.6 ms between the last
  read of a reply and the next command, behind a \`brk\` that enlarged the heap by 1 MiB; ioredis needed 0.1-0.15 ms.
  The C library gives freed memory at the end of its heap back to the system after each collection, so that the copy
  for the caller met up to 235 page faults for each GET (256 is all of it), in some runs none; with
  \`MALLOC_TRIM_THRESHOLD_=268435456\` they were gone. ioredis has chunks of replies under way behind it, which keep that
  memory. Now values from 64 KiB on are read into the Buffer that the caller gets, 64 KiB at a time, and a block of
  16 KiB behind the newest of them keeps the memory: 1-20 faults.
- **SET of 1 MiB** as a Buffer: the socket write is 84-98 %, one \`writev\` of 1 MiB (0.15-0.25 ms in the kernel by
  \`strace\`, which fills the send buffer at every fourth). The bare socket, which writes one Buffer prepared beforehand,
  itself needs more CPU than the goal and gives fewer ops/s, so no client can meet this line here. Header and value in
  one piece or three, a write for each or for four, pieces of 64 to 512 KiB, each sent when the one before had left,
  made the bare socket no better.
  On 2026-11-23, with nothing else running, four callers and three rounds, the bare socket took 256-280 µs of CPU for
  each when it wrote the same prepared Buffer again and again. It took 336-361 µs when it copied the value before each
  write, 325-343 when it copied into one place, 328-351 when it copied four and wrote them together, and 335-378 when it
  encoded a text. sluice took 396-421 with a text and 435-514 with a Buffer. The copy is owed: the bytes belong to the
  caller again when the call returns, and a command that is sent again after a lost connection needs them. So the goals
  (329 and 208 µs in this run) are below what a socket with one copy can do.
- **SET of 64 KiB**: the write is 61-65 %, copying the text 6-15 %.
- **MGET of 1,000**: nothing stands out: the write 21-23 %, encoding the keys 11-20 %, decoding the values 10-22 %,
  the collector 8-18 %.
- **HGETALL of 1,000**: setting the fields of the object, safely for names such as \`__proto__\`, is 41-43 %; decoding
  the texts 11-17 %.
  Objects made from a remembered one with the same fields (\`{ ...shape }\`, then assignments with the same key texts)
  were measured on 2026-11-23, with decoding, in ns a field: 128 instead of 137 for 5 fields, 126 instead of 167 for 30,
  147 instead of 167 for 100, but 313 instead of 208 for 500 and 315 instead of 213 for 1,000; \`Object.fromEntries\`
  289-318 for those. An object of so many fields is a hash table of the engine, whose copy costs more than filling it.
  The rest, in a profile of that day: reading the socket 23 %, the collector 12 %, short texts 8 %, the parser's tokens 8 %,
  placing the texts 4 %.
- **Hand-over of a batch of 1,000,000**: \`exec()\` itself holds the loop for 23-30 ms (profile of four batches): 4 ms are the
  array for the results, about 15 ms the collector, which an array of 8 MB calls, and 5 ms the first stretch. Calls are
  not walked through: they are written stretch by stretch ([decision 0005](../docs/decisions/0005-stretches-and-cursors.md)).
- **Contexts**: in Node 20 and 22 the engine calls a hook for each promise as soon as one \`AsyncLocalStorage\` is in use.
  The bare socket with one promise for each command pays it too, 1.2 to 2.1 times in Node 20 (two runs) and 1.3 to 1.44 in Node 22: see *Other
  runtimes*, whose last two rows are without and with a context. In Node 24 there is no such hook: sluice has 0.91 and 1.01
  times the CPU with a context, and in Node 26 1.2-1.4 times where the
  bare socket has 1.06-1.33.
  On Node 20, 200 callers with auto-pipelining took 0.59 and 0.62 µs without, 0.81 and 0.92 with a context. In a profile of the
  latter the engine's hooks for promises (\`promiseInitHook\`, \`_propagate\` and the like) have 11 %, the collector 19 %
  where it has 9 without; each command has one promise already.
- **Fastify and BullMQ with concurrency 1**: in three runs of 2026-11-23 Fastify had 0.91 to 1.18 times the p99 of the best peer,
  1.24 to 1.34 times its requests and 0.69 to 0.83 times its CPU; BullMQ one at a time 0.97 to 1.00 times the jobs and
  1.01 to 1.08 times the CPU. The order of the p99 changes from run to run.
- **Ratios to node-redis of one batch after another** (pipelines of 1,000, auto-pipelined turns): client and server take
  turns, so a command takes about as long as the CPU of both, and the server's part is the same for every client. In
  the run of 2026-11-22 a pipeline of 1,000 had 0.26 µs here and 0.29 µs in the server, 0.56 µs from one command to the
  next; with 1.09 µs of node-redis that gives 2.0 and not 2.2 times its ops/s, though a quarter of its CPU.
- **Client and server at work together**: the sizes of reads and writes were traced on 2026-11-22 on an idle machine.
  With one caller every client waits for the kernel: p50 is 75-90 µs for all, of which the code of any client is a few. From
  50 callers on, with 5 or 20 µs a command, the server is busy all the time, and with 15 or 100 µs of own work the client
  is: throughput and p50 are then those of the side that is busy, the same for every client that keeps it so, and 1.05
  times the best peer is out of reach. With 5 to 20 callers CPU is that of a read and a write for each round, so that
  twice the rounds is nearly twice the CPU: what overlaps has two rounds where one write a turn has one. ioredis is
  ahead with 10 callers of a quick server, because each of its ten writes takes it 5 µs: they reach a server that
  has woken up in two parts, where two halves written at once reach it as one. The second half is held for as long
  ([decision 0014](../docs/decisions/0014-flush-policy.md)), but not where the server answers at once. The grid showed
  nothing of that until 2026-11-23, when its processes warmed up with another number of callers and without a record of
  their times: compilers were at work in the samples. A command after a pause leaves alone since that day: 10 callers with
  15 µs of work over a line of 0.2 ms rose from 29,800 to 33,200 a second (ioredis 33,100). It costs CPU where client and
  server are idle most of the time: 16.6 instead of 10.5 µs for 10 callers, 20 µs and a line of 1 ms (ioredis 18.3). From
  20 callers on ioredis still writes every command by itself there, at up to twice the CPU. ${grid}
- **GET, 100 callers**: 781,000 to 827,000 a second after 0.2 s of warm-up, 890,000 and 941,000 after one second, all on
  2026-11-23; the bare socket, which writes once a turn, had 580,000 beside the last. Profile of that day: the socket write
  24 %, the code of the callers 9 %, encoding 5 %, the collector 5 %, the kernel 27 %. With one key for each caller that does
  not exist, so that no value is made, the same client did 1.3 million.
- **p99 of few callers** in samples of 0.1-0.2 s is that of compiling and of whatever else runs: compiler threads share the CPU of
  the client. A lone caller in the cell that was measured first had 1.4 ms after 0.2 s of warm-up, and 0.18 ms after 1.5 s; with other processes
  on the machine 1-4 ms, for every client, the length of a time slice. *BullMQ, 50 adders* and *rate-limiter-flexible* had
  0.89 and 1.28 times the p99 of the best peer after 0.2 s, and 0.78 and 0.93 times after 1.5 s, with a CPU a call that fell
  from 14.2 to 9.4 µs and from 5.4 to 3.6. *Express with sessions* had 0.91 times the requests of node-redis after 3,000
  requests and 0.99 times after 20,000: Express has most of the 195 µs a request.
- **A service with a cache**: on 2026-11-23, in one process by turns, least of four, µs a request: 16.1 without Redis, 19.2
  with four hits, 19.8 with 0.4 reads a request past the cache and nothing else, 23.8 with both, 22.6 with four reads and
  no cache. Four hits alone (four texts of keys, four promises, one \`Promise.all\`) are 1.19 times the floor, so 1.1 times
  is out of reach with any number of misses. What the reads of a turn cost is above all their common write and reply, and
  nine hits in ten reads leave most of those.
- **Merged commands**: written by hand with MGET and one promise for each key, a turn has 1.47 times the commands a second, a
  pipeline 1.68 times. A turn that leaves in batches of 256, four of them under way, is as fast merged as written by hand
  (2.36M and 2.32M a second, 1.51 and 1.49 times the turn as it is, in one process by turns),
  because the server works while the rest is issued ([decision 0016](../docs/decisions/0016-coalesce-and-merge.md)).
- **200 handlers on Bun** had 16.93 µs after 0.2 s of warm-up, and 1.17 after one second; by fifths of a second from the
  start: 5.8, 4.9, 1.7, 1.6, 1.2, 1.1, with as many commands in a write as on Node.js. Bun compiles later. So every process now warms
  up for a second; of Node 26 only this row was measured so.
- **Idle subscribers** are asked by \`PING\` about every four seconds, so that a dead line under them is noticed in 6 to 10 s; no
  other client here does. That guarantee costs about 0.01 ms a second for each subscriber
  ([decision 0011](../docs/decisions/0011-who-asks-for-listeners.md)). All that are due are asked from one timer, in one run,
  so wake-ups are shared already. Bare sockets on which one timer writes the same \`PING\`s had 0.47-0.54 ms a second for
  50, where sluice had 0.80 (with other idle processes on the CPU): five times the goal without any client. In a
  profile of 200 the reads, writes and streams of the runtime lead; no function of the client has more than a twentieth.
- **Idle clients** are asked nothing. Each is looked at once, two seconds after its last reply at the latest: that look of 200
  clients holds the process for 0.5 ms, that of two for 0.2, because code that runs once is cold. From then on nothing ticks.
  The row begins after it since 2026-11-23: 0.107 ms a second for 200 clients, 0.104 for those of ioredis, which is
  the engine itself. Before, with the look in it, it had 0.27.
  To leave at the reply itself would need a list joined and a timer begun and ended by every lone command, 0.24 µs each time
  in compiled code: after 3,500 of them a service has paid what it saves once.
- **500 connects**: half of the CPU is the engine's compiler. On 2026-11-23, with client and server on one CPU each, in µs
  a connect, sluice / iovalkey: 494 / 352 for 500 of them, 385 / 323 for 2,000, 276 / 266 for 4,000, and 308 / 299 for 500
  with \`--no-opt\` (\`--trace-opt\`: 204 and 69 ms of compiling, much of it functions that each command runs as well). Since
  then the handshake waits in a function of its own, one promise stands for what it only tells, and options are checked
  with less work: 493 where 583 was, beside 412 of iovalkey in the same minute.
  Later that day refusals that nobody looks at (servers before 7.2 do not know \`CLIENT SETINFO\`, two errors a
  connect) were no longer described: 443-453 where 443-480 was, beside 361-406. \`perf\` of the whole process, start
  included, had 95 ms of compiling here and 66 there, and 278 and 281 ms of all else; with \`--no-opt\` 248 and 269 µs a
  connect. sluice sends HELLO, two SETINFO and INFO, iovalkey INFO alone: without SETINFO it took 340-358, without INFO
  as well 321-336.
- **Commands at their own pace**: \`strace\` counts the same system calls for sluice, ioredis and iovalkey (one write and two
  reads for a command with the byte that calls for it, 3.3 to 3.7 waits for events). In profiles of 2026-11-23 sluice had 65 ms
  of JavaScript for 6,500 commands and iovalkey 85. Runs of four seconds, in turn, gave 58 to 75 µs a command for sluice,
  57 to 67 for iovalkey and 58 to 93 for ioredis: the order changes from run to run.
- The other lines have no profile. Those within a few hundredths of their goal change sides from run to run.

\`\`\`sh
npm run bench:profile -- pipeline-100000 get-mib-buffer         # ids of rows as in npm run bench -- --list
npm run bench:profile -- --side=ioredis get-mib-buffer          # another client
node --single-threaded-gc build/benchmarks/profile.js pipeline-100000
\`\`\``;
