import { expect } from "chai";
import fc from "fast-check";
import { parseRedirect } from "../../../src/cluster/redirect";

const SENDER = { host: "10.0.0.1", port: 7000 };

describe("redirects", () => {
  it("are read from error replies", () => {
    expect(parseRedirect("MOVED 3999 127.0.0.1:6381", SENDER)).to.deep.equal({
      kind: "moved",
      slot: 3999,
      target: { host: "127.0.0.1", port: 6381 },
    });
    expect(parseRedirect("MOVED 16383 h:6381", SENDER)?.slot).to.equal(16_383);
    expect(parseRedirect("ASK 0 ::1:6381", SENDER)?.target).to.deep.equal({ host: "::1", port: 6381 });
    expect(parseRedirect("ASK 7 ?:6381", SENDER)).to.deep.equal({
      kind: "ask",
      slot: 7,
      target: null,
      port: 6381,
    });
    expect(parseRedirect("MOVED 1 :6381", SENDER)?.target).to.deep.equal({ host: "10.0.0.1", port: 6381 });
    for (const [text, kind] of [
      ["TRYAGAIN Multiple keys request during rehashing of slot", "tryAgain"],
      ["CLUSTERDOWN Hash slot not served", "clusterDown"],
      ["LOADING Redis is loading the dataset in memory", "other"],
      ["MOVED 1 ?:6381", "other"],
      ["EXECABORT Transaction discarded because of: LOADING Redis is loading", "other"],
    ] as const) {
      expect(parseRedirect(text, SENDER)?.kind).to.equal(kind);
    }
  });

  it("are not seen where there are none", () => {
    for (const text of [
      "",
      "ERR MOVED 1 127.0.0.1:1",
      "moved 1 127.0.0.1:1",
      "MOVEDX",
      "CLUSTERDOWNX",
      "WRONGTYPE x",
      "MOVED 16384 127.0.0.1:6381",
      "ASK 99999 127.0.0.1:6381",
      "MOVED 16384 ?:6381",
      "MOVED 1 127.0.0.1:0",
    ]) {
      expect(parseRedirect(text, SENDER), text).to.equal(null);
    }
  });

  it("are safe whatever follows the word", () => {
    fc.assert(
      fc.property(fc.constantFrom("MOVED", "ASK"), fc.string(), fc.string(), (word, slot, address) => {
        const redirect = parseRedirect(`${word} ${slot} ${address}`, SENDER);
        if (redirect === null || redirect.target === null) return;
        expect(redirect.slot).to.be.within(0, 16_383);
        expect(redirect.target?.port).to.be.within(1, 65_535);
        expect(redirect.target?.host).to.match(/^[A-Za-z0-9._:%-]{1,255}$/);
      }),
    );
  });
});
