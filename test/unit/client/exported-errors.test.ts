/** Programs can name the class of every error that they may meet: both public lists have every class that there is. */

import { expect } from "chai";
import * as clusterErrors from "../../../src/cluster/cluster-errors";
import * as errors from "../../../src/errors";
import * as failoverErrors from "../../../src/failover/failover-error";
import * as surface from "../../../src/index";
import * as leaseErrors from "../../../src/leases/lease-errors";
import * as maintenanceErrors from "../../../src/maintenance/maintenance-error";
import * as partErrors from "../../../src/part-errors";
import * as messageErrors from "../../../src/streaming/message-errors";
import * as subpath from "../../../src/subpaths/errors/index";

describe("exported errors", () => {
  const classes = Object.entries({
    ...errors,
    ...partErrors,
    ...clusterErrors,
    ...failoverErrors,
    ...leaseErrors,
    ...maintenanceErrors,
    ...messageErrors,
  }).filter(([, value]) => value.prototype instanceof Error);

  for (const [name, exports] of Object.entries({ "the package": surface, "built/errors": subpath })) {
    it(`are all in ${name}`, () => {
      const missing = classes.filter(([word, value]) => Reflect.get(exports, word) !== value);
      expect(missing.map(([word]) => word)).to.deep.equal([]);
      expect(classes.length).to.be.greaterThan(40);
    });
  }

  it("have their code themselves, so that programs may freeze the classes", () => {
    for (const [word, { prototype }] of classes)
      expect("code" in (prototype as object), word).to.equal(false);
    class Derived extends surface.AbortError {}
    expect({ ...new Derived() }).to.deep.equal({ code: "ABORTED" });
  });

  it("are all that built/errors has", () => {
    const known = new Set(classes.map(([word]) => word));
    expect(Object.keys(subpath).filter((word) => !known.has(word))).to.deep.equal([]);
  });
});
