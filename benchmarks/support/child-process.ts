/**
 * Starts Node processes, each on its own CPU if the system supports that.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import type { Address } from "../sides/side";
import { compiledFolder } from "./project";

export interface Pinning {
  readonly serverCpu: number;
  readonly clientCpu: number;
}

/** The first and the last CPU this process may use; undefined with one CPU or without `taskset`. */
export function findPinning(): Pinning | undefined {
  try {
    execFileSync("taskset", ["-V"], { stdio: "ignore" });
    const status = fs.readFileSync("/proc/self/status", "latin1");
    const cpus = parseCpuList(/Cpus_allowed_list:\s*(\S+)/.exec(status)?.[1] ?? "");
    const [serverCpu] = cpus;
    const clientCpu = cpus[cpus.length - 1];
    if (serverCpu === undefined || clientCpu === undefined || serverCpu === clientCpu) return undefined;
    return { serverCpu, clientCpu };
  } catch {
    return undefined;
  }
}

function parseCpuList(text: string): number[] {
  return text.split(",").flatMap((part) => {
    const [from, to] = part.split("-").map(Number);
    const first = from ?? 0;
    return Array.from({ length: (to ?? first) - first + 1 }, (_, index) => first + index);
  });
}

/** Moves a running process, all threads of it, to one CPU. */
export function pinProcess(pid: number, cpu: number): void {
  execFileSync("taskset", ["-a", "-c", "-p", String(cpu), String(pid)], { stdio: "ignore" });
}

export interface NodeCommand {
  readonly script: string;
  readonly args: readonly string[];
  readonly flags?: readonly string[];
  readonly cpu?: number | undefined;
  /** Another runtime than the one of this process. */
  readonly executable?: string | undefined;
}

/** Runs a compiled file of the suite. Standard input is a pipe, so that a child can notice that its parent is gone. */
export function spawnNode({ script, args, flags = [], cpu, executable }: NodeCommand): ChildProcess {
  const command = [executable ?? process.execPath, ...flags, path.join(compiledFolder, script), ...args];
  if (cpu !== undefined) command.unshift("taskset", "-c", String(cpu));
  return spawn(command[0] as string, command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
}

/** A helper on the far side of the wire: it prints its port and ends when its standard input closes. */
export interface HelperServer {
  readonly address: Address;
  /** What it prints beyond its port. */
  readonly output: NodeJS.ReadableStream;
  /** Sends it a word. */
  tell(word: string): void;
  stop(): void;
}

export function startDelayProxy(
  to: Address,
  roundTripMs: number,
  cpu: number | undefined,
): Promise<HelperServer> {
  return startHelper("support/delay-proxy.js", [to.host, String(to.port), String(roundTripMs)], cpu);
}

/** Its open connections fail on the words `reset` and `silence`. */
export function startFailingProxy(to: Address, cpu: number | undefined): Promise<HelperServer> {
  return startHelper("support/failing-proxy.js", [to.host, String(to.port)], cpu);
}

export interface SlowServerOptions {
  readonly commandMicros: number;
  readonly roundTripMs: number;
  /** Dots that it prints a second. */
  readonly ticksPerSecond?: number;
}

/** A server that spends so long on each command and whose replies take so long. */
export function startSlowServer(
  { commandMicros, roundTripMs, ticksPerSecond = 0 }: SlowServerOptions,
  cpu: number | undefined,
): Promise<HelperServer> {
  const args = [commandMicros, roundTripMs, ticksPerSecond].map(String);
  return startHelper("support/slow-server.js", args, cpu);
}

async function startHelper(
  script: string,
  args: readonly string[],
  cpu: number | undefined,
): Promise<HelperServer> {
  const child = spawnNode({ script, args, cpu });
  const port = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.stdout?.once("data", (text: Buffer) => resolve(Number(text.toString())));
  });
  return {
    address: { host: "127.0.0.1", port },
    output: child.stdout as NodeJS.ReadableStream,
    tell: (word) => child.stdin?.write(`${word}\n`),
    stop: () => child.stdin?.end(),
  };
}
