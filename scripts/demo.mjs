/** Installs and builds what is missing, then runs the demo. Needs nothing but Node and npm. */

import { join } from "node:path";
import { checkout, ensureInstalled, mustRun, run, toolPath } from "./run-command.mjs";

await ensureInstalled();
console.log("Building ...");
await mustRun(process.execPath, [join("scripts", "build.mjs")]);
await mustRun(process.execPath, [toolPath("typescript", "tsc"), "-p", join("demo", "tsconfig.json")]);
const demo = join(checkout, "build", "demo", "demo.js");
process.exitCode = (await run(process.execPath, ["--disable-warning=ExperimentalWarning", demo])) ?? 1;
