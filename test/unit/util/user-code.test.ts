/** Functions of the user: what they throw comes later, where it unwinds nobody's work. */

import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { callUser, throwLater, toError } from "../../../src/util/user-code";
import { uncaughtDuring } from "../../support/uncaught";

describe("callUser", () => {
  it("gives what the function gives", () => {
    const told: string[] = [];
    expect([
      callUser(() => 1),
      callUser(
        () => undefined,
        () => told.push("thrown"),
      ),
    ]).to.deep.equal([1, undefined]);
    expect(told).to.deep.equal([]);
  });

  it("throws what was thrown on a later tick, behind what is to be done about it", async () => {
    const told: unknown[] = [];
    const thrown = await uncaughtDuring(async () => {
      const given = callUser(
        () => {
          throw new Error("broke");
        },
        () => told.push("about it"),
      );
      told.push(given, "behind it");
      callUser(() => {
        const what: unknown = "no error";
        throw what;
      });
    });
    expect(told).to.deep.equal(["about it", undefined, "behind it"]);
    expect(thrown).to.deep.equal(["broke", "no error"]);
  });

  it("throws later by itself too", async () => {
    expect(await uncaughtDuring(async () => throwLater(new Error("late")))).to.deep.equal(["late"]);
  });
});

describe("toError", () => {
  it("leaves errors as they are, those of another realm too", () => {
    const errors = [new Error("a"), new TypeError("b"), runInNewContext("new RangeError('c')") as Error];
    for (const error of errors) expect(toError(error)).to.equal(error);
  });

  it("wraps everything else, which is the cause", () => {
    for (const thrown of ["text", null, undefined, { message: "alike" }]) {
      const error = toError(thrown);
      expect(error).to.be.instanceOf(Error);
      expect(error.cause).to.equal(thrown);
    }
  });
});
