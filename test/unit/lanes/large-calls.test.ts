import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { IGNORED } from "../../../src/command/promise-completion";
import { areLargeRequests, isLargeReply, LARGE_BYTES, LargeCalls } from "../../../src/lanes/large-calls";

function get(key: string | Buffer, name = "get"): Command {
  return new Command(specOf(name), [key], false, IGNORED);
}

describe("large calls", () => {
  it("are remembered by command and beginning of the key", () => {
    const large = new LargeCalls();
    large.note(get("avatar:1"), true);
    expect(large.has(get("avatar:2"))).to.equal(true);
    expect(large.has(get(Buffer.from("avatar:3")))).to.equal(true);
    expect(large.has(get("name:1"))).to.equal(false);
    expect(large.has(get("avatar:1", "hgetall"))).to.equal(false);
  });

  it("are forgotten after eight small replies in a row", () => {
    const large = new LargeCalls();
    large.note(get("report1"), true);
    for (let i = 0; i < 7; i++) large.note(get("report2"), false);
    large.note(get("report3"), true);
    for (let i = 0; i < 7; i++) large.note(get("report2"), false);
    expect(large.has(get("report9"))).to.equal(true);
    large.note(get("report2"), false);
    expect(large.has(get("report9"))).to.equal(false);
    expect(large.isEmpty).to.equal(true);
  });

  it("are bounded in number", () => {
    const large = new LargeCalls();
    for (let i = 0; i < 2000; i++) large.note(get(`${String.fromCharCode(0x4e00 + i)}:`), true);
    const count = Array.from({ length: 2000 }, (_, i) => get(`${String.fromCharCode(0x4e00 + i)}:`)).filter(
      (one) => large.has(one),
    ).length;
    expect(count).to.equal(1000);
  });

  it("are measured to the threshold and no further", () => {
    expect(isLargeReply("x".repeat(LARGE_BYTES))).to.equal(true);
    expect(isLargeReply("x".repeat(LARGE_BYTES - 1))).to.equal(false);
    expect(isLargeReply(["x".repeat(LARGE_BYTES / 2), { a: Buffer.alloc(LARGE_BYTES / 2) }])).to.equal(true);
    expect(isLargeReply([null, 1, "short"])).to.equal(false);
    expect(areLargeRequests([get("a"), get("x".repeat(LARGE_BYTES))])).to.equal(true);
    expect(areLargeRequests([get("a")])).to.equal(false);
  });
});
