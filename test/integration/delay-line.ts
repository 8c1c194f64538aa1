/** A proxy with a delay below a millisecond, as a process of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";

export interface DelayLine {
  readonly port: number;
  stop(): void;
}

/** @param roundTripMs The delay of a round trip. */
export async function delayLine(
  { host, port }: { readonly host: string; readonly port: number },
  roundTripMs: number,
): Promise<DelayLine> {
  const script = join(checkoutDirectory(), "build/benchmarks/support/delay-proxy.js");
  const child: ChildProcess = spawn(process.execPath, [script, host, String(port), String(roundTripMs)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  if (child.stdout === null) throw new Error("The proxy has no output");
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  return { port: Number(text.toString()), stop: () => child.stdin?.end() };
}
