#!/usr/bin/env node
/** The command line of the package: `npx sluice demo` and `npx sluice top redis://host:6379`. */

const HELP = `sluice demo [--quick] [redis://host:6379]
    Measures single commands, explicit pipelines and automatic pipelining on a running server. It takes about
    30 s on an idle machine. With --quick, it takes 2 s, and the figures are rough. It writes 10,000 keys with the
    prefix "sluice:demo:" and removes them.

sluice top [--once | --frames=N] [--interval=MS] [redis://host:6379]
    Shows commands, CPU, memory, round trip and slow commands of a running server, once a second.
    It shows no keys, values or passwords.

To move a project from ioredis or node-redis, see docs/moving-from-ioredis.md or docs/moving-from-node-redis.md.`;
const PROGRAMS = { demo: "../built/demo/installed.js", top: "../built/top.mjs" };

const HELP_WORDS = ["help", "--help", "-h"];

function fail(message) {
  console.error(`${message}\n\n${HELP}`);
  process.exitCode = 1;
}

const [command = "help", ...words] = process.argv.slice(2);
if (HELP_WORDS.includes(command) || HELP_WORDS.includes(words[0])) console.log(HELP);
else if (!Object.hasOwn(PROGRAMS, command)) fail(`Unknown command: ${command}`);
else {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...words);
  try {
    await import(PROGRAMS[command]);
  } catch (error) {
    if (error.code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") throw error;
    fail(`Unknown option: ${/'([^']+)'/.exec(error.message)[1]}`);
  }
}
