/**
 * A worker that steps through the main thread with the debugger and notes which functions of the
 * client it enters. It sees what runs, inlined or not, and changes nothing in the code under test.
 *
 * Messages to it: "start" (answered with "started") and "stop" (answered with the entries).
 */

import { readFileSync } from "node:fs";
import { Session } from "node:inspector";
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";

const session = new Session();
session.connectToMainThread();

/** Script id to path below `src`, without its ending; null for code of others. */
const paths = new Map();
/** Script id to the line at which its own code begins: before it are the compiler's getters of exports. */
const beginnings = new Map();
let isRecording = false;
let entries = [];
/** Call frames at the last stop: one name each, innermost last. */
let frames = [];

session.on("Debugger.scriptParsed", ({ params }) => {
  const at = params.url.indexOf(workerData.directory);
  const isOwn = at >= 0 && params.url.endsWith(".js");
  paths.set(params.scriptId, isOwn ? params.url.slice(at + workerData.directory.length + 1, -3) : null);
  if (!isOwn) return;
  const file = params.url.startsWith("file:") ? fileURLToPath(params.url) : params.url;
  const lines = readFileSync(file, "utf8").split("\n");
  beginnings.set(
    params.scriptId,
    lines.findIndex((line) => line.startsWith("module.exports = ")),
  );
});

session.on("Debugger.paused", ({ params }) => {
  if (!isRecording) {
    session.post("Debugger.resume");
    return;
  }
  const now = [];
  for (const frame of params.callFrames.toReversed()) {
    const { scriptId, lineNumber, columnNumber } = frame.functionLocation ?? frame.location;
    const path = paths.get(scriptId);
    if (path == null || lineNumber < beginnings.get(scriptId)) continue;
    now.push({
      key: `${scriptId}:${lineNumber}:${columnNumber}`,
      path,
      name: frame.functionName || "(anonymous)",
    });
  }
  let shared = 0;
  while (shared < now.length && shared < frames.length && now[shared].key === frames[shared].key) shared++;
  for (let depth = shared; depth < now.length; depth++) {
    entries.push({ depth, path: now[depth].path, name: now[depth].name });
  }
  frames = now;
  session.post("Debugger.stepInto");
});

session.post("Debugger.enable");
// Functions of the refresher wait: the debugger would follow its `await` and miss what comes meanwhile.
const REFRESHER = "/build/src/cluster/refresher";
session.post("Debugger.setBlackboxPatterns", {
  patterns: [
    "^node:",
    "node_modules",
    "/build/(test|scripts|benchmarks)/",
    "/scripts/call-trace/",
    REFRESHER,
  ],
});

parentPort.on("message", (message) => {
  if (message === "start") {
    entries = [];
    frames = [];
    isRecording = true;
    session.post("Debugger.pause", () => parentPort.postMessage("started"));
  } else {
    isRecording = false;
    parentPort.postMessage(entries);
  }
});
parentPort.postMessage("ready");
