/** What a command that goes again may be sent behind. */

import { expect } from "chai";
import { Command, IGNORED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { isOvertaken } from "../../../src/merging/duplicate-reads";

function command(words: string): Command {
  const [name = "", ...args] = words.split(" ");
  return new Command(specOf(name), args, false, IGNORED);
}

describe("isOvertaken", () => {
  function check(words: string, isWrite: boolean, behind: string): boolean {
    return isOvertaken(command(words), isWrite, [command(behind)]);
  }

  it("lets a read pass what does not change its keys", () => {
    for (const behind of ["get a", "set b 1", "mget a b", "ping", "ttl a"])
      expect(check("get a", false, behind), behind).to.equal(false);
  });

  it("keeps a read in front of what may change its keys", () => {
    for (const behind of [
      "set a 1",
      "del b a",
      "flushall",
      "select 1",
      "multi",
      "some.module x",
      "eval s 0",
      "fcall f 0",
    ])
      expect(check("get a", false, behind), behind).to.equal(true);
  });

  it("keeps a write in front of all that names its keys, and lets it pass the rest", () => {
    for (const behind of ["get a", "ttl a", "set a 2", "mget b a", "flushdb", "eval s 0"])
      expect(check("set a 1", true, behind), behind).to.equal(true);
    for (const behind of ["get b", "set b 2", "ping"])
      expect(check("set a 1", true, behind), behind).to.equal(false);
  });

  it("compares keys by their bytes, and looks at all that stands behind", () => {
    const written = new Command(specOf("set"), [Buffer.from("a"), "1"], false, IGNORED);
    expect(isOvertaken(command("get a"), false, [command("get b"), written])).to.equal(true);
    expect(isOvertaken(command("get a"), false, [])).to.equal(false);
  });
});
