#!/usr/bin/env node
/** The command line of the package: `npx sluice top redis://host:6379`. */

const HELP = `sluice top [--once | --frames=N] [--interval=MS] [redis://host:6379]
    Shows what a running server does, a frame a second: commands, CPU, memory, round trip, slow calls.
    It never shows a key, a value or a password.

To move a project from ioredis or node-redis: npx sluice-migrate`;

const [command, ...words] = process.argv.slice(2);
if (command === "top") {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...words);
  await import("../built/top.mjs");
} else if (command === undefined || command === "help" || command === "--help") console.log(HELP);
else {
  console.error(`sluice has no command ${command}\n\n${HELP}`);
  process.exitCode = 1;
}
