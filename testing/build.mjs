/** Builds sluice-testing into testing/built. Its modules need nothing of the built client. */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { isStale, READABLE_CODE, writeDeclarations } from "../scripts/bundle.mjs";
import { checkout, mustRun, toolPath } from "../scripts/run-command.mjs";

const folder = join(checkout, "testing");
const source = join(folder, "src");
const built = join(folder, "built");
const declarations = join(checkout, "build", "declarations-of-test-kit");
const ENTRIES = ["index", "mock-of"];
const SHARED = "server";
/** The test kit includes a few modules of the client: the command table, key positions, slots. */
const inputs = [source, join(checkout, "src"), import.meta.filename];

function entries(directory, ending) {
  return Object.fromEntries(ENTRIES.map((name) => [name, join(directory, `${name}${ending}`)]));
}

export async function buildTestKit({ ifStale = false } = {}) {
  if (ifStale && !isStale(join(built, "index.js"), inputs)) return;
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const bundle = await rolldown({
    input: entries(source, ".ts"),
    cwd: checkout,
    platform: "node",
    external: [...Object.keys(dependencies), ...Object.keys(peerDependencies)],
    treeshake: { moduleSideEffects: false },
  });
  await bundle.write({
    ...READABLE_CODE,
    dir: built,
    chunkFileNames: "[name].js",
    codeSplitting: { groups: [{ name: SHARED, minShareCount: 1 }] },
  });
  await bundle.close();
}

export async function buildTestKitDeclarations({ ifStale = false } = {}) {
  if (ifStale && !isStale(join(built, "index.d.ts"), inputs)) return;
  rmSync(declarations, { recursive: true, force: true });
  const compiler = [toolPath("typescript", "tsc"), "-p", join(folder, "tsconfig.json")];
  await mustRun(process.execPath, [...compiler, "--emitDeclarationOnly"]);
  await writeDeclarations({
    dir: built,
    input: entries(join(declarations, "testing", "src"), ".d.ts"),
    chunkFileNames: "[name].d.ts",
    groups: [{ name: SHARED, minShareCount: 2 }],
  });
}
