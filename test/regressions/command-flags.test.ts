/** The lists of commands by nature are those of the API, and `checkFlag` asks the same lists. */

import { expect } from "chai";
import { Command as Original } from "ioredis";
import { Redis } from "../../src/index";

type Lists = Record<string, readonly string[]>;
type Asked = { checkFlag(list: string, name: string): boolean };

const expected = (Original as unknown as { FLAGS: Lists }).FLAGS;
const { Command } = Redis as unknown as { Command: Asked & { FLAGS: Lists } };

describe("Command.FLAGS", () => {
  it("has the lists of the API and no other", () => {
    expect(Object.keys(Command.FLAGS).sort()).to.deep.equal(Object.keys(expected).sort());
    for (const [list, names] of Object.entries(expected)) {
      expect([...(Command.FLAGS[list] as string[])].sort(), list).to.deep.equal([...names].sort());
    }
  });

  it("checkFlag() says of every command what the API says", () => {
    const names = [
      ...new Redis({ lazyConnect: true }).getBuiltinCommands(),
      "shutdown",
      "WAIT",
      "BLPOP",
      "Quit",
    ];
    for (const list of Object.keys(expected)) {
      for (const name of names) {
        const told = (Original as unknown as Asked).checkFlag(list, name);
        expect(Command.checkFlag(list, name), `${list} ${name}`).to.equal(told);
      }
    }
  });

  it("a name that an application adds to a list is on it", () => {
    const list = Command.FLAGS["BLOCKING_COMMANDS"] as string[];
    list.push("mymodule.wait");
    try {
      expect(Command.checkFlag("BLOCKING_COMMANDS", "MyModule.Wait")).to.equal(true);
    } finally {
      list.pop();
    }
  });
});
