import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect } from "chai";
import fc from "fast-check";
import { parseRedirect, type Redirect, tellRedirected } from "../../../src/cluster/redirect";

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

  it("are told to listeners of their channel, with the slot that the reply or the command names", () => {
    const heard: unknown[] = [];
    const note = (message: unknown): void => void heard.push(message);
    subscribe("sluice:redirect", note);
    try {
      const command = (slot: number) => ({ slot, spec: { lowerName: "get" } });
      tellRedirected(parseRedirect("MOVED 5 h:2", SENDER) as Redirect, "h:1", command(5));
      tellRedirected(parseRedirect("TRYAGAIN later", SENDER) as Redirect, "h:1", command(6));
      tellRedirected(parseRedirect("LOADING data", SENDER) as Redirect, "h:1", command(-2));
    } finally {
      unsubscribe("sluice:redirect", note);
    }
    tellRedirected(parseRedirect("MOVED 5 h:2", SENDER) as Redirect, "h:1", {
      slot: 5,
      spec: { lowerName: "get" },
    });
    expect(heard).to.deep.equal([
      { kind: "MOVED", command: "get", slot: 5, from: "h:1", to: "h:2" },
      { kind: "TRYAGAIN", command: "get", slot: 6, from: "h:1", to: null },
      { kind: "OTHER", command: "get", slot: -1, from: "h:1", to: null },
    ]);
  });
});
