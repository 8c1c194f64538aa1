/** The counters and words of a batch, against plain sums. */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind, flagsOf } from "../../../src/command/batch";
import { CommandFlag } from "../../../src/command/command-spec";
import { fixedRuns } from "../../support/properties";

interface Member {
  batch: Batch | null;
  readonly spec: { readonly flags: number };
}

const member = (flags: number): Member => ({ batch: null, spec: { flags } });
const all = (members: readonly Member[]): number => members.reduce((sum, { spec }) => sum | spec.flags, 0);

describe("Batch", () => {
  it("is done once, with the last of its members, those that it began with included", () => {
    const flags = fc.array(fc.nat(255), { maxLength: 6 });
    fc.assert(
      fc.property(fc.nat(3), flags, (left, added) => {
        let done = 0;
        const batch = new Batch(BatchKind.Pipeline, left, () => void done++);
        const members = added.map(member);
        for (const one of members) batch.add(one);
        expect([batch.size, batch.left]).to.deep.equal([added.length, left + added.length]);
        expect(members.every((one) => one.batch === batch)).to.equal(true);
        expect(batch.flags).to.equal(all(members));
        for (let n = batch.left; n > 0; n--) {
          expect(done).to.equal(0);
          batch.settleOne();
        }
        expect(done).to.equal(left + batch.size > 0 ? 1 : 0);
      }),
      fixedRuns(200),
    );
  });

  it("counts as begun once it is written, and tells who traces it", () => {
    const told: string[] = [];
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    batch.trace = {
      onStarted: () => void told.push("started"),
      onAnswered: () => void told.push("answered"),
    };
    const before = Batch.started;
    const words = { isStarted: false, isAnswered: false, isRefused: false, isGuarded: false };
    expect(batch).to.include({ ...words, isHeld: false });
    batch.start();
    expect([batch.isStarted, batch.isAnswered, Batch.started - before]).to.deep.equal([true, false, 1]);
    batch.noteAnswer();
    expect([batch.isAnswered, told]).to.deep.equal([true, ["started", "answered"]]);
  });

  it("is refused without one of its members if it is a transaction of which nothing is written", () => {
    for (const kind of Object.values(BatchKind)) {
      for (const isStarted of [false, true]) {
        const batch = new Batch(kind, 1, null);
        if (isStarted) batch.start();
        batch.dropOut();
        expect(batch.isRefused, `${kind} ${isStarted}`).to.equal(
          kind === BatchKind.Transaction && !isStarted,
        );
      }
    }
  });

  it("tells the flags of a whole batch, and of a part of one those of that part", () => {
    const members = [CommandFlag.Readonly, CommandFlag.Write, CommandFlag.Multi].map(member);
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    for (const one of members) batch.add(one);
    expect(flagsOf(members)).to.equal(all(members));
    expect(flagsOf(members.slice(0, 2))).to.equal(CommandFlag.Readonly | CommandFlag.Write);
    expect(flagsOf([member(CommandFlag.Write), member(CommandFlag.Multi)])).to.equal(
      CommandFlag.Write | CommandFlag.Multi,
    );
    expect(flagsOf([])).to.equal(0);
  });
});
