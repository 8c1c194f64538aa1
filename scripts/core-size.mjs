/**
 * Counts the lines of code and the tuned constants of the core, and names its long files.
 *
 *   node scripts/core-size.mjs [--constants]     the option lists each counted constant
 *
 * The core is `src` without generated tables, observers (otel) and features that the client works without. A
 * feature has a folder of its own. A line of code is a line that is neither blank nor only a comment. A
 * constant is tuned if a developer chose its number: not a fact of a protocol or the platform, not the
 * default of an option, which docs/options.md documents, and not computed from other constants.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

const root = join(import.meta.dirname, "..", "src");

/** Folders outside the core, with what is in them. */
const OUTSIDE = {
  "command/generated": "generated",
  "modules/generated": "generated",
  otel: "observers",
  bundles: "features",
  "client/consumers": "features",
  "client/failover": "features",
  "client/leases": "features",
  "client/locks": "features",
  "client/maintenance": "features",
  "client/replicas": "features",
  "client/streaming": "features",
  "client/whole-cluster": "features",
  credentials: "features",
  failover: "features",
  leases: "features",
  maintenance: "features",
  modules: "features",
  replicas: "features",
  streaming: "features",
  with: "features",
};

/** Files of character codes and other constants that protocols give. */
const FACT_FILES = ["protocol/ascii.ts"];
/** Constants whose value a protocol, the engine or the layout of data gives. */
const FACTS = new Set([
  "BYTES_PER_UNIT",
  "EXACT_DIGITS",
  "EXPONENT_FROM",
  "FIFTH",
  "GOLDEN",
  "HIDDEN",
  "HIGHEST_PORT",
  "LONGEST_TIMER_MS",
  "MAX_BULK_BYTES",
  "MAX_ELEMENTS",
  "MAX_FRAMING_BYTES",
  "MAX_HOST_LENGTH",
  "MAX_INTEGER_DIGITS",
  "MAX_LENGTH_TOKEN",
  "MEBIBYTE",
  "OPENING_BRACE",
  "SLOT_COUNT",
  "TLS_ALERT",
  "TLS_HANDSHAKE",
  "VERBATIM_TAG_BYTES",
  "WORD_BYTES",
]);

const CONSTANT = /^(?:export )?const ([A-Z][A-Z0-9_]+)(?:: \w+)? = ([^;]*);/gm;
/** Numbers, operators and spaces. Negative numbers mark the absence of a value. */
const NUMBER = /^[\d(.][\dxa-fA-F_.\s()*+/-]*$/;
const LONG_FILE = 600;

function codeLines(text) {
  const withoutComments = text.replaceAll(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, "").replaceAll(/^\s*\/\/.*$/gm, "");
  return withoutComments.split("\n").filter((line) => line.trim() !== "").length;
}

function tunedConstants(path, text) {
  if (FACT_FILES.includes(path)) return [];
  return [...text.matchAll(CONSTANT)]
    .filter(([, name, value]) => NUMBER.test(value) && !name.startsWith("DEFAULT_"))
    .filter(([, name]) => !FACTS.has(name))
    .map(([, name, value]) => `${path} ${name} = ${value}`);
}

function partOf(path) {
  const folder = Object.keys(OUTSIDE).find((one) => path.startsWith(`${one}/`));
  return folder === undefined ? "core" : OUTSIDE[folder];
}

const lines = { core: 0, features: 0, observers: 0, generated: 0 };
const all = { ...lines };
const constants = [];
const long = [];
for (const name of readdirSync(root, { recursive: true, encoding: "utf8" })) {
  const path = name.split(sep).join("/");
  if (!path.endsWith(".ts")) continue;
  const text = readFileSync(join(root, name), "utf8");
  const part = partOf(path);
  const length = text.split("\n").length - 1;
  lines[part] += codeLines(text);
  all[part] += length;
  if (part === "core") constants.push(...tunedConstants(path, text));
  if (part !== "generated" && length > LONG_FILE) long.push(`${path} ${length}`);
}
for (const [part, count] of Object.entries(lines))
  console.log(
    `${part.padEnd(10)} ${String(count).padStart(6)} lines of code, ${String(all[part]).padStart(6)} with comments`,
  );
console.log(`tuned constants of the core: ${constants.length}`);
console.log(`files over ${LONG_FILE} lines: ${long.join(", ") || "none"}`);
if (process.argv.includes("--constants")) console.log(constants.sort().join("\n"));
