/**
 * Ten thousand members into a set: SADD with one member each in one pipeline, against one SADD with all of them.
 */

import { CLIENT_SIDES } from "../sides/all-sides";
import type { Operation } from "../sides/operation";
import { Clock } from "../support/clock";
import { numbers } from "../support/dataset";
import { openSide } from "../support/measure-load";
import { type Figures, Meter } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";

interface SetMembersRow extends Row {
  readonly isOneCommand: boolean;
}

const MEMBERS = 10_000;
const SET = { prefix: "set:", id: 1 };

export const setMembers: Scenario<SetMembersRow> = {
  id: "set-members",
  rounds: 1,
  title: "One member a command, or all in one",
  about:
    "10,000 members that the set already has: a pipeline of 10,000 `SADD key member`, and one `SADD key member ...`. One command with many arguments is still faster than many commands.",
  columns: [
    { figure: "membersPerSecond", title: "members/s", digits: 0, pick: "median" },
    { figure: "cpuMicros", title: "CPU µs/member", digits: 3, pick: "least" },
  ],
  rows: [
    { id: "sadd-pipelined", title: "10,000 SADD in a pipeline", isOneCommand: false, sides: CLIENT_SIDES },
    { id: "sadd-one", title: "one SADD of 10,000", isOneCommand: true, sides: CLIENT_SIDES },
  ],
  measure: measureSetMembers,
};

async function measureSetMembers(row: SetMembersRow, context: SampleContext): Promise<Figures> {
  const side = await openSide(context, { autoPipelining: false });
  const members = numbers(MEMBERS).map((index) => `member:${index}`);
  const operations: Operation[] = row.isOneCommand
    ? [{ kind: "sadd", key: SET, members }]
    : members.map((member) => ({ kind: "sadd", key: SET, members: [member] }));
  const kind = row.isOneCommand ? "callers" : "batches";
  const load = await side.prepare({ kind, width: operations.length, operations });
  const pass = async (durationMs: number): Promise<number> => {
    const commands = await load(new Clock(durationMs, 3, 1));
    return row.isOneCommand ? commands * MEMBERS : commands;
  };
  await pass(context.budget.warmMs);
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await pass(context.budget.measureMs));
  await side.close();
  return { ...figures, membersPerSecond: figures.opsPerSecond as number };
}
