/** What the calls of a script send: its hash, the number of keys, the prefix, and what connections need to know of it. */

import { createHash } from "node:crypto";
import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { Script, type ScriptDefinition } from "../../../src/command/script";
import { Ending } from "../../support/ending";

const lua = "return {KEYS[1], ARGV[1]}";
const sha = createHash("sha1").update(lua).digest("hex");

describe("Script", () => {
  const made: Command[] = [];
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function call(
    definition: Partial<ScriptDefinition>,
    args: unknown[],
    { prefix, copies }: { prefix?: string | Buffer; copies?: boolean } = {},
  ): Command {
    const script = new Script({ lua, ...definition }, prefix);
    const command = script.makeCommand(args, false, new Ending(), copies);
    made.push(command);
    expect(command.extra?.script).to.equal(script);
    return command;
  }

  const sent = (...how: Parameters<typeof call>): string[] => call(...how).args.map(String);

  it("sends its hash, and how many keys there are", () => {
    expect(sent({ numberOfKeys: 1 }, ["k", "v"])).to.deep.equal([sha, "1", "k", "v"]);
    expect(sent({ numberOfKeys: 0 }, ["v"])).to.deep.equal([sha, "0", "v"]);
    expect(call({ numberOfKeys: 1 }, ["k"]).name).to.equal("evalsha");
  });

  it("leaves the number of keys to the caller where it was not defined", () => {
    for (const numberOfKeys of [undefined, null]) {
      expect(sent({ numberOfKeys }, [2, "k", "l", "v"])).to.deep.equal([sha, "2", "k", "l", "v"]);
    }
  });

  it("puts the prefix on its keys alone", () => {
    expect(sent({ numberOfKeys: 2 }, ["k", "l", "v"], { prefix: "p" })).to.deep.equal([
      sha,
      "2",
      "pk",
      "pl",
      "v",
    ]);
    expect(sent({}, [1, "k", "v"], { prefix: Buffer.from("p:") })).to.deep.equal([sha, "1", "p:k", "v"]);
    expect(sent({ numberOfKeys: 1 }, ["k"], { prefix: "" })).to.deep.equal([sha, "1", "k"]);
  });

  it("takes arguments as commands do: one level of lists, bytes copied unless they are kept for later", () => {
    expect(sent({ numberOfKeys: 1 }, [["k", "v"], 5])).to.deep.equal([sha, "1", "k", "v", "5"]);
    for (const copies of [undefined, false]) {
      const bytes = Buffer.from("abc");
      const command = call({ numberOfKeys: 0 }, [bytes], copies === false ? { copies } : {});
      bytes.fill("x");
      expect(String(command.args[2])).to.equal(copies === false ? "xxx" : "abc");
    }
    const broken = new Script({ lua }, undefined);
    expect(() => broken.makeCommand([Object.create(null)], false, new Ending())).to.throw("evalsha");
  });

  it("wants its reply as its caller does", () => {
    const script = new Script({ lua, numberOfKeys: 0 }, undefined);
    for (const wantsBuffers of [true, false]) {
      const command = script.makeCommand([], wantsBuffers, new Ending());
      made.push(command);
      expect(command.wantsBuffers).to.equal(wantsBuffers);
    }
  });

  it("knows its text, for connections that know it not yet", () => {
    const { lua: text, sha: hash, byText, bySha } = new Script({ lua }, undefined);
    expect([text, hash, byText.name, bySha.name]).to.deep.equal([lua, sha, "eval", "evalsha"]);
  });

  it("only reads if it says so", () => {
    expect(new Script({ lua }, undefined).isReadOnly).to.equal(false);
    expect(new Script({ lua, readOnly: true }, undefined).isReadOnly).to.equal(true);
  });
});
