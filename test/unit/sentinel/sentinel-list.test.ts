/** The list of sentinels: each is given once in a round, and the one that answered comes first in the next. */

import { expect } from "chai";
import { SentinelIterator } from "../../../src/sentinel/sentinel-list";

describe("SentinelIterator", () => {
  const at = (port: number) => ({ host: "h", port });
  let list: SentinelIterator;

  beforeEach(() => {
    list = new SentinelIterator([at(1), at(2), at(3)]);
  });

  function round(): unknown[] {
    const ports: unknown[] = [];
    for (let one = list.next(); !one.done; one = list.next()) ports.push(one.value.port);
    return ports;
  }

  it("gives each once, and is done until it begins again", () => {
    expect([round(), round()]).to.deep.equal([[1, 2, 3], []]);
    list.reset(false);
    expect(round()).to.deep.equal([1, 2, 3]);
  });

  it("begins with the one given last if it is told to, and keeps the circle", () => {
    list.next();
    list.next();
    list.reset(true);
    expect(round()).to.deep.equal([2, 3, 1]);
    list.reset(true);
    expect(round()).to.deep.equal([1, 2, 3]);
    list.reset(false);
    list.reset(true);
    expect(round(), "none was given").to.deep.equal([1, 2, 3]);
  });

  it("puts one of its own to the front, and no stranger", () => {
    const [one, two] = [at(1), at(2)];
    list = new SentinelIterator([one, two]);
    list.next();
    list.beginWith(two);
    expect(round()).to.deep.equal([2, 1]);
    list.beginWith(two);
    expect(round()).to.deep.equal([2, 1]);
    list.beginWith(at(1));
    expect(round()).to.deep.equal([2, 1]);
  });

  it("takes each address once, and no more than 256", () => {
    expect([list.add(at(3)), list.add(at(4)), list.add({ host: "g", port: 3 })]).to.deep.equal([
      false,
      true,
      true,
    ]);
    for (let port = 10; list.size < 256; port++) expect(list.add(at(port))).to.equal(true);
    expect([list.add(at(9999)), list.size]).to.deep.equal([false, 256]);
  });

  it("leaves the array of the user alone, and shows itself as text", () => {
    const given = [at(1)];
    list = new SentinelIterator(given);
    list.add(at(2));
    list.next();
    expect(given).to.have.length(1);
    expect(`${list}`).to.equal('[{"host":"h","port":1},{"host":"h","port":2}] @1');
  });
});
