/** For `--require`: SIGUSR2 sets the date of the process an hour ahead, as after a suspended system wakes up. */

const HOUR_MS = 3_600_000;
const realNow = Date.now;
let aheadMs = 0;

Date.now = () => realNow() + aheadMs;
process.on("SIGUSR2", () => {
  aheadMs += HOUR_MS;
});
