/** The kind and version of a server binary: asked from the binary itself, never guessed from its file name. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const PROBE_TIMEOUT_MS = 10_000;

export interface ServerBinary {
  readonly path: string;
  readonly product: "Redis" | "Valkey";
  readonly version: string;
  /** Where it was found, for messages. */
  readonly source: string;
}

/** Asks a binary for its version. Rejects if it cannot be run here. */
export async function describeBinary(path: string, source: string): Promise<ServerBinary> {
  const { stdout } = await run(path, ["--version"], { timeout: PROBE_TIMEOUT_MS });
  // Valkey 7.2 omits its name.
  const match = /^(?:(Redis|Valkey) s|S)erver v=(\S+)/.exec(stdout);
  if (match?.[2] === undefined) {
    throw new Error(`${path} does not answer like a Redis or Valkey server: ${stdout.trim()}`);
  }
  return { path, product: match[1] === "Redis" ? "Redis" : "Valkey", version: match[2], source };
}

const tlsSupport = new Map<string, Promise<boolean>>();

/**
 * Whether the binary was built with TLS. Without certificates it exits immediately either way, with different
 * messages.
 */
export function supportsTls(path: string): Promise<boolean> {
  let known = tlsSupport.get(path);
  if (known === undefined) {
    known = run(path, ["--port", "0", "--tls-port", "1"], { timeout: PROBE_TIMEOUT_MS }).then(
      ({ stdout }) => stdout.includes("tls-cert-file"),
      (error: { stdout?: string }) => (error.stdout ?? "").includes("No tls-cert-file"),
    );
    tlsSupport.set(path, known);
  }
  return known;
}
