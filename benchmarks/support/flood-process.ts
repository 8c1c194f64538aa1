/**
 * Publishes as fast as the server accepts messages, or at a fixed rate. Runs in a separate process on the
 * server's CPU.
 *
 *   node flood-process.js <host> <port> <command> <channels> <bytes> <per second, 0: no limit>
 *
 * It prints one line when it is connected and ends when standard input closes. Blocks of commands are
 * prepared; each one is sent after the replies to the one before.
 */

import { encodeRequest } from "../sides/operation";
import { BareClient } from "./bare-client";

const BLOCK = 100;
const MILLISECONDS = 1000;

export function channelOf(index: number): string {
  return `channel:${index}`;
}

/** The next turn of the loop, or the time at which a block is due. */
function pauseUntil(dueMs: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (performance.now() >= dueMs) resolve();
      else setImmediate(look);
    };
    look();
  });
}

async function flood(words: readonly string[]): Promise<void> {
  const [host = "", port, command = "PUBLISH", channels, bytes, perSecond] = words;
  const client = await BareClient.open({ host, port: Number(port) });
  const pace = Number(perSecond);
  const payload = "x".repeat(Number(bytes));
  const size = pace === 0 ? BLOCK : 1;
  const requests = Array.from({ length: Math.max(size, Number(channels)) }, (_, index) =>
    encodeRequest([command, channelOf(index % Number(channels)), payload]),
  );
  process.stdout.write("ready\n");
  process.stdin.resume();
  process.stdin.on("close", () => process.exit(0));
  const startMs = performance.now();
  for (let sent = 0, at = 0; ; sent += size) {
    if (pace > 0) await pauseUntil(startMs + (sent / pace) * MILLISECONDS);
    const block: Buffer[] = [];
    for (let left = size; left > 0; left--) {
      block.push(requests[at] as Buffer);
      at = at + 1 === requests.length ? 0 : at + 1;
    }
    await client.sendAll(block);
  }
}

if (require.main === module) void flood(process.argv.slice(2));
