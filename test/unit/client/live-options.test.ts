import { expect } from "chai";
import { completeOptions, observeOptions } from "../../../src/client/options/live-options";
import { fill } from "../../../src/client/options/resolve-options";

type OptionRecord = Record<string, unknown>;

const DEFAULTS: OptionRecord = { port: 6379, name: null, enableAutoPipelining: false };

function complete(given: OptionRecord, defaults: OptionRecord = DEFAULTS): OptionRecord {
  fill(given, defaults);
  return completeOptions({ port: 6379, name: null }, given);
}

describe("Live options", () => {
  it("list what was given and the defaults, and nothing else", () => {
    const options = complete({ port: 1, commandTimeout: 50, extra: "x", name: undefined });
    expect(options).to.deep.equal({
      port: 1,
      name: null,
      extra: "x",
      enableAutoPipelining: false,
      commandTimeout: 50,
    });
    expect(JSON.parse(JSON.stringify(options))).to.have.property("commandTimeout", 50);
    expect(Object.keys({ ...options }))
      .to.include("commandTimeout")
      .and.not.include("socketTimeout");
  });

  it("of one client say nothing about another", () => {
    const [one, other] = [complete({}), complete({})];
    const seen: string[] = [];
    observeOptions(one as object, ["commandTimeout"], () => seen.push("one"));
    observeOptions(other as object, ["commandTimeout", "socketTimeout"], () => seen.push("other"));
    (one as OptionRecord)["commandTimeout"] = 1;
    (other as OptionRecord)["socketTimeout"] = 2;
    expect(seen).to.deep.equal(["one", "other"]);
    expect(one).to.include({ commandTimeout: 1 }).and.not.have.keys("socketTimeout");
    expect(other?.["commandTimeout"]).to.equal(undefined);
  });

  it("are listed from the first assignment on", () => {
    const options = complete({});
    expect(Object.keys(options)).not.to.include("socketTimeout");
    options["socketTimeout"] = 100;
    expect(Object.keys(options)).to.include("socketTimeout");
    expect({ ...options }).to.include({ socketTimeout: 100 });
  });

  it("may be any property, of any object", () => {
    const options: OptionRecord = { keyPrefix: "a:" };
    const seen: unknown[] = [];
    observeOptions(options, ["keyPrefix"], () => seen.push(options["keyPrefix"]));
    observeOptions(options, ["keyPrefix"], () => seen.push("second"));
    options["keyPrefix"] = "b:";
    expect(seen).to.deep.equal(["b:", "second"]);
    expect(options).to.deep.equal({ keyPrefix: "b:" });
  });

  it("follow defaults that an application has changed", () => {
    const defaults = { ...DEFAULTS, port: 7000, enableAutoPipelining: true, host: "h" };
    expect(complete({}, defaults)).to.include({ port: 7000, enableAutoPipelining: true, host: "h" });
    expect(complete({ port: 1 }, defaults)).to.include({ port: 1, host: "h" });
  });
});
