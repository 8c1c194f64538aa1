/** Keys as texts: only what is the same text for the server and for the program is compared. */

import { expect } from "chai";
import { argumentTexts, sentTextOf, textOf } from "../../../src/caching/texts";

const HALF = "a\ud800";
const NO_TEXT = Buffer.from([0x61, 0xff]);

describe("texts of a cache", () => {
  it("takes a text, and bytes that are UTF-8, as the same text", () => {
    expect([textOf("ä"), textOf(Buffer.from("ä")), textOf("\ud83d\ude00")]).to.deep.equal([
      "ä",
      "ä",
      "\ud83d\ude00",
    ]);
  });

  it("has no text for half a character and for other bytes", () => {
    expect([textOf(HALF), textOf(NO_TEXT)]).to.deep.equal([null, null]);
  });

  it("knows the text that the server gets instead", () => {
    expect([
      sentTextOf(HALF),
      sentTextOf(NO_TEXT),
      sentTextOf("ä"),
      sentTextOf(Buffer.from("ä")),
    ]).to.deep.equal(["a\ufffd", "a\ufffd", "ä", "ä"]);
  });

  it("has the texts of all arguments or none, and takes a list of texts as it is", () => {
    const texts = ["a", "b"];
    expect(argumentTexts(texts)).to.equal(texts);
    expect(argumentTexts(["a", Buffer.from("b")])).to.deep.equal(texts);
    expect(argumentTexts(["a", NO_TEXT])).to.equal(null);
    expect(argumentTexts([NO_TEXT, HALF])).to.equal(null);
  });
});
