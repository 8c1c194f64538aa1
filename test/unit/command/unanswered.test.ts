/** Commands that would put a shared connection out of step, in every spelling, and those beside them that would not. */

import { expect } from "chai";
import { specOf } from "../../../src/command/command-table";
import { refuseUnanswered } from "../../../src/command/unanswered";
import type { UnansweredCommandError } from "../../../src/errors";

function refusal(words: string, asBytes = false): string | null {
  const [name, ...args] = words.split(" ");
  const sent = asBytes ? args.map((arg) => Buffer.from(arg)) : args;
  try {
    refuseUnanswered(specOf(name as string), sent);
    return null;
  } catch (error) {
    return (error as UnansweredCommandError).message;
  }
}

describe("refuseUnanswered", () => {
  for (const asBytes of [false, true]) {
    it(`refuses what brings no reply, or never stops, with ${asBytes ? "bytes" : "texts"} as arguments`, () => {
      const refused = [
        "client reply off",
        "CLIENT REPLY OFF",
        "Client Reply skip",
        "replconf ack 5",
        "REPLCONF GETACK *",
        "monitor",
        "MONITOR",
        "sync",
        "psync ? -1",
      ];
      for (const words of refused) expect(refusal(words, asBytes), words).to.be.a("string");
    });

    it(`lets through what is answered, with ${asBytes ? "bytes" : "texts"} as arguments`, () => {
      const fine = [
        "client reply on",
        "client reply",
        "client",
        "client setname off",
        "client off reply",
        "client no-evict off",
        "replconf listening-port 1",
        "replconf",
        "get monitor",
        "no-such-command",
      ];
      for (const words of fine) expect(refusal(words, asBytes), words).to.equal(null);
    });
  }

  it("says what to do instead", () => {
    expect(refusal("monitor")).to.contain("redis.monitor()");
    expect(refusal("sync")).to.contain("a connection of its own");
    expect(refusal("client reply off")).to.contain("client reply").and.not.contain("connection of its own");
    expect(refusal("replconf ack 1")).to.contain("replconf");
  });
});
