/** Reads a line that MONITOR prints: `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`. */

export interface MonitorLine {
  /** Seconds and microseconds, `sec.usec`. */
  time: string;
  args: string[];
  /** `ip:port`, `lua` or `unix:path`. */
  source: string;
  database: string;
}

const HEAD = /^(\S+) \[(\d+) ([^\]]*)\]/;
const QUOTED = /"((?:[^"\\]|\\.)*)"/g;

export function parseMonitorLine(line: string): MonitorLine {
  const head = HEAD.exec(line);
  if (head === null) return { time: line, args: [], source: "", database: "" };
  const [whole, time, database, source] = head;
  const args = Array.from(line.slice(whole.length).matchAll(QUOTED), (match) =>
    (match[1] as string).replaceAll('\\"', '"'),
  );
  return { time: time as string, args, source: source as string, database: database as string };
}
