/** Keys of commands that the table does not know: asked for once, learned, and asked for again where no answer came. */

import { expect } from "chai";
import { CommandGuide } from "../../../src/cluster/command-guide";
import type { NodePool } from "../../../src/cluster/node-pool";
import { Command, IGNORED, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { NO_SLOT, slotOfKey } from "../../../src/command/slot";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

import { MOST_NAMES } from "../../../src/util/bounds";

describe("CommandGuide", () => {
  let questions: Command[];
  let pool: { isSealed: boolean; sample(): object | null; clientOf(): object };
  let guide: CommandGuide;

  beforeEach(() => {
    questions = [];
    const link = { dispatch: (command: Command) => void questions.push(command) };
    pool = { isSealed: false, sample: () => ({}), clientOf: () => ({ link }) };
    guide = new CommandGuide(pool as unknown as NodePool);
  });

  afterEach(() => {
    for (const one of questions) one.fail(new Error("the test is over"));
  });

  function slotOf(name: string, ...args: string[]): number {
    return guide.slotOf(new Command(specOf(name), args, false, IGNORED));
  }

  async function answer(...row: unknown[]): Promise<void> {
    questions.at(-1)?.fulfil([row] as never, SHAPE);
    await Promise.resolve();
  }

  it("asks once for a word, and leads its commands to their key from the answer on", async () => {
    expect([slotOf("own.get", "x", "k"), slotOf("own.get", "x", "k")]).to.deep.equal([NO_SLOT, NO_SLOT]);
    expect(questions.map(({ name, args, origin }) => [name, args, origin])).to.deep.equal([
      ["command", ["INFO", "own.get"], Origin.Question],
    ]);
    await answer("own.get", -3, [], 2, 2, 1);
    expect([slotOf("own.get", "x", "k"), slotOf("OWN.GET", "x", "k"), slotOf("own.get", "x")]).to.deep.equal([
      slotOfKey("k"),
      slotOfKey("k"),
      NO_SLOT,
    ]);
    expect(questions.length).to.equal(1);
  });

  it("knows after an answer without keys that there are none", async () => {
    for (const row of [["own.a", 1, [], 0, 0, 0], [], ["own.a", 1, [], 1, 1, 0]]) {
      guide = new CommandGuide(pool as unknown as NodePool);
      slotOf("own.a", "k");
      await answer(...row);
      const { length } = questions;
      expect(slotOf("own.a", "k")).to.equal(NO_SLOT);
      expect(questions.length).to.equal(length);
    }
    guide = new CommandGuide(pool as unknown as NodePool);
    slotOf("own.b", "k");
    questions.at(-1)?.fulfil("OK", SHAPE);
    await Promise.resolve();
    expect(slotOf("own.b", "k")).to.equal(NO_SLOT);
  });

  it("asks again where no answer came", async () => {
    slotOf("own.get", "k");
    questions[0]?.fail(new Error("the connection is lost"));
    await new Promise(setImmediate);
    slotOf("own.get", "k");
    expect(questions.length).to.equal(2);
  });

  it("asks nothing while there is no node to ask, and for no line that was taken for a word", () => {
    pool.isSealed = true;
    slotOf("own.get", "k");
    pool.isSealed = false;
    pool.sample = () => null;
    slotOf("own.get", "k");
    pool.sample = () => ({});
    slotOf("auth secret", "k");
    slotOf("x".repeat(65), "k");
    expect(questions).to.deep.equal([]);
    slotOf("own.get", "k");
    expect(questions.length).to.equal(1);
  });

  it("remembers a bounded number of words", () => {
    for (let index = 0; index < MOST_NAMES + 10; index++) slotOf(`own.${index}`, "k");
    expect(questions.length).to.equal(MOST_NAMES);
  });
});
