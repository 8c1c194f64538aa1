/**
 * The worker thread behind `sendCrowd`: so many keep-alive connections, each with one request
 * on its way at a time. Every answer is compared with what it must be.
 */

import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { expectedValueOf, keyOf } from "./dataset";
import type { CrowdOptions, CrowdReport } from "./http-service";

const REPORT_EVERY = 1_000;

const { port, requests, connections } = workerData as CrowdOptions;
let asked = 0;
let answered = 0;

function report(isDone: boolean): void {
  const message: CrowdReport = { answered, isDone };
  parentPort?.postMessage(message);
}

function checkAnswer(text: string, index: number): void {
  if (text.startsWith("HTTP/1.1 200 ") && text.endsWith(`\r\n\r\n${expectedValueOf(index)}`)) return;
  throw new Error(`Wrong answer to request ${index}: ${text}`);
}

/** Length of the whole answer at the beginning of `text`, or NaN while its head is incomplete. */
function lengthOf(text: string): number {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return Number.NaN;
  return headEnd + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1]);
}

function visit(): void {
  const socket = connect(port, "127.0.0.1");
  socket.setNoDelay(true).setEncoding("latin1");
  let index = 0;
  let received = "";
  const ask = (): void => {
    if (asked === requests) {
      socket.end();
      return;
    }
    index = asked++;
    socket.write(`GET /?key=${encodeURIComponent(keyOf(index))} HTTP/1.1\r\nHost: demo\r\n\r\n`);
  };
  socket.on("connect", ask);
  socket.on("data", (piece) => {
    received += piece;
    if (received.length < lengthOf(received) || Number.isNaN(lengthOf(received))) return;
    checkAnswer(received, index);
    received = "";
    answered++;
    if (answered === requests) report(true);
    else if (answered % REPORT_EVERY === 0) report(false);
    ask();
  });
}

for (let count = 0; count < connections; count++) visit();
