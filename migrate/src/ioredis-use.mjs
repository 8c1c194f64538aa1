/** Finds the places of a program at which sluice behaves differently from ioredis. */

import { readFileSync } from "node:fs";

/** The public sub-paths of sluice, which the build lists. */
const { subpaths } = JSON.parse(readFileSync(new URL("../built/client.json", import.meta.url), "utf8"));

const RULES = [
  {
    pattern: /\bnew\s+(?:\w+\.)?Cluster\s*\(/g,
    text: "a cluster: pipelines may have any keys, transactions are whole on one node, multi({ pipeline: false }) rejects",
    link: "differences.md#cluster",
    needsClient: true,
  },
  {
    pattern: /\bmulti\(\s*\{\s*pipeline:\s*false/g,
    text: "a transaction without a pipeline: it rejects on a cluster",
    link: "differences.md#cluster",
  },
  {
    pattern: /\b(?:offlineQueue|commandQueue|dropBufferSupport|parser)\s*:/g,
    text: "an option without effect in sluice",
    link: "options.md#internal-or-without-effect",
    needsClient: true,
  },
  {
    pattern: /\bautoResendUnfulfilledCommands\s*:\s*false/g,
    text: "written commands reject with code OUTCOME_UNKNOWN instead of never settling",
    link: "differences.md#after-a-lost-connection",
  },
  {
    pattern: /\breconnectOnError\b/g,
    text: "reconnectOnError: for the error of a command in a transaction, 2 reconnects and does not send it again",
    link: "differences.md#after-a-lost-connection",
  },
  {
    pattern: /\benableAutoPipelining\b(?!\s*:\s*false\b)/g,
    text: "enableAutoPipelining: commands of unrelated callers share writes without this option. Try without it and measure",
    link: "auto-pipelining.md#choosing-a-setting",
  },
  {
    pattern: /\bcommandTimeout\s*:/g,
    text: "commandTimeout does not end blocking commands (BLPOP, XREAD BLOCK). Set blockingTimeout for them",
    link: "differences.md#connection",
    needsClient: true,
  },
  {
    pattern: /\bsentinels\s*:/g,
    text: "the failover detector is on by default",
    link: "differences.md#sentinel",
  },
  {
    pattern: /["'](?:ioredis-mock)["']|\.mock\(\s*["']ioredis["']/g,
    text: "a mock of ioredis continues to work. sluice-testing/mock replies like a real server",
    link: "../testing/docs/testing-your-service.md",
  },
  {
    pattern: /\bioredis:\*|DEBUG=["']?ioredis\b/g,
    text: "the namespaces of debug output begin with sluice:",
    link: "tracing.md#debug-output",
  },
];
const IMPORT =
  /(?:from\s*|require\(\s*|import\(\s*|import\s+|declare\s+module\s+)["'](ioredis(?:\/[^"']*)?)["']/g;
const CLIENT_OF_FILE = /["']ioredis(?:\/[^"']*)?["']/;

function lineAt(text, index) {
  return text.slice(0, index).split("\n").length;
}

function isPublic(path) {
  const subpath = `.${path.slice("ioredis".length)}`;
  return subpaths.includes(subpath);
}

function checkImports(file, text, plan) {
  for (const match of text.matchAll(IMPORT)) {
    const [, path] = match;
    if (path === "ioredis" || isPublic(path)) continue;
    const line = lineAt(text, match.index);
    const what = `${path} is private in sluice: import its names from "ioredis"`;
    plan.notes.push({ file, line, text: what, link: "moving-from-ioredis.md#compatibility" });
  }
}

export function findIoredisUse(project, plan) {
  for (const file of [...project.sources, ...project.others, "package.json"]) {
    const text = project.read(file);
    checkImports(file, text, plan);
    const isOfClient = CLIENT_OF_FILE.test(text);
    for (const { pattern, text: note, link, needsClient = false } of RULES) {
      if (needsClient && !isOfClient) continue;
      if (file === "package.json" && !/DEBUG/.test(text)) continue;
      for (const { index } of text.matchAll(pattern)) {
        plan.notes.push({ file, line: lineAt(text, index), text: note, link });
      }
    }
  }
}
