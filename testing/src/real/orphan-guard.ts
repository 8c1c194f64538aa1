/**
 * Ensures that no server and no directory of one outlives the process that started it. An exit hook handles a
 * normal end. For other ends (SIGKILL, a crash of the engine) a small shell receives the lists over a pipe, and
 * cleans up when the pipe breaks. The shell has its own process group, so a signal to the group of this process
 * does not kill it.
 */

import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";

const GUARD_SCRIPT = `
trap '' INT TERM HUP
pids=
directories=
while read -r operation value; do
  if [ "$operation" = add ]; then pids="$pids $value"; continue; fi
  if [ "$operation" = directory ]; then
    directories="$directories$value
"
    continue
  fi
  kept=
  for known in $pids; do [ "$known" = "$value" ] || kept="$kept $known"; done
  pids=$kept
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
printf '%s' "$directories" | while read -r directory; do
  rm -rf "$directory" || { sleep 1; rm -rf "$directory"; }
done
`;

const guarded = new Set<number>();
const directories = new Set<string>();
let guard: ChildProcess | null = null;

function killAll(): void {
  for (const pid of guarded) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Already gone.
    }
  }
  for (const directory of directories) rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}

function startGuard(): ChildProcess {
  process.on("exit", killAll);
  // A signal without a listener ends the process without its exit hooks.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      killAll();
      process.kill(process.pid, signal);
    });
  }
  const { spawn } = require("node:child_process") as typeof import("node:child_process");
  const child = spawn("/bin/sh", ["-c", GUARD_SCRIPT], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  child.stdin.on("error", () => {});
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return child;
}

/** Has the process with this id killed when ours ends, however it ends. */
export function guardProcess(pid: number): void {
  guard ??= startGuard();
  guarded.add(pid);
  guard.stdin?.write(`add ${pid}\n`);
}

/** The process is gone and its id may be given to somebody else. */
export function releaseProcess(pid: number): void {
  if (guarded.delete(pid)) guard?.stdin?.write(`del ${pid}\n`);
}

/** Has a directory removed when our process ends, however it ends. */
export function guardDirectory(path: string): void {
  guard ??= startGuard();
  directories.add(path);
  guard.stdin?.write(`directory ${path}\n`);
}
