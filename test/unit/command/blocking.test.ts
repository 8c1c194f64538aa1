import { expect } from "chai";
import { blockingTimeMs } from "../../../src/command/blocking";
import { specOf } from "../../../src/command/command-table";

function timeOf(text: string): number | null {
  const [word = "", ...args] = text.split(" ");
  return blockingTimeMs(specOf(word), args);
}

describe("time of a blocking call", () => {
  it("is the last argument, the first, the fifth, or the option BLOCK", () => {
    expect(timeOf("blpop a b 1.5")).to.equal(1500);
    expect(timeOf("BRPOP a 0")).to.equal(0);
    expect(timeOf("brpoplpush a b 2")).to.equal(2000);
    expect(timeOf("blmove a b LEFT RIGHT 3")).to.equal(3000);
    expect(timeOf("bzpopmin a 0.01")).to.equal(10);
    expect(timeOf("bzmpop 4 1 a MIN")).to.equal(4000);
    expect(timeOf("blmpop 0 1 a LEFT")).to.equal(0);
    expect(timeOf("blmovem a b LEFT RIGHT 5 COUNT 9 OBO")).to.equal(5000);
    expect(timeOf("xread BLOCK 250 STREAMS a $")).to.equal(250);
    expect(timeOf("xreadgroup GROUP g c COUNT 1 block 0 STREAMS a >")).to.equal(0);
    expect(blockingTimeMs(specOf("blpop"), ["k", Buffer.from("1")])).to.equal(1000);
  });

  it("is null where none is named or it cannot be read", () => {
    expect(timeOf("xread STREAMS a $")).to.equal(null);
    expect(timeOf("xread STREAMS block 5")).to.equal(null);
    expect(timeOf("xread BLOCK")).to.equal(null);
    expect(timeOf("blpop a soon")).to.equal(null);
    expect(timeOf("blpop a -1")).to.equal(null);
    expect(timeOf("blpop")).to.equal(null);
    expect(blockingTimeMs(specOf("blpop"), ["k", ""])).to.equal(null);
    expect(timeOf("get 5")).to.equal(null);
    expect(timeOf("wait 1 500")).to.equal(null);
  });
});
