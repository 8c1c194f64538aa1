import { expect } from "chai";
import {
  ClosedOutcomeUnknownError,
  ConnectionClosedError,
  MaxRetriesOutcomeUnknownError,
  MaxRetriesPerRequestError,
  OutcomeUnknownError,
  ReplyError,
} from "../../../src/errors";
import { CommandAbortedError, CommandTimeoutError } from "../../../src/part-errors";
import { copyError } from "../../../src/util/copy-error";
import { mayHaveRun } from "../../../src/util/may-have-run";

const TIMES = { elapsedMs: 1, queuedMs: 0, commandsAhead: 0, bytesAhead: 0, server: "a:1" };
const WRITTEN = { ...TIMES, phase: "waiting", mayHaveRun: true } as const;
const QUEUED = { ...TIMES, phase: "queued", mayHaveRun: false } as const;

describe("mayHaveRun", () => {
  it("is true for what was written and not answered", () => {
    const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    const errors = [
      new OutcomeUnknownError(),
      new ClosedOutcomeUnknownError(),
      new MaxRetriesOutcomeUnknownError(1),
      copyError(reset, { code: "OUTCOME_UNKNOWN" }),
      new CommandTimeoutError(WRITTEN),
      new CommandAbortedError(WRITTEN, "enough"),
    ];
    expect(errors.map(mayHaveRun)).to.deep.equal(errors.map(() => true));
  });

  it("is false for what was never written, for refusals, and for what is no error", () => {
    const others = [
      new ConnectionClosedError(),
      new MaxRetriesPerRequestError(1),
      new CommandTimeoutError(QUEUED),
      new CommandAbortedError(QUEUED, "enough"),
      new ReplyError("WRONGTYPE"),
      null,
      undefined,
      "OUTCOME_UNKNOWN",
      {},
      { details: null },
    ];
    expect(others.map(mayHaveRun)).to.deep.equal(others.map(() => false));
  });
});

describe("OutcomeUnknownError", () => {
  it("is what all errors with its code are", () => {
    const doubtful = [new ClosedOutcomeUnknownError(), new MaxRetriesOutcomeUnknownError(1)];
    for (const error of doubtful) expect(error).to.be.instanceOf(OutcomeUnknownError);
    for (const other of [new ConnectionClosedError(), new Error("x"), { code: "OUTCOME_UNKNOWN" }, null]) {
      expect(other instanceof OutcomeUnknownError).to.equal(false);
    }
  });
});
