/**
 * The parts alone, without a socket: adds the figures of single rows of `benchmarks/micro` to the results.
 */

import { once } from "node:events";
import { text } from "node:stream/consumers";
import { spawnNode } from "../support/child-process";
import type { Figures } from "../support/meter";
import type { Row, Scenario } from "../support/scenario";

interface MicroRow extends Row {
  readonly file: string;
  /** The line of its output. */
  readonly line: string;
}

function row(file: string, line: string, title = line): MicroRow {
  const id = `micro-${file}-${line.toLowerCase().replace(/\W+/g, "-")}`;
  return { id, title: `${file}: ${title}`, file, line, sides: ["sluice"] };
}

export const micro: Scenario<MicroRow> = {
  id: "micro",
  title: "The parts alone",
  about:
    "Micro-benchmarks of encoder, parser, command queue, flush, promises and pipelines, without their neighbors. Time and heap bytes of one operation, the lowest of 25 short rounds. The files in `benchmarks/micro` have more lines.",
  isOffline: true,
  rounds: 1,
  columns: [
    { figure: "nanos", title: "ns", digits: 1, pick: "least" },
    { figure: "heapBytes", title: "bytes", digits: 0, pick: "least" },
  ],
  rows: [
    row("encoder", "SET 9 B, 16 B x 1000", "SET of 16 B"),
    row("encoder", "SET 9 B, 1024 B string x 500", "SET of a string of 1 KiB"),
    row("encoder", "SET 1024 KiB string x 8", "SET of a string of 1 MiB"),
    row("parser", "GET 16 B x 1000", "string of 16 B"),
    row("parser", "integer x 1000", "integer"),
    row("parser", "LRANGE 10k of 16 B", "list of 10,000 strings of 16 B"),
    row("parser", "HGETALL 1000, map as object", "hash of 1,000 fields as an object"),
    row("parser", "GET 1024 KiB string", "string of 1 MiB"),
    row("queue", "queue: push, advance, shift", "a command goes through"),
    row("flush", "flush at the end of the run"),
    row("flush", "flush at the end of the turn"),
    row("settlement", "a bare promise, made and resolved"),
    row("settlement", "command of get, made and fulfilled", "a command with its promise, made and fulfilled"),
    row("pipeline", "pipeline: chained set, sent, answered", "one command queued, sent, answered"),
  ],
  measure: measureLine,
};

async function measureLine({ file, line }: MicroRow): Promise<Figures> {
  const child = spawnNode({ script: `micro/${file}.js`, args: [line] });
  const [output] = await Promise.all([text(child.stdout as NodeJS.ReadableStream), once(child, "close")]);
  for (const printed of output.split("\n")) {
    if (printed.slice(0, line.length) !== line) continue;
    const figures = /^\s+([\d.]+) ns(?:\s+([\d.]+) B)?\s*$/.exec(printed.slice(line.length));
    if (figures === null) continue;
    const found: Figures = { nanos: Number(figures[1]) };
    if (figures[2] !== undefined) found.heapBytes = Number(figures[2]);
    return found;
  }
  throw new Error(`micro/${file} has no line "${line}"`);
}
