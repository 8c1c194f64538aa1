import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { LEGACY_SHAPE } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { OwnWrites } from "../../../src/replicas/own-writes";

/** No test waits for it. */
const LONG_MS = 1e9;

function command(name: string, ...args: string[]): Command {
  const completion = new PromiseCompletion();
  completion.promise.catch(() => {});
  return new Command(specOf(name), args, false, completion);
}

function noted(writes: OwnWrites, name: string, ...args: string[]): Command {
  const write = command(name, ...args);
  writes.note(write);
  return write;
}

describe("own writes", () => {
  const concerns = (writes: OwnWrites, ...read: [string, ...string[]]): boolean =>
    writes.concerns(command(...read));

  it("concern reads of their keys, from the issue on", () => {
    const writes = new OwnWrites(LONG_MS);
    expect(concerns(writes, "get", "a")).to.equal(false);
    const write = noted(writes, "set", "a", "1");
    expect(concerns(writes, "get", "a")).to.equal(true);
    expect(concerns(writes, "get", "b")).to.equal(false);
    expect(concerns(writes, "mget", "b", "a")).to.equal(true);
    expect(concerns(writes, "keys", "*")).to.equal(true);
    write.fulfil("OK", LEGACY_SHAPE);
    expect(concerns(writes, "get", "a")).to.equal(true);
  });

  it("concern nothing when the window after the last reply has passed", () => {
    const writes = new OwnWrites(0);
    const [first, second] = [noted(writes, "set", "a", "1"), noted(writes, "mset", "a", "1", "b", "2")];
    second.fulfil("OK", LEGACY_SHAPE);
    expect(concerns(writes, "get", "a")).to.equal(true);
    expect(concerns(writes, "get", "b")).to.equal(false);
    first.fail(new Error("lost"));
    expect(concerns(writes, "get", "a")).to.equal(false);
    expect(concerns(writes, "keys", "*")).to.equal(false);
  });

  it("of unknown keys concern every read", () => {
    for (const [name, ...args] of [["flushall"], ["eval", "return 1", "0"], ["some.module", "x"]] as const) {
      const writes = new OwnWrites(LONG_MS);
      noted(writes, name, ...args);
      expect(concerns(writes, "get", "a"), name).to.equal(true);
    }
  });

  it("in a transaction count until the reply to EXEC", () => {
    const writes = new OwnWrites(0);
    noted(writes, "multi");
    noted(writes, "set", "a", "1").fulfil("QUEUED", LEGACY_SHAPE);
    const exec = noted(writes, "exec");
    expect(concerns(writes, "get", "a")).to.equal(true);
    exec.fulfil([], LEGACY_SHAPE);
    expect(concerns(writes, "get", "a")).to.equal(false);
  });

  it("are not messages, selections and reads", () => {
    const writes = new OwnWrites(LONG_MS);
    for (const [name, ...args] of [
      ["publish", "a", "1"],
      ["select", "1"],
      ["ping"],
      ["client", "id"],
    ] as const)
      noted(writes, name, ...args);
    expect(concerns(writes, "keys", "*")).to.equal(false);
  });
});
