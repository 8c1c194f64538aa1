/** The counts of outcomes, and the promise of a single call. */

import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { CallCounts, errorCode, PromiseCompletion } from "../../../src/command/promise-completion";
import { ConnectionClosedError, ReplyError } from "../../../src/errors";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

describe("errorCode", () => {
  it("is the first word of an error reply, and nothing of what scripts make of it", () => {
    const codes = [
      "WRONGTYPE no",
      "MOVED",
      "ERR_2 no",
      "Wrong no",
      "WRONGtype no",
      "2ERR no",
      "",
      " ERR",
    ].map((message) => errorCode(new ReplyError(message)));
    expect(codes).to.deep.equal(["WRONGTYPE", "MOVED", "ERR_2", "ERR", "ERR", "ERR", "ERR", "ERR"]);
  });

  it("is the code of another error, or its name, and never its message", () => {
    expect(errorCode(new ConnectionClosedError())).to.equal("CONNECTION_CLOSED");
    expect(errorCode(Object.assign(new Error("SECRET"), { code: 7 }))).to.equal("Error");
    expect(errorCode(new TypeError("SECRET"))).to.equal("TypeError");
    expect(errorCode(Object.assign(new Error("ERR a"), { name: "ReplyError", code: "X" }))).to.equal("ERR");
  });
});

describe("CallCounts", () => {
  it("counts failures by their codes, from so many different ones on all others together", () => {
    const callCounts = new CallCounts();
    expect(callCounts.errors.size).to.equal(0);
    for (let n = 0; n < 100; n++) callCounts.onFailed(new ReplyError(`E${n} no`));
    for (let n = 0; n < 2; n++) callCounts.onFailed(new ReplyError("E0 no"));
    callCounts.onFulfilled();
    expect([callCounts.failed, callCounts.fulfilled, callCounts.issued]).to.deep.equal([102, 1, 0]);
    expect([
      callCounts.errors.get("E0"),
      callCounts.errors.get("E63"),
      callCounts.errors.get("OTHER"),
    ]).to.deep.equal([3, 1, 36]);
    expect(callCounts.errors.size).to.equal(65);
  });

  it("keeps its errors apart from those of others", () => {
    const [one, other] = [new CallCounts(), new CallCounts()];
    one.onFailed(new ReplyError("ERR no"));
    expect([one.errors.size, other.errors.size]).to.deep.equal([1, 0]);
  });
});

describe("PromiseCompletion", () => {
  it("tells the outcome to its caller and to whoever counts, at the time that it settles", async () => {
    const callCounts = new CallCounts();
    const [good, bad, refused] = [callCounts, callCounts, callCounts].map(
      (one) => new PromiseCompletion(one),
    );
    const commands = [good, bad].map(
      (one) => new Command(specOf("get"), ["a"], false, one as PromiseCompletion),
    );
    commands[0]?.fulfil("1", SHAPE);
    const error = new ReplyError("WRONGTYPE no");
    commands[1]?.fail(error);
    refused?.refuse(new Error("never sent"));
    const outcomes = await Promise.allSettled([good?.promise, bad?.promise, refused?.promise]);
    expect(
      outcomes.map((one) => (one.status === "fulfilled" ? one.value : one.reason.message)),
    ).to.deep.equal(["1", "WRONGTYPE no", "never sent"]);
    expect([callCounts.fulfilled, callCounts.failed], "what was never sent is not counted").to.deep.equal([
      1, 1,
    ]);
  });

  it("counts for whom it belongs to when it settles", async () => {
    const callCounts = new CallCounts();
    const completion = new PromiseCompletion();
    const command = new Command(specOf("get"), ["a"], false, completion);
    completion.callCounts = callCounts;
    command.fulfil("1", SHAPE);
    expect([callCounts.fulfilled, await completion.promise]).to.deep.equal([1, "1"]);
    const nobodys = new Command(specOf("get"), ["a"], false, new PromiseCompletion());
    nobodys.fail(new Error("unheard"));
    expect(await nobodys.promise.catch((error: Error) => error.message)).to.equal("unheard");
  });
});
