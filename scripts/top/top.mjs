/**
 * Shows a running server, one frame a second: commands, commands per read, buffers, memory, round trip, and the
 * commands that take the most time. It is for development. Each frame sends a few cheap commands. It never shows a
 * value, a key or a password.
 *
 *   sluice top [--once | --frames=N] [--interval=MS] redis://host:6379
 *
 * `--once` prints one frame, which covers one second. Without a terminal, the frames follow one another.
 */

import { parseArgs } from "node:util";
import { Redis } from "sluice";
import { drawFrame } from "./frame.mjs";
import { figuresBetween, readServer } from "./reading.mjs";

const CLEAR = "\u001b[H\u001b[J";
const HISTORY = 60;
function fail(message) {
  console.error(message);
  process.exit(1);
}

/** A whole number of at least 1. */
function numberOf(name, text, otherwise) {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) fail(`--${name} must be a whole number, 1 or more`);
  return value;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    once: { type: "boolean" },
    frames: { type: "string" },
    interval: { type: "string" },
  },
});
const [url = "redis://127.0.0.1:6379"] = positionals;
const intervalMs = numberOf("interval", values.interval, 1000);
const mostFrames = values.once ? 1 : numberOf("frames", values.frames, Number.POSITIVE_INFINITY);

const redis = new Redis(url, {
  connectionName: "sluice-top",
  // A frame reports an unreachable server and does not wait for it.
  enableOfflineQueue: false,
  lazyConnect: true,
  retryStrategy: () => intervalMs,
});
let reason = "";
redis.on("error", (error) => {
  reason = error.message;
});
redis.on("ready", () => {
  reason = "";
});

const isTerminal = process.stdout.isTTY === true;

function show(frame) {
  process.stdout.write(`${isTerminal && !values.once ? CLEAR : ""}${frame}\n`);
}

function leave(code) {
  redis.disconnect();
  process.exitCode = code;
}

async function watch() {
  await redis.connect().catch(() => {});
  if (redis.status !== "ready") {
    console.error(`${redis.stats().server} cannot be reached: ${reason}`);
    return 1;
  }
  const history = [];
  let before = null;
  for (let frames = 0; frames < mostFrames; ) {
    const now = await readServer(redis).catch(() => null);
    const { server, status, roundTrip } = redis.stats();
    if (now === null) show(`${server} cannot be reached (${status}): ${reason}`);
    else if (before !== null) {
      const figures = figuresBetween(before, now);
      history.push(figures.perSecond);
      if (history.length > HISTORY) history.shift();
      show(
        drawFrame({ server, roundTrip, figures, history, hasColours: isTerminal && !process.env.NO_COLOR }),
      );
      frames++;
    }
    before = now;
    if (frames < mostFrames) await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
  return 0;
}

process.once("SIGINT", () => process.exit(0));
// The reader of the output may end first, as in `sluice top | head`.
process.stdout.once("error", () => process.exit(0));
leave(await watch());
