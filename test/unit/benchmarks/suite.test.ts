/**
 * The benchmark suite's own rules: ids that stored results and goals refer to, arithmetic, storage, plots.
 * Nothing is measured here.
 */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { renderChart } from "../../../benchmarks/report/chart";
import { curveSpec } from "../../../benchmarks/report/curves";
import { formatFigure, formatSpread } from "../../../benchmarks/report/format";
import { runtimesTable } from "../../../benchmarks/report/runtimes";
import { overviewTable, ratioTable } from "../../../benchmarks/report/tables";
import { scenarios } from "../../../benchmarks/scenario/all-scenarios";
import {
  nameOfRuntime,
  RUNTIME_ROWS,
  RUNTIME_SIDES,
  runtimePlan,
} from "../../../benchmarks/scenario/runtimes";
import { BareReader } from "../../../benchmarks/sides/bare-reader";
import { freshKey } from "../../../benchmarks/sides/operation";
import { checkReply, operationsOf, textOf } from "../../../benchmarks/support/dataset";
import { goals } from "../../../benchmarks/support/goals";
import {
  describeMachine,
  merge,
  type Results,
  readStored,
  type ScenarioResult,
  summarize,
  writeResults,
} from "../../../benchmarks/support/results-store";
import { LatencyRecorder, spreadOf } from "../../../benchmarks/support/statistics";

function resultOf(samples: Record<string, number[]>): ScenarioResult {
  const taken = Object.entries(samples).map(
    ([side, values]) =>
      [side, { samples: values.map((value) => ({ opsPerSecond: value, cpuMicros: 1e6 / value })) }] as const,
  );
  const row = summarize(new Map(taken as never), "a row");
  return {
    title: "a scenario",
    measuredAt: "2026-01-01T00:00:00.000Z",
    machine: describeMachine(),
    rounds: 3,
    measureMs: 1,
    isPinned: false,
    loadBefore: 0,
    server: "Redis",
    versions: {},
    rows: { row },
  };
}

