/**
 * The cost of creating a command with its promise and of settling it, without a queue or a socket. For
 * comparison: the promise alone, which every promise API needs.
 */

import { makeCommand, prepareArguments } from "../../src/command/command-factory";
import { specOf } from "../../src/command/command-table";
import { PromiseCompletion } from "../../src/command/promise-completion";
import { report } from "./measure";

const COUNT = 1000;
/** Keeps the created objects, so that the engine cannot optimize their allocation away. */
const kept = new Array<unknown>(COUNT);
const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;
const get = specOf("get");
const exists = specOf("exists");
const hgetall = specOf("hgetall");
const fields = Array.from({ length: 20 }, (_, index) => `field:${index}`);

report("a bare promise, made and resolved", COUNT, () => {
  for (let index = 0; index < COUNT; index++) {
    let settle: (value: string) => void = () => undefined;
    kept[index] = new Promise<string>((resolve) => {
      settle = resolve;
    });
    settle("value");
  }
});

report("completion alone", COUNT, () => {
  for (let index = 0; index < COUNT; index++) kept[index] = new PromiseCompletion();
});

report("command of get, made and fulfilled", COUNT, () => {
  for (let index = 0; index < COUNT; index++) {
    const command = makeCommand(get, ["key"], false, new PromiseCompletion());
    command.fulfil("value", SHAPE);
    kept[index] = command;
  }
});

report("command of exists, one number argument", COUNT, () => {
  for (let index = 0; index < COUNT; index++) {
    const command = makeCommand(exists, prepareArguments(exists, [index]), false, new PromiseCompletion());
    command.fulfil(1, SHAPE);
    kept[index] = command;
  }
});

report("command of hgetall, 10 fields mapped", COUNT, () => {
  for (let index = 0; index < COUNT; index++) {
    const command = makeCommand(hgetall, ["key"], false, new PromiseCompletion());
    command.fulfil(fields, SHAPE);
    kept[index] = command;
  }
});
