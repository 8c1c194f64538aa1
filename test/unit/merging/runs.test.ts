/** Runs in a batch: rows that follow one another and that one command can stand for. */

import { expect } from "chai";
import { Command, IGNORED, UNROUTED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { findRuns, isSame, type Run } from "../../../src/merging/runs";

const MERGED = ["hget", "get", "set", "hmset", "rpush"];
const BYTES = 64 * 1024;

type Words = readonly (string | Buffer)[];

const shown = (runs: readonly Run[]): string[] =>
  runs.map(({ form, from, to }) => `${form.single} ${from}-${to}`);

function commandsOf(rows: readonly Words[], slots: readonly number[] = []): Command[] {
  return rows.map(([name, ...args], index) => {
    const command = new Command(specOf(String(name)), [...args], false, IGNORED);
    command.slot = slots[index] ?? UNROUTED;
    return command;
  });
}

function runsOf(rows: readonly Words[]): string[] {
  return shown(findRuns(commandsOf(rows), MERGED, () => true));
}

describe("runs of rows", () => {
  it("are two rows and more with nothing in between", () => {
    expect(
      runsOf([
        ["get", "a"],
        ["get", "b"],
        ["get", "c"],
      ]),
    ).to.deep.equal(["get 0-3"]);
    expect(runsOf([["get", "a"], ["ping"], ["get", "b"]])).to.deep.equal([]);
    expect(
      runsOf([["ping"], ["get", "a"], ["get", "b"], ["ping"], ["set", "a", "1"], ["set", "b", "2"]]),
    ).to.deep.equal(["get 1-3", "set 4-6"]);
    expect(
      runsOf([
        ["get", "a"],
        ["get", "b"],
        ["set", "a", "1"],
        ["set", "b", "2"],
      ]),
    ).to.deep.equal(["get 0-2", "set 2-4"]);
    expect(runsOf([])).to.deep.equal([]);
  });

  it("are those of the commands that are asked for", () => {
    expect(
      runsOf([
        ["sismember", "s", "a"],
        ["sismember", "s", "b"],
      ]),
    ).to.deep.equal([]);
  });

  it("have one key where the form has one", () => {
    expect(
      runsOf([
        ["hget", "k", "a"],
        ["hget", "k", "b"],
        ["hget", "l", "a"],
        ["hget", "l", "b"],
      ]),
    ).to.deep.equal(["hget 0-2", "hget 2-4"]);
    expect(
      runsOf([
        ["hget", "k", "a"],
        ["hget", Buffer.from("k"), "b"],
      ]),
    ).to.deep.equal(["hget 0-2"]);
  });

  it("have as many arguments as the form takes", () => {
    expect(
      runsOf([
        ["set", "a", "1"],
        ["set", "b", "2", "EX", "9"],
        ["set", "c", "3"],
      ]),
    ).to.deep.equal([]);
    expect(
      runsOf([
        ["rpush", "l", "a"],
        ["rpush", "l", "b", "c"],
      ]),
    ).to.deep.equal(["rpush 0-2"]);
    expect(
      runsOf([
        ["hmset", "h", "a", "1"],
        ["hmset", "h", "b", "2", "c", "3"],
      ]),
    ).to.deep.equal(["hmset 0-2"]);
    expect(
      runsOf([
        ["hmset", "h", "a", "1"],
        ["hmset", "h", "b", "2", "c"],
      ]),
    ).to.deep.equal([]);
  });

  it("end after 128 rows, and the rest is a run of its own", () => {
    const rows = (count: number): Words[] =>
      Array.from({ length: count }, (_, index) => ["get", String(index)]);
    expect(runsOf(rows(128))).to.deep.equal(["get 0-128"]);
    expect(runsOf(rows(130))).to.deep.equal(["get 0-128", "get 128-130"]);
    expect(runsOf(rows(129)), "one row is none").to.deep.equal(["get 0-128"]);
  });

  it("end before they are too large", () => {
    const value = (size: number): Words => ["set", "k", "x".repeat(size - 1)];
    expect(runsOf([value(BYTES / 2), value(BYTES / 2)])).to.deep.equal(["set 0-2"]);
    expect(runsOf([value(BYTES / 2), value(BYTES / 2 + 1)])).to.deep.equal([]);
    expect(runsOf([value(BYTES), value(2), value(2)])).to.deep.equal(["set 1-3"]);
  });

  it("are of one slot where their keys may differ, and of rows that nothing else matters about", () => {
    const rows: Words[] = [
      ["get", "a"],
      ["get", "b"],
      ["get", "c"],
      ["get", "d"],
    ];
    const commands = commandsOf(rows, [1, 1, 2, 2]);
    const find = (isFree: (command: Command) => boolean): string[] =>
      shown(findRuns(commands, MERGED, isFree));
    expect(find(() => true)).to.deep.equal(["get 0-2", "get 2-4"]);
    expect(find((command) => command !== commands[1])).to.deep.equal(["get 2-4"]);
  });

  it("compare arguments by their bytes", () => {
    const [text, bytes] = ["é", Buffer.from("é")];
    expect([
      isSame(text, "é"),
      isSame(text, bytes),
      isSame(bytes, text),
      isSame(bytes, Buffer.from(bytes)),
    ]).to.deep.equal(Array(4).fill(true));
    expect([
      isSame("a", "b"),
      isSame("a", Buffer.from("b")),
      isSame(bytes, "e"),
      isSame(bytes, Buffer.alloc(2)),
    ]).to.deep.equal(Array(4).fill(false));
  });
});
