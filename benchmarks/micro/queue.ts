/**
 * The command queue alone: a thousand commands pushed, visited and shifted, as one connection does for one
 * flush. The plain ring buffer below it, and an array, show the cost of the bookkeeping.
 */

import Denque from "denque";
import { Command, IGNORED } from "../../src/command/command";
import { specOf } from "../../src/command/command-table";
import { CommandQueue } from "../../src/connection/command-queue";
import { report } from "./measure";

const COUNT = 1000;
const spec = specOf("get");
const commands = Array.from({ length: COUNT }, () => new Command(spec, ["key"], false, IGNORED));

const queue = new CommandQueue();
report("queue: push, write, shift", COUNT, () => {
  for (const command of commands) queue.push(command);
  for (let index = 0; index < COUNT; index++) queue.takeUnsent();
  for (let index = 0; index < COUNT; index++) queue.shift();
});

const ring = new Denque<Command>();
report("denque: push, shift", COUNT, () => {
  for (const command of commands) ring.push(command);
  for (let index = 0; index < COUNT; index++) ring.shift();
});

const array: Command[] = [];
report("array: push, shift", COUNT, () => {
  for (const command of commands) array.push(command);
  for (let index = 0; index < COUNT; index++) array.shift();
});
