/** The resend rules with random leftovers: what may go again goes, in order, and batches stay whole. */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import { type Command, CommandState, type Completion } from "../../../src/command/command";
import type { RetryPolicy } from "../../../src/command/command-extra";
import { makeCommand } from "../../../src/command/command-factory";
import { CommandFlag } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import { keptAfterLoss } from "../../support/lost-commands";
import { fixedRuns } from "../../support/properties";

/** A row of commands that share their fate; `sent` of them were written, `isAnswered`: some before them were answered. */
interface Unit {
  readonly kind: "single" | "automatic" | "pipeline" | "transaction";
  readonly names: readonly ("get" | "incr")[];
  readonly isAnswered: boolean;
  readonly settled: number;
}

const units: fc.Arbitrary<Unit[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(
      "single" as const,
      "automatic" as const,
      "pipeline" as const,
      "transaction" as const,
    ),
    names: fc.array(fc.constantFrom("get" as const, "incr" as const), { minLength: 1, maxLength: 4 }),
    isAnswered: fc.boolean(),
    settled: fc.integer({ min: -6, max: 3 }),
  }),
  { maxLength: 8 },
);

const KINDS = {
  automatic: BatchKind.Automatic,
  pipeline: BatchKind.Pipeline,
  transaction: BatchKind.Transaction,
} as const;

describe("the resend rules, at random", () => {
  it("settle or keep each command once, in order, batches whole, as the policy says", () => {
    fc.assert(
      fc.property(
        units,
        fc.nat({ max: 40 }),
        fc.constantFrom<RetryPolicy>("at-least-once", "reads-only", "at-most-once"),
        (program, cut, policy) => {
          const failures = new Map<Command, string>();
          const completion: Completion = {
            fulfil() {},
            reject(command, error) {
              expect(failures.has(command), "settled twice").to.equal(false);
              failures.set(command, String((error as { code?: string }).code));
            },
          };
          const all: Command[] = [];
          const rows = program.map((unit) => {
            const batch = unit.kind === "single" ? null : new Batch(KINDS[unit.kind], 0, null);
            const names = unit.kind === "transaction" ? ["multi", ...unit.names, "exec"] : unit.names;
            const commands = names.map((name) =>
              makeCommand(specOf(name), name === "get" || name === "incr" ? ["k"] : [], false, completion),
            );
            for (const command of commands) batch?.add(command);
            all.push(...commands);
            return { unit, batch, commands };
          });
          const sentCount = Math.min(cut, all.length);
          all.forEach((command, i) => {
            command.state = i < sentCount ? CommandState.Sent : CommandState.Queued;
            if (i < sentCount && command.batch !== null) command.batch.isStarted = true;
          });
          for (const { unit, batch, commands } of rows) {
            const wasSent = all.indexOf(commands[0] as Command) < sentCount;
            if (unit.isAnswered && batch !== null && wasSent) batch.isAnswered = true;
            commands[unit.settled]?.fail(Object.assign(new Error("given up"), { code: "GIVEN_UP" }));
          }
          const isSettled = new Set(all.filter((command) => command.isSettled));
          const left = { sent: all.slice(0, sentCount), unsent: all.slice(sentCount) };
          const again = keptAfterLoss(left, { retryPolicy: policy });
          const kept = new Set(again);
          expect(again).to.deep.equal(all.filter((command) => kept.has(command)));
          for (const command of all) expect(kept.has(command)).to.equal(!command.isSettled);
          for (const { unit, batch, commands } of rows) {
            const own = commands.filter((command) => !isSettled.has(command));
            const sent = own.filter((command) => all.indexOf(command) < sentCount);
            if (unit.kind === "single" || unit.kind === "automatic") {
              for (const command of own) {
                const isRead = (command.spec.flags & CommandFlag.Readonly) !== 0;
                const mayGo =
                  !sent.includes(command) ||
                  policy === "at-least-once" ||
                  (policy === "reads-only" && isRead);
                expect(kept.has(command)).to.equal(mayGo);
              }
              continue;
            }
            const goes = own.filter((command) => kept.has(command)).length;
            if (unit.kind === "transaction") expect(goes).to.be.oneOf([0, commands.length]);
            // Behind a command that may not go again, nothing of the batch does.
            const firstStays = own.findIndex((command) => !kept.has(command));
            if (firstStays >= 0)
              expect(own.slice(firstStays).some((command) => kept.has(command))).to.equal(false);
            if (batch?.isAnswered === true) expect(goes).to.equal(0);
            if (sent.length === 0 && own.length === commands.length && batch?.isAnswered !== true)
              expect(goes).to.equal(own.length);
          }
          for (const command of all) command.fail(new Error("the test is over"));
        },
      ),
      fixedRuns(2000),
    );
  });
});
