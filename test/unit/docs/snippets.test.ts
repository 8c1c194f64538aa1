/** All code of the documentation compiles; what its comments say about values can be checked. */

import { expect } from "chai";
import { allSnippets, compileSnippets, instrument } from "../../support/doc-snippets";

const COMPILE_TIMEOUT_MS = 60_000;

describe("code in the documentation", function () {
  this.timeout(COMPILE_TIMEOUT_MS);
  const snippets = allSnippets();
  let complaints: Map<string, string[]>;

  before(async () => {
    complaints = await compileSnippets(snippets);
  });

  it("is there", () => {
    expect(snippets.filter(({ isRun }) => isRun)).to.not.be.empty;
  });

  for (const snippet of snippets) {
    it(`${snippet.place} compiles`, () => {
      expect(complaints.get(snippet.place) ?? []).to.deep.equal([]);
    });
  }

  it("becomes checks where comments are values", () => {
    const [snippet] = snippets;
    const code = [
      "const a = await redis.get(key); // null",
      "await redis.get(key); // { b: [1] }",
      "console.log(a); // 1",
      "const rows = await redis.pipeline()",
      "  .exec();",
      '// [[null, "b"]]',
      "await redis.get(key); // the value",
      "found.sort(); // [1]; sorted",
      "for (const a of b) c(); // [1]",
    ].join("\n");
    const place = "p.md";
    const { checks, code: text } = instrument({ ...snippet!, page: place, line: 1, code });
    expect(checks).to.equal(5);
    expect(text.split("\n")).to.deep.equal([
      'const a = await redis.get(key); $expect("p.md:1", a, (null));',
      '$expect("p.md:2", await redis.get(key), ({ b: [1] }));',
      '$expect("p.md:3", a, (1));',
      "const rows = await redis.pipeline()",
      "  .exec();",
      '$expect("p.md:6", rows, ([[null, "b"]])); // [[null, "b"]]',
      "await redis.get(key); // the value",
      '$expect("p.md:8", found.sort(), ([1]));',
      "for (const a of b) c(); // [1]",
    ]);
  });
});
