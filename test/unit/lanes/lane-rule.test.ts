import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { IGNORED } from "../../../src/command/promise-completion";
import { slotOfKey } from "../../../src/command/slot";
import { bindsToMain, isForAll, Placement, placementOf } from "../../../src/lanes/lane-rule";

function commandOf(words: string): Command {
  const [name = "", ...args] = words.split(" ");
  return new Command(specOf(name), args, false, IGNORED);
}

function placementOfWords(words: string): [Placement, number[]] {
  const slots: number[] = [9999];
  return [placementOf(commandOf(words), slots), slots];
}

describe("placements of commands", () => {
  it("go by the slots of the keys where a command is about its keys alone", () => {
    const about: Record<string, string[]> = {
      "get a": ["a"],
      "GET a": ["a"],
      "set a 1 ex 10": ["a"],
      "mget a b": ["a", "b"],
      "mset a 1 b 2": ["a", "b"],
      "hset {a}x f v": ["a"],
      "blpop a b 0": ["a", "b"],
      "xread count 2 streams a b 0 0": ["a", "b"],
      "eval lua 2 a b c": ["a", "b"],
      "sort a limit 0 5": ["a"],
      "sort a store b": ["a", "b"],
      "object encoding a": ["a"],
      "xgroup create a g 0": ["a"],
      "json.get a $": ["a"],
      "spublish a message": ["a"],
      "copy a b": ["a", "b"],
    };
    for (const [words, keys] of Object.entries(about)) {
      const [placement, slots] = placementOfWords(words);
      expect(placement, words).to.equal(Placement.Keyed);
      expect(slots, words).to.deep.equal(keys.map(slotOfKey));
    }
  });

  it("take the slot that a cluster has computed", () => {
    const command = commandOf("get a");
    command.slot = 7;
    const slots: number[] = [];
    expect(placementOf(command, slots)).to.equal(Placement.Keyed);
    expect(slots).to.deep.equal([7]);
  });

  it("are free for what is about neither data nor the connection", () => {
    for (const words of ["ping", "echo a", "time", "info", "client id", "CLIENT LIST"]) {
      expect(placementOfWords(words)[0], words).to.equal(Placement.Free);
    }
  });

  it("stand between all others for everything else", () => {
    const barriers = [
      "select 1",
      "multi",
      "exec",
      "discard",
      "watch a",
      "unwatch",
      "subscribe a",
      "ssubscribe a",
      "publish a b",
      "flushall",
      "keys *",
      "scan 0",
      "dbsize",
      "randomkey",
      "swapdb 0 1",
      "eval lua 0",
      "sort a by w_*",
      "sort a get #",
      "wait 0 0",
      "client tracking on",
      "client setname x",
      "config set a b",
      "auth a",
      "quit",
      "reset",
      "unknown a",
      "ft.search index *",
      "himport set a b c",
      "get",
    ];
    for (const words of barriers) expect(placementOfWords(words)[0], words).to.equal(Placement.Barrier);
  });

  it("leave no slots behind where there are none", () => {
    expect(placementOfWords("ping")[1]).to.deep.equal([]);
    expect(placementOfWords("flushall")[1]).to.deep.equal([]);
  });

  it("tell settings of all connections from those of one", () => {
    expect(
      ["auth a", "client setname x", "readonly", "reset"].map((one) => isForAll(commandOf(one))),
    ).to.not.include(false);
    expect(
      ["get a", "client tracking on", "client id"].map((one) => isForAll(commandOf(one))),
    ).to.not.include(true);
    expect(bindsToMain(commandOf("client tracking on"))).to.equal(true);
    expect(bindsToMain(commandOf("client setname x"))).to.equal(false);
  });
});
