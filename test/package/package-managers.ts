/** npm, pnpm and both Yarns as users run them, with the overrides that the documentation names for each. */

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/**
 * Names that the scripts of an enclosing `npm test` hand down would change what is installed where, and with `CI` the
 * package managers refuse to change a lock file.
 */
export const cleanEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) =>
      !/^(?:npm_(?!config_registry)|NODE_V8_COVERAGE|NODE_ENV|INIT_CWD|CI$|CONTINUOUS_INTEGRATION$)/i.test(
        name,
      ),
  ),
);

export interface PackageManager {
  readonly name: string;
  readonly args: readonly string[];
  /** Writes the override of the documentation. */
  override(directory: string, manifest: Record<string, unknown>, target: string): void;
  /** Beside package.json, from the beginning. */
  readonly files?: Readonly<Record<string, string>>;
  /** To be removed before an override that is added later is seen. */
  readonly forgotten?: readonly string[];
}

function inManifest(field: string, value?: string) {
  return (directory: string, manifest: Record<string, unknown>, target: string): void => {
    const text = JSON.stringify({ ...manifest, [field]: { ioredis: value ?? target } });
    writeFileSync(join(directory, "package.json"), text);
  };
}

const quiet = ["install", "--ignore-scripts"];

export const packageManagers: readonly PackageManager[] = [
  {
    name: "npm",
    args: [...quiet, "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"],
    override: inManifest("overrides", "$ioredis"),
    forgotten: ["node_modules", "package-lock.json"],
  },
  {
    name: "pnpm",
    args: [...quiet, "--prefer-offline"],
    // Instrumentations know a package by its folder, which is named by the alias only in this layout.
    override: (directory, { dependencies }) => {
      const layout = "@opentelemetry/api" in (dependencies as object) ? "nodeLinker: hoisted\n" : "";
      const text = `${layout}overrides:\n  ioredis: "$ioredis"\n`;
      writeFileSync(join(directory, "pnpm-workspace.yaml"), text);
    },
  },
  { name: "yarn", args: [...quiet, "--silent"], override: inManifest("resolutions") },
  {
    name: "@yarnpkg/cli-dist",
    args: ["install"],
    override: inManifest("resolutions"),
    files: {
      "yarn.lock": "",
      ".yarnrc.yml": "nodeLinker: node-modules\nenableTelemetry: false\nenableScripts: false\n",
    },
  },
];

const SCRIPTS: Readonly<Record<string, string>> = {
  pnpm: join("pnpm", "bin", "pnpm.cjs"),
  yarn: join("yarn", "bin", "yarn.js"),
  "@yarnpkg/cli-dist": join("@yarnpkg", "cli-dist", "bin", "yarn.js"),
};

/** Runs the manager's installation; `tools` is the directory of installTools(). */
export async function installWith({ name, args }: PackageManager, cwd: string, tools: string): Promise<void> {
  const script = SCRIPTS[name];
  const options = { cwd, env: cleanEnvironment };
  if (script === undefined) await run("npm", [...args], options);
  else await run(process.execPath, [join(tools, "node_modules", script), ...args], options);
}
