/** Admission with random calls, batches and outcomes: bounds hold, order is kept, nothing is forgotten. */

import { expect } from "chai";
import fc from "fast-check";
import type { Command, Completion } from "../../../src/command/command";
import { makeCommand } from "../../../src/command/command-factory";
import { specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { costOf } from "../../../src/command/size";
import { Admission } from "../../../src/link/admission";
import { fixedRuns } from "../../support/properties";

type Step =
  | { do: "call"; bytes: number }
  | { do: "batch"; size: number; bytes: number }
  | { do: "settle"; which: number; isError: boolean }
  | { do: "give up"; which: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("call" as const), bytes: fc.integer({ min: 1, max: 60 }) }),
    fc.record({
      do: fc.constant("batch" as const),
      size: fc.integer({ min: 1, max: 6 }),
      bytes: fc.integer({ min: 1, max: 20 }),
    }),
    fc.record({ do: fc.constant("settle" as const), which: fc.nat({ max: 8 }), isError: fc.boolean() }),
    fc.record({ do: fc.constant("give up" as const), which: fc.nat({ max: 20 }) }),
  ),
  { maxLength: 60 },
);

describe("Admission, at random", () => {
  it("never lets more through than its bounds, keeps the order, and lets all through in the end", () => {
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1000, max: 6000 }),
        (program, maxCommands, maxBytes) => {
          const settled = new Map<Command, number>();
          const completion: Completion = {
            fulfil: (command) => void settled.set(command, (settled.get(command) ?? 0) + 1),
            reject: (command) => void settled.set(command, (settled.get(command) ?? 0) + 1),
          };
          const through: Command[] = [];
          const outstanding = new Set<Command>();
          let units = 0;
          const take = (commands: readonly Command[]): void => {
            const before = outstanding.size;
            for (const command of commands) {
              through.push(command);
              if (!command.isSettled) outstanding.add(command);
            }
            units++;
            // A unit that is larger than the bounds goes when nothing else is outstanding.
            if (before === 0) return;
            expect(outstanding.size).to.be.at.most(maxCommands);
            let bytes = 0;
            for (const command of outstanding) bytes += costOf(command);
            expect(bytes).to.be.at.most(maxBytes);
          };
          const below: Dispatcher = { dispatch: (command) => take([command]), dispatchBatch: take };
          const admission = new Admission(below, { maxCommands, maxBytes });
          const issued: Command[] = [];
          const make = (bytes: number): Command => {
            const command = makeCommand(specOf("set"), ["k", "v".repeat(bytes)], false, completion);
            issued.push(command);
            return command;
          };
          const settle = (command: Command | undefined, isError: boolean): void => {
            if (command === undefined) return;
            outstanding.delete(command);
            if (isError) command.fail(new Error("no"));
            else command.fulfil("OK", { protocol: 2, replyMapping: "legacy" });
          };
          for (const step of program) {
            if (step.do === "call") admission.dispatch(make(step.bytes));
            else if (step.do === "batch")
              admission.dispatchBatch(Array.from({ length: step.size }, () => make(step.bytes)));
            else if (step.do === "settle") settle([...outstanding][step.which], step.isError);
            else settle(issued.filter((command) => !command.isSettled)[step.which], true);
          }
          while (outstanding.size > 0) settle([...outstanding][0], false);
          expect(admission.waitingCount).to.equal(0);
          expect(units).to.be.at.most(program.length);
          expect(through).to.deep.equal(issued.filter((command) => through.includes(command)));
          // Commands that were given up before their turn need not go through; all others did.
          for (const command of issued) expect(settled.get(command)).to.equal(1);
        },
      ),
      fixedRuns(1000),
    );
  });
});
