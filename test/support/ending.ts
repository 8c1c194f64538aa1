/** A completion that counts how often its command was settled: once is right. */

import { Command, type Completion } from "../../src/command/command";
import { specOf } from "../../src/command/command-table";

export class Ending implements Completion {
  times = 0;
  error: Error | null = null;

  fulfil(): void {
    this.times++;
  }

  reject(_command: Command, error: Error): void {
    this.times++;
    this.error = error;
  }
}

/** Commands for one test, each of which counts how often it was settled. */
export class CommandsOfTest {
  private readonly made: Command[] = [];

  make(name: string, ...args: string[]): Command {
    const command = new Command(specOf(name), args, false, new Ending());
    this.made.push(command);
    return command;
  }

  /** A command that was made elsewhere. */
  add(command: Command): void {
    this.made.push(command);
  }

  /** Settles those that are left when the test is over. */
  failAll(): void {
    for (const command of this.made.splice(0)) command.fail(new Error("the test is over"));
  }
}
