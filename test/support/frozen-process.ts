/** Runs `frozen-program.ts` in a process that a test stops and continues, as AWS Lambda or a paused virtual machine does. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { guardProcess, releaseProcess } from "../../scripts/servers/orphan-guard";

const PROGRAM = join(__dirname, "frozen-program.js");
const JUMPING_CLOCK = join(__dirname, "jumping-clock.js");

export interface Round {
  readonly replies: unknown[];
  /** How long the first reply took. */
  readonly firstMs: number;
}

export class FrozenProcess {
  private readonly child: ChildProcess;
  private readonly lines: Interface;

  /** @param settings See `frozen-program.ts`. */
  constructor(settings: object) {
    const words = ["--require", JUMPING_CLOCK, PROGRAM, JSON.stringify(settings)];
    this.child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
    guardProcess(this.pid);
    this.lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream });
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** Issues these calls together. */
  async ask(words: string): Promise<Round> {
    const answered = once(this.lines, "line");
    this.child.stdin?.write(`${words}\n`);
    const [line] = (await answered) as [string];
    return JSON.parse(line) as Round;
  }

  async freeze(ms: number): Promise<void> {
    this.signal("SIGSTOP");
    await sleep(ms);
    this.signal("SIGCONT");
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async end(): Promise<void> {
    this.signal("SIGKILL");
    this.lines.close();
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit");
    releaseProcess(this.pid);
  }
}
