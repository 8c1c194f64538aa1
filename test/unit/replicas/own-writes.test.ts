import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { LEGACY_SHAPE } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { OwnWrites, WriteNotes } from "../../../src/replicas/own-writes";

/** No test waits for it. */
const LONG_MS = 1e9;

function command(name: string, ...args: (string | Buffer)[]): Command {
  const completion = new PromiseCompletion();
  completion.promise.catch(() => {});
  return new Command(specOf(name), args, false, completion);
}

const notes = new WeakMap<OwnWrites, WriteNotes>();

/** Of its one connection. */
function notesOf(writes: OwnWrites): WriteNotes {
  let found = notes.get(writes);
  if (found === undefined) notes.set(writes, (found = new WriteNotes(writes)));
  return found;
}

function noted(writes: OwnWrites, name: string, ...args: (string | Buffer)[]): Command {
  const write = command(name, ...args);
  notesOf(writes).note(write);
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

  it("in a transaction count until the reply to EXEC, also after a second MULTI", () => {
    const writes = new OwnWrites(0);
    noted(writes, "multi");
    noted(writes, "set", "a", "1").fulfil("QUEUED", LEGACY_SHAPE);
    noted(writes, "multi").fail(new Error("ERR MULTI calls can not be nested"));
    noted(writes, "exec");
    expect(concerns(writes, "get", "a")).to.equal(true);
  });

  it("in transactions of two connections count separately", () => {
    const writes = new OwnWrites(0);
    const [one, other] = [new WriteNotes(writes), new WriteNotes(writes)];
    const note = (by: WriteNotes, name: string, ...args: string[]): Command => {
      const noting = command(name, ...args);
      by.note(noting);
      return noting;
    };
    note(one, "multi");
    note(one, "set", "a", "1").fulfil("QUEUED", LEGACY_SHAPE);
    note(other, "multi");
    note(other, "set", "b", "1").fulfil("QUEUED", LEGACY_SHAPE);
    const exec = note(one, "exec");
    expect(["a", "b"].map((key) => concerns(writes, "get", key))).to.deep.equal([true, false]);
    exec.fulfil([], LEGACY_SHAPE);
    note(other, "exec");
    expect(["a", "b"].map((key) => concerns(writes, "get", key))).to.deep.equal([false, true]);
  });

  /** Each writes "to", as its last key or in a form of its own. */
  const FORMS: readonly (readonly [string, ...(string | Buffer)[]])[] = [
    ["copy", "from", "to"],
    ["copy", "from", "to", "DB", "1"],
    ["rename", "from", "to"],
    ["renamenx", "from", "to"],
    ["restore", "to", "0", "dump"],
    ["move", "to", "1"],
    ["sort", "from", "STORE", "to"],
    ["sort", "from", "BY", "w_*", "GET", "d_*", "store", "to"],
    ["sort", "from", Buffer.from("STORE"), Buffer.from("to")],
    ["georadius", "from", "0", "0", "1", "km", "STORE", "to"],
    ["georadiusbymember", "from", "m", "1", "km", "STOREDIST", "to"],
    ["geosearchstore", "to", "from", "FROMMEMBER", "m", "BYRADIUS", "1", "km"],
    ["xreadgroup", "GROUP", "g", "c", "STREAMS", "from", "to", ">", ">"],
    ["xreadgroup", "GROUP", "g", "c", "NOACK", Buffer.from("streams"), "to", ">"],
    ["xack", "to", "g", "0-1"],
    ["xautoclaim", "to", "g", "c", "0", "0"],
    ["xgroup", "CREATE", "to", "g", "$"],
    ["bitfield", "to", "SET", "u8", "0", "1"],
    ["bitop", "AND", "to", "from"],
    ["getex", "to", "EX", "1"],
    ["getdel", "to"],
    ["persist", "to"],
    ["zunionstore", "to", "1", "from"],
    ["zrangestore", "to", "from", "0", "-1"],
    ["sinterstore", "to", "from"],
    ["smove", "from", "to", "m"],
    ["lmove", "from", "to", "LEFT", "LEFT"],
    ["blmove", "from", "to", "LEFT", "LEFT", "0"],
    ["brpoplpush", "from", "to", "0"],
    ["lmpop", "2", "from", "to", "LEFT"],
    ["bzmpop", "0", "1", "to", "MIN"],
    ["pfmerge", "to", "from"],
    ["eval", "return 1", "2", "from", "to"],
    ["evalsha", "0123", "1", "to"],
    ["fcall", "f", "1", "to"],
    ["fcall", "f", "0"],
    ["flushdb"],
    ["swapdb", "0", "1"],
    ["function", "LOAD", "code"],
    ["migrate", "h", "1", "", "0", "1", "KEYS", "from", "to"],
    ["json.set", "to", "$", "1"],
    ["set", Buffer.from("to"), "1"],
    ["SET", "to", "1"],
  ];
  for (const form of FORMS) {
    it(`concern reads of the key that ${form.map(String).join(" ")} writes`, () => {
      const writes = new OwnWrites(LONG_MS);
      noted(writes, ...form);
      expect(concerns(writes, "get", "to")).to.equal(true);
    });
  }

  it("cover a command that goes to several nodes, until its last reply", async () => {
    const writes = new OwnWrites(0);
    let reply = (): void => {};
    const sending = (name: string): Promise<void> =>
      writes.cover(specOf(name), [], () => new Promise<void>((resolve) => (reply = resolve)));
    const flush = sending("flushall");
    expect(concerns(writes, "get", "a")).to.equal(true);
    reply();
    await flush;
    expect(concerns(writes, "get", "a")).to.equal(false);
    const count = sending("dbsize");
    expect(concerns(writes, "get", "a")).to.equal(false);
    reply();
    await count;
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
