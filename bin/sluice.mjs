#!/usr/bin/env node
/** The command line of the package: `npx sluice demo` and `npx sluice top redis://host:6379`. */

const HELP = `sluice demo [--quick] [redis://host:6379]
    Measures single commands, explicit pipelines and automatic pipelining on a running server. Takes about
    30 s, with --quick 2 s. It writes 10,000 keys with the prefix "sluice:demo:" and removes them.

sluice top [--once | --frames=N] [--interval=MS] [redis://host:6379]
    Shows a running server, one frame a second: commands, CPU, memory, round trip, slow commands.
    It never shows keys, values or passwords.

To move a project from ioredis or node-redis: npx sluice-migrate`;
const PROGRAMS = { demo: "../built/demo/installed.js", top: "../built/top.mjs" };

const [command, ...words] = process.argv.slice(2);
if (Object.hasOwn(PROGRAMS, command)) {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...words);
  await import(PROGRAMS[command]);
} else if (command === undefined || command === "help" || command === "--help") console.log(HELP);
else {
  console.error(`sluice has no command ${command}\n\n${HELP}`);
  process.exitCode = 1;
}
