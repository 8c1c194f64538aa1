/**
 * The words that `npm test -- ...` understands:
 *
 *   unit fault ...               groups; without any, all of them
 *   test/fault/soak.test.ts ...  files, run at once and with nothing around them
 *   -g "words"                   only tests whose full name has them
 *   --servers=redis,valkey       kinds of server, as SLUICE_SERVERS
 *   --protocol=3                 one side of the matrix: 2 or 3
 *   --auto-pipelining=on         another: on or off
 *   --reply-mapping=legacy       another: legacy or resp3
 *   --repeat=N                   the groups or files N times, until the first run that fails
 *   --lanes=1                    one group after the other instead of three side by side
 *   --long                       more of everything: ten times what must not fail once, other Node versions, Bun, Deno
 *   --coverage                   the coverage file by file
 */

import { isAbsolute, relative } from "node:path";
import { checkout } from "./run-command.mjs";

/** Sides of the matrix: read by test/support by these names from the environment. */
const CHOICES = {
  "--servers": { variable: "SLUICE_SERVERS", values: /^[\w,-]+$/ },
  "--protocol": { variable: "SLUICE_PROTOCOL", values: /^[23]$/ },
  "--auto-pipelining": { variable: "SLUICE_AUTO_PIPELINING", values: /^(?:on|off)$/ },
  "--reply-mapping": { variable: "SLUICE_REPLY_MAPPING", values: /^(?:legacy|resp3)$/ },
};

function fail(message) {
  console.error(message);
  process.exit(1);
}

function choose(name, value, { variable, values }) {
  if (value === undefined || !values.test(value)) fail(`${name}= does not take ${value ?? "nothing"}`);
  process.env[variable] = value;
}

function testFile(word) {
  const path = isAbsolute(word) ? relative(checkout, word) : word;
  return path.replaceAll("\\", "/").replace(/^\.\//, "");
}

/**
 * @param {readonly string[]} words
 * @param {readonly string[]} groups the names that are known
 * @returns {{ groups: string[], files: string[], repeats: number, lanes: number, isLong: boolean, hasDetails: boolean, grep?: string }}
 */
export function readOptions(words, groups) {
  const found = {
    groups: [],
    files: [],
    repeats: 1,
    lanes: 3,
    isLong: false,
    hasDetails: false,
    grep: undefined,
  };
  for (let index = 0; index < words.length; index++) {
    const word = words[index];
    const [name, value] = word.startsWith("--") ? word.split(/=(.*)/s) : [word];
    if (name in CHOICES) choose(name, value, CHOICES[name]);
    else if (name === "-g" || name === "--grep") found.grep = value ?? words[++index];
    else if (name === "--repeat") found.repeats = Number(value);
    else if (name === "--lanes") found.lanes = Number(value);
    else if (name === "--long") found.isLong = true;
    else if (name === "--coverage") found.hasDetails = true;
    else if (word.endsWith(".test.ts")) found.files.push(testFile(word));
    else if (groups.includes(word)) found.groups.push(word);
    else fail(`There is no group or option ${word}; groups are ${groups.join(", ")}`);
  }
  if (!Number.isInteger(found.repeats) || found.repeats < 1) fail("--repeat= wants a number of runs");
  if (!Number.isInteger(found.lanes) || found.lanes < 1) fail("--lanes= wants a number of groups");
  return found;
}
