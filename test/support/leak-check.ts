/**
 * Finds what a test left behind: sockets, servers, timers, and commands that were handed over but
 * never settled. Everything is compared with what there was before the test, so that what an
 * outer scope holds open is not held against it.
 */

import { Command, CommandState } from "../../src/command/command";
import { replaceExport } from "./replace-export";

type AnyCommand = InstanceType<typeof Command>;

const SETTLING_TIME_MS = 2_000;
/** Most of what is closing is gone after so many turns of the event loop; later looks are so far apart. */
const QUICK_LOOKS = 8;
const LOOK_AGAIN_MS = 5;
const SWEEP_AT = 100_000;
/** Resources that keep a process alive and that a client can leave behind. */
const WATCHED = ["TCPSocketWrap", "TCPServerWrap", "TLSWrap", "PipeWrap", "ProcessWrap", "Timeout"];

// The runtime opens these at their first use: they are no test's.
void process.stdout;
void process.stderr;

const commands = new Set<AnyCommand>();
let before = new Map<string, number>();

function isPending(command: AnyCommand): boolean {
  return command.state === CommandState.Queued || command.state === CommandState.Sent;
}

function forgetSettled(): void {
  for (const command of commands) if (command.isSettled) commands.delete(command);
}

/** Must run before any room is loaded: from then on `new Command` makes one that is remembered. */
export function watchCommands(): void {
  const watched = new Proxy(Command, {
    construct(target, args, newTarget): AnyCommand {
      const command = Reflect.construct(target, args, newTarget) as AnyCommand;
      if (commands.size >= SWEEP_AT) forgetSettled();
      commands.add(command);
      return command;
    },
  });
  replaceExport("command/command", "Command", watched);
}

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) {
    if (WATCHED.includes(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** To be called before each test. It takes a turn, so that mocha's timer of the hook counts on both sides. */
export async function rememberResources(): Promise<void> {
  await nextTurn();
  commands.clear();
  before = countResources();
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function findLeaks(): string[] {
  const leaks: string[] = [];
  for (const [name, count] of countResources()) {
    const surplus = count - (before.get(name) ?? 0);
    if (surplus > 0) leaks.push(`${surplus} ${name}`);
  }
  const pending = [...commands].filter(isPending);
  if (pending.length > 0) {
    const names = [...new Set(pending.map((command) => command.name))].slice(0, 5).join(", ");
    leaks.push(`${pending.length} unsettled commands (${names})`);
  }
  return leaks;
}

/** To be called after each test: waits a moment for what is just closing, then rejects with what is left. */
export async function assertNothingLeft(): Promise<void> {
  const deadline = Date.now() + SETTLING_TIME_MS;
  // A socket that was destroyed is gone one turn later.
  await nextTurn();
  for (let look = 1; findLeaks().length > 0 && Date.now() < deadline; look++) {
    await (look < QUICK_LOOKS ? nextTurn() : new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS)));
  }
  const leaks = findLeaks();
  if (leaks.length > 0) throw new Error(`The test left behind: ${leaks.join("; ")}`);
}