describe("benchmark suite", () => {
  const rows = scenarios.flatMap((scenario) => scenario.rows);

  it("no two rows, scenarios or plots share a name", () => {
    const files = scenarios.flatMap(({ plots = [] }) => plots.map(({ file }) => file));
    for (const names of [rows.map(({ id }) => id), scenarios.map(({ id }) => id), files]) {
      expect(new Set(names).size).to.equal(names.length);
    }
  });

  it("every goal names a row that exists and has ioredis beside it", () => {
    for (const goal of goals) {
      const row = rows.find(({ id }) => id === goal.row);
      expect(row?.sides, goal.row).to.include.members(["sluice", "ioredis"]);
    }
  });

  it("the median of an even count is the mean of the middle two", () => {
    expect(spreadOf([4, 1, 3, 2])).to.deep.equal({ median: 2.5, least: 1, most: 4 });
  });

  it("latency quantiles are in microseconds, by nearest rank", () => {
    const recorder = new LatencyRecorder(100);
    for (let ms = 1; ms <= 200; ms++) recorder.record(ms);
    expect(recorder.quantiles()).to.deep.equal({ p50Micros: 50_500, p99Micros: 99_000 });
  });

  it("results survive storing, with four digits", () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "bench-")), "results.json");
    const stored: Results = {
      scenarios: { one: resultOf({ sluice: [123_456.789, 1, 9.87654] }) },
    };
    writeResults(stored, file);
    const sides = readStored(file)?.scenarios.one?.rows.row?.sides;
    expect(sides?.sluice?.figures.opsPerSecond).to.deep.equal({ median: 9.877, least: 1, most: 123_500 });
    fs.rmSync(path.dirname(file), { recursive: true });
  });

  it("a scenario that was measured again replaces the stored one as a whole", () => {
    const old: Results = {
      scenarios: { one: resultOf({ sluice: [1], glide: [1] }), two: resultOf({ sluice: [2] }) },
    };
    const merged = merge(old, { scenarios: { one: resultOf({ sluice: [3] }) } });
    expect(Object.keys(merged.scenarios.one?.rows.row?.sides ?? {})).to.deep.equal(["sluice"]);
    expect(merged.scenarios.two).to.equal(old.scenarios.two);
  });

  it("throughput is judged by the median, CPU by the least sample, ratios refer to ioredis", () => {
    const result = resultOf({ sluice: [1e6, 2e6, 4e6], ioredis: [1e5, 1e5, 2e5] });
    expect(overviewTable(result).body).to.deep.equal([["a row", "2.00M / 0.25", "100k / 5.00"]]);
    expect(ratioTable(result).body).to.deep.equal([["a row", "20.0× / 0.05×"]]);
  });

  it("the rows of other runtimes exist, with every side that they are measured on", () => {
    expect(runtimePlan([]).map(({ row }) => row.id)).to.have.members(RUNTIME_ROWS);
    for (const { row } of runtimePlan([])) expect(row.sides, row.id).to.include.members(RUNTIME_SIDES);
    expect(runtimePlan(["storage-on"]).map(({ row }) => row.id)).to.deep.equal(["storage-on"]);
    expect(nameOfRuntime(process.execPath)).to.equal(`Node ${process.versions.node}`);
  });

  it("runtimes are columns in the order of their versions, and survive another run", () => {
    const [id = ""] = RUNTIME_ROWS;
    const on = (cpu: number): ScenarioResult => {
      const result = resultOf({ sluice: [1e6 / cpu], ioredis: [1e5], "raw+p": [1e6] });
      return { ...result, rows: { [id]: result.rows.row as never } };
    };
    const old: Results = { scenarios: {}, runtimes: { "Bun 1.0.0": on(4), "Node 9.1.0": on(3) } };
    const merged = merge(old, { scenarios: {}, runtimes: { "Node 24.0.0": on(2) } });
    expect(runtimesTable(merged)).to.deep.equal({
      head: ["CPU µs per command", "Node 9.1.0", "Node 24.0.0", "Bun 1.0.0"],
      body: [
        [
          "a row",
          "3.00 / 10.00 / 1.00 (3.00×)",
          "2.00 / 10.00 / 1.00 (2.00×)",
          "4.00 / 10.00 / 1.00 (4.00×)",
        ],
      ],
    });
  });

  it("figures are short, spreads are half of the width over the median", () => {
    expect([1_234_567, 123_456, 12_345, 1234.5, 0.1234].map((value) => formatFigure(value, 2))).to.deep.equal(
      ["1.23M", "123k", "12.3k", "1235", "0.12"],
    );
    expect(formatSpread({ median: 10, least: 9, most: 11 })).to.equal("±10 %");
  });

  it("a plot has one curve and one name per side, and no name covers another", async () => {
    const points = (["sluice", "ioredis"] as const).flatMap((side) => [
      { side, x: 1, y: 10, least: 9, most: 11 },
      { side, x: 100, y: 1000, least: 900, most: 1100 },
    ]);
    const plot = {
      file: "any",
      title: "a < b",
      xTitle: "x",
      yTitle: "y",
      figure: "f",
      pick: "median",
    } as const;
    const sides = ["sluice", "ioredis"] as const;
    const spec = curveSpec({ plot, points, sides, caption: ["measured today"], theme: "light" });
    const svg = await renderChart(spec, "light");
    expect(svg.match(/aria-roledescription="line mark"/g)).to.have.length(2);
    expect(svg).to.include("a &lt; b").and.to.include("measured today");
    const names = [...svg.matchAll(/translate\(([\d.]+),([\d.]+)\)"[^>]*>(sluice|ioredis)<\/text>/g)];
    expect(names.map(([, , , name]) => name).sort()).to.deep.equal(["ioredis", "sluice"]);
    const [first, second] = names.map(([, , y]) => Number(y));
    expect(Math.abs((first ?? 0) - (second ?? 0))).to.be.at.least(12);
  });

  it("wrong replies are noticed before anything is measured", () => {
    const [get] = operationsOf("get16");
    if (get?.kind !== "get") throw new Error("not a GET");
    checkReply(get, textOf(freshKey(get.key), 16));
    expect(() => checkReply(get, null)).to.throw("wrong reply to get");
    expect(() => checkReply(get, textOf("other", 16))).to.throw("wrong reply to get");
  });
});

describe("bare reader", () => {
  const replies = `+OK\r\n:-12\r\n$5\r\nhello\r\n$-1\r\n*2\r\n$1\r\na\r\n$20000\r\n${"x".repeat(20_000)}\r\n*0\r\n`;
  const values = ["OK", -12, "hello", null, ["a", "x".repeat(20_000)], []];

  for (const size of [1, 7, 1000, 1_000_000]) {
    it(`reads replies that arrive in pieces of ${size}`, () => {
      const read: unknown[] = [];
      const reader = new BareReader((value) => read.push(value));
      const bytes = Buffer.from(replies);
      for (let at = 0; at < bytes.length; at += size) reader.push(Buffer.from(bytes.subarray(at, at + size)));
      expect(read).to.deep.equal(values);
    });
  }
});
