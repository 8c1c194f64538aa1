/** The public `Command` class: what it makes of its arguments, which it shows, and how its own limits settle it. */

import { expect } from "chai";
import { LegacyCommand } from "../../../src/client/legacy-command";
import { MADE_BY_HAND } from "../../../src/command/command";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { failureOf } from "../../support/outcome";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

describe("LegacyCommand", () => {
  const made: LegacyCommand[] = [];
  afterEach(() => {
    for (const one of made.splice(0)) {
      one.promise.catch(() => {});
      one.fail(new Error("the test is over"));
    }
  });

  function make(...how: ConstructorParameters<typeof LegacyCommand>): LegacyCommand {
    const command = new LegacyCommand(...how);
    made.push(command);
    return command;
  }

  it("flattens and transforms its arguments, and leaves those of its caller alone", () => {
    const args = ["h", { f: 1 }];
    const command = make("hset", args);
    expect([command.name, command.args, args]).to.deep.equal(["hset", ["h", "f", "1"], ["h", { f: 1 }]]);
    expect(make("mget", [["a", "b"]]).args).to.deep.equal(["a", "b"]);
    expect(make("ping").args).to.deep.equal([]);
    expect(make("GET", ["a"]).name).to.equal("GET");
  });

  it("copies bytes when it is sent, not when it is made", () => {
    const bytes = Buffer.from("abc");
    expect(make("set", ["k", bytes]).args[1]).to.equal(bytes);
  });

  it("gives bytes unless texts are asked for", async () => {
    const encodings = [undefined, null, "buffer", "latin1", "utf8", "utf-8"];
    const kinds = encodings.map((replyEncoding) => {
      const command =
        replyEncoding === undefined ? make("get", ["a"]) : make("get", ["a"], { replyEncoding });
      return command.wantsBuffers;
    });
    expect(kinds).to.deep.equal([true, true, true, true, false, false]);
    const command = make("get", ["a"], { replyEncoding: "utf8" });
    command.resolve(Buffer.from("text"));
    expect([await command.promise, command.isResolved]).to.deep.equal(["text", true]);
  });

  it("puts the prefix on its keys", () => {
    expect(make("mget", ["a", "b"], { keyPrefix: "p" }).args).to.deep.equal(["pa", "pb"]);
    expect(make("set", ["a", "b"], { keyPrefix: Buffer.from("p:") }).args.map(String)).to.deep.equal([
      "p:a",
      "b",
    ]);
    expect(make("get", ["a"], { keyPrefix: "" }).args).to.deep.equal(["a"]);
  });

  it("keeps what it was told", () => {
    const errorStack = new Error("here");
    const told = make("get", ["a"], { readOnly: true, errorStack });
    expect(told).to.include({ isReadOnly: true, errorStack, ignore: false, isResolved: false });
    expect(make("get", ["a"])).to.include({ isReadOnly: false, errorStack: undefined });
    expect(told[MADE_BY_HAND]).to.equal(true);
  });

  it("tells its callback, whose promise needs nobody to hear it", async () => {
    const heard: unknown[] = [];
    const command = make("get", ["a"], {}, (error, value) => heard.push(error?.message ?? value));
    command.fail(new Error("no"));
    await new Promise((resolve) => setImmediate(resolve));
    const other = make("get", ["a"], { replyEncoding: "utf8" }, (_error, value) => heard.push(value));
    other.fulfil("1", SHAPE);
    await other.promise;
    expect(heard).to.deep.equal(["no", "1"]);
  });

  it("knows its keys and their slot", () => {
    expect(make("mset", ["a", "1", "b", "2"]).getKeys()).to.deep.equal(["a", "b"]);
    expect(make("set", ["a", "1"], { keyPrefix: "p:" }).getKeys()).to.deep.equal(["p:a"]);
    expect(make("ping").getKeys()).to.deep.equal([]);
    // CRC16 of "foo" and "06S", as the specification of the cluster has it.
    expect(["foo", "06S"].map((key) => make("get", [key]).getSlot())).to.deep.equal([12_182, 0]);
    expect(make("ping").getSlot()).to.equal(null);
  });

  it("shows the request as it is written", () => {
    expect(String(make("set", ["ä", Buffer.from("b")]).toWritable())).to.equal(
      "*3\r\n$3\r\nset\r\n$2\r\nä\r\n$1\r\nb\r\n",
    );
    expect(String(make("MYCMD", []).toWritable())).to.equal("*1\r\n$5\r\nMYCMD\r\n");
    const large = "x".repeat(300_000);
    expect(make("set", ["k", large]).toWritable().length).to.equal(
      large.length + "*3$3set$1k$300000".length + 14,
    );
  });

  it("tells the time that it may block, in milliseconds", () => {
    const times = [
      ["blpop", "k", "1.5"],
      ["blpop", "k", "0"],
      ["xread", "BLOCK", "20", "STREAMS", "s", "$"],
      ["get", "k"],
    ].map(([name = "", ...args]) => make(name, args).extractBlockingTimeout());
    expect(times[0]).to.equal(1500);
    expect(times[2]).to.equal(20);
    expect(times[3]).to.equal(undefined);
  });

  it("knows the lists of commands, and whether one is on them", () => {
    const { FLAGS } = LegacyCommand;
    expect(FLAGS.ENTER_SUBSCRIBER_MODE).to.include("subscribe");
    expect(LegacyCommand.checkFlag("ENTER_SUBSCRIBER_MODE", "SUBSCRIBE")).to.equal(true);
    expect(LegacyCommand.checkFlag("ENTER_SUBSCRIBER_MODE", "get")).to.equal(false);
  });

  it("takes transformers for a word, from then on", async () => {
    const { argument, reply } = LegacyCommand._transformer;
    LegacyCommand.setArgumentTransformer("my-word", (args) => args.map((arg) => `${arg}!`));
    LegacyCommand.setReplyTransformer("my-word", (value) => [value]);
    try {
      const command = make("my-word", ["a"], { replyEncoding: "utf8" });
      command.fulfil("1", SHAPE);
      expect([command.args, await command.promise]).to.deep.equal([["a!"], ["1"]]);
    } finally {
      for (const table of [argument, reply]) Reflect.deleteProperty(table, "my-word");
    }
    expect(make("my-word", ["a"]).args).to.deep.equal(["a"]);
  });

  describe("in time", () => {
    let home: InVirtualTime<typeof import("../../../src/client/legacy-command")>;

    before(() => {
      home = inVirtualTime(() => require("../../../src/client/legacy-command"));
    });

    function alive(): LegacyCommand {
      const command = new home.modules.LegacyCommand("get", ["a"]);
      command.promise.catch(() => {});
      return command;
    }

    it("rejects when its time is over, and not before", async () => {
      await home.live(async () => {
        const [late, early] = [alive(), alive()];
        for (const one of [late, early]) one.setTimeout(100);
        await home.pass(99);
        early.fulfil("1", SHAPE);
        expect(late.isResolved).to.equal(false);
        await home.pass(1);
        const error = await failureOf(late.promise);
        expect(error).to.include({ code: "COMMAND_TIMEOUT", message: "Command timed out" });
        expect(error.details).to.include({ phase: "queued", commandsAhead: 0, bytesAhead: 0 });
        expect(await early.promise).to.equal("1");
      });
    });

    it("resolves null when the time that it may block is over, and leaves no timer", async () => {
      await home.live(async () => {
        const [late, early, failed] = [alive(), alive(), alive()];
        late.setBlockingTimeout(100);
        const { pending } = home.time;
        for (const one of [early, failed]) one.setBlockingTimeout(100);
        early.fulfil("1", SHAPE);
        failed.fail(new Error("no"));
        expect(home.time.pending).to.equal(pending);
        await home.pass(99);
        expect(late.isResolved).to.equal(false);
        await home.pass(1);
        expect([await late.promise, await early.promise]).to.deep.equal([null, "1"]);
        await home.pass(1);
        expect(home.time.pending).to.equal(0);
      });
    });
  });
});
