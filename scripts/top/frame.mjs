/** Draws one frame of the view, as text. */

import asciichart from "asciichart";

const CHART_HEIGHT = 6;
const NAME_WIDTH = 18;
const STEPS = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytes(value) {
  let step = 0;
  for (; value >= 1024 && step < STEPS.length - 1; step++) value /= 1024;
  return `${value.toFixed(step === 0 ? 0 : 1)} ${STEPS[step]}`;
}

function count(value) {
  return Math.round(value).toLocaleString("en-US");
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function milliseconds(value) {
  return value === null ? "-" : `${value.toFixed(2)} ms`;
}

function right(text, width) {
  return String(text).padStart(width);
}

/** @returns {string} */
export function drawFrame({ server, roundTrip, figures, history, hasColours }) {
  const bold = (text) => (hasColours ? `\u001b[1m${text}\u001b[0m` : text);
  const lines = [
    bold(`${server}  ${figures.version}  ${figures.role}`),
    "",
    `commands/s       ${right(count(figures.perSecond), 12)}    commands per read ${right(figures.perRead?.toFixed(1) ?? "-", 10)}`,
    `CPU of the server${right(percent(figures.cpu), 12)}    round trip, p99   ${right(milliseconds(roundTrip.p99Ms), 10)}`,
    `received/s       ${right(bytes(figures.bytesIn), 12)}    sent/s            ${right(bytes(figures.bytesOut), 10)}`,
    `clients, blocked ${right(`${figures.clients}, ${figures.blocked}`, 12)}    memory            ${right(bytes(figures.memory), 10)}`,
    `input buffer, max${right(bytes(figures.largestInput), 12)}    output buffer, max${right(bytes(figures.largestOutput), 10)}`,
  ];
  if (figures.evicted > 0) lines.push(`evicted/s        ${right(count(figures.evicted), 12)}`);
  if (history.length > 1) {
    const format = (value) => right(count(value), 12);
    lines.push("", bold("commands/s"), asciichart.plot(history, { height: CHART_HEIGHT, format }));
  }
  lines.push("", bold("server time by command"), ...busyLines(figures.busiest));
  lines.push("", bold("slow commands (SLOWLOG)"), ...slowLines(figures.slow));
  lines.push("", bold("events (LATENCY)"), ...latencyLines(figures.latency));
  return lines.join("\n");
}

function busyLines(busiest) {
  if (busiest === null) return ["  no permission"];
  if (busiest.length === 0) return ["  none"];
  return busiest.map(
    ({ name, perSecond, share, microsEach }) =>
      `  ${name.padEnd(NAME_WIDTH)}${right(count(perSecond), 10)}/s ${right(percent(share), 8)} of a core ${right(microsEach.toFixed(1), 8)} µs each`,
  );
}

function slowLines(slow) {
  if (slow === null) return ["  no permission"];
  if (slow.length === 0) return ["  none"];
  return slow.map(
    ({ at, ms, name, count: size }) =>
      `  ${timeOf(at)}  ${name.padEnd(NAME_WIDTH)}${right(milliseconds(ms), 12)}  ${size} arguments`,
  );
}

function latencyLines(latency) {
  if (latency === null) return ["  no permission"];
  if (latency.length === 0) return ["  none (to enable: CONFIG SET latency-monitor-threshold 100)"];
  return latency.map(
    ({ event, at, lastMs, mostMs }) =>
      `  ${timeOf(at)}  ${event.padEnd(NAME_WIDTH)}${right(`${lastMs} ms`, 12)}  at most ${mostMs} ms`,
  );
}

function timeOf(seconds) {
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}
