/** Push messages of maintenance, as servers and their proxies write them. */

import { expect } from "chai";
import { isNotice, readNotice } from "../../../src/maintenance/notices";

const targetOf = (text: unknown) => readNotice(["MOVING", 7, 15, text as never])?.target;

describe("readNotice", () => {
  it("reads addresses of all forms", () => {
    expect(targetOf("10.0.0.1:12000")).to.deep.equal({ host: "10.0.0.1", port: 12000 });
    expect(targetOf("node.example.com:6379")).to.deep.equal({ host: "node.example.com", port: 6379 });
    expect(targetOf("[::1]:6380")).to.deep.equal({ host: "::1", port: 6380 });
    expect(targetOf("2001:db8::1:6380")).to.deep.equal({ host: "2001:db8::1", port: 6380 });
    expect(targetOf(Buffer.from("h:1"))).to.deep.equal({ host: "h", port: 1 });
  });

  it("takes an address that is none for no address", () => {
    for (const text of [
      null,
      undefined,
      "",
      "host",
      "host:",
      ":6379",
      "host:0",
      "host:70000",
      "host:x",
      "[]:1",
    ]) {
      expect(targetOf(text), String(text)).to.equal(null);
    }
  });

  it("reads numbers as texts, Buffers and bigints, and any number of seconds", () => {
    for (const seq of [16, "16", Buffer.from("16"), 16n]) {
      expect(readNotice(["MIGRATING", seq as never, "-2", "1"])).to.deep.equal({
        kind: "MIGRATING",
        seq: 16,
        seconds: -2,
        target: null,
        moves: [],
      });
    }
    expect(readNotice(["SMIGRATED", 17, [["a:1", "b:1", "1,5-9"]]])?.seconds).to.equal(0);
  });

  it("reads the moves of slots, and skips what is unreadable", () => {
    const [a, b] = [
      { host: "a", port: 1 },
      { host: "::1", port: 2 },
    ];
    const rows = [
      ["a:1", Buffer.from("[::1]:2"), "1,5-9, 16383"],
      ["a", "b:1", "1"],
      ["a:1", "[::1]:2", "x,9-5,16384,7"],
      "a:1",
    ];
    expect(readNotice(["SMIGRATED", 17, rows])?.moves).to.deep.equal([
      {
        source: a,
        target: b,
        ranges: [
          [1, 1],
          [5, 9],
          [16_383, 16_383],
        ],
      },
      { source: a, target: b, ranges: [[7, 7]] },
    ]);
    expect(readNotice(["SMIGRATED", 17, "1-2"])?.moves).to.deep.equal([]);
  });

  it("refuses other messages, and notices without a number", () => {
    expect(readNotice(["invalidate", ["a"]])).to.equal(null);
    for (const seq of [undefined, "x", 1.5])
      expect(readNotice(["MOVING", seq as never, 1, null])).to.equal(null);
    expect([isNotice("FAILED_OVER"), isNotice("message"), isNotice("constructor")]).to.deep.equal([
      true,
      false,
      false,
    ]);
  });
});
