/** The errors of a cluster client: which cause they name. */

import { expect } from "chai";
import { ClusterAllFailedError } from "../../../src/cluster/cluster-errors";
import { ConnectionClosedError } from "../../../src/errors";

describe("ClusterAllFailedError", () => {
  it("names the reason why the last node could not be asked, not that its connection is closed", () => {
    const refused = new Error("connect ECONNREFUSED");
    const causeOf = (error?: Error): unknown => new ClusterAllFailedError(error, {}).cause;
    expect(causeOf(new ConnectionClosedError({ cause: refused }))).to.equal(refused);
    expect(causeOf(refused)).to.equal(refused);
    const closed = new ConnectionClosedError();
    expect(causeOf(closed), "without a reason").to.equal(closed);
    const wrapped = new Error("no route", { cause: refused });
    expect(causeOf(wrapped), "another error").to.equal(wrapped);
    expect(causeOf()).to.equal(undefined);
  });
});
