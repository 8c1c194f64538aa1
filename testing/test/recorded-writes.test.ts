/** The demonstration of the site shows what the pages say: how many writes each way of sending needs. */

import { expect } from "chai";
import { recordings } from "../../scripts/site/recorded-writes";

describe("recorded writes", () => {
  it("each program is written as the documentation says", async () => {
    const counts = (await recordings()).map(({ title, steps }) => {
      const writes = steps.filter(({ side }) => side === "client");
      return [title, writes.map(({ texts }) => texts.length)];
    });
    // The first one finds the connection idle; how many join the next write is up to the turn.
    const [handlers] = counts.splice(2, 1);
    expect(handlers?.[1]).to.satisfy((writes: number[]) => writes.length < 3);
    expect(counts).to.deep.equal([
      ["Each command awaited", [1, 1, 1]],
      ["Three commands of one turn", [3]],
      ["An explicit pipeline", [3]],
      ["A transaction", [4]],
      ["Auto-pipelining: commands wait for the batch in flight", [1, 2, 1]],
    ]);
  });

  it("notes the bytes of both sides", async () => {
    const [first] = await recordings();
    expect(first?.steps.slice(0, 2)).to.deep.equal([
      { side: "client", bytes: 27, texts: ["set a 1"] },
      { side: "server", bytes: 5, texts: ["+OK\\r\\n"] },
    ]);
  });
});
