/** The declarations under every compiler and every way of finding modules that users have. */

import { execFile } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { Application, packPackage } from "./installed-package";
import { installTools } from "./installed-tools";

const run = promisify(execFile);
const home = join(checkoutDirectory(), "test", "package");
const VERSIONS = ["5.0", "5.4", "5.9", "6", "7"];
const isLong = process.env.SLUICE_LONG === "1";
const RESOLUTIONS = [
  { moduleResolution: "node10", module: "commonjs" },
  { moduleResolution: "node16", module: "node16" },
  { moduleResolution: "bundler", module: "esnext" },
];

/** All ways in the long run. Otherwise the oldest and the newest compiler have all, and those between them one each in turn. */
function resolutionsFor(version: string): readonly (typeof RESOLUTIONS)[number][] {
  const place = VERSIONS.indexOf(version);
  const isBetween = place > 0 && place < VERSIONS.length - 1;
  return isBetween && !isLong ? RESOLUTIONS.slice(place - 1, place) : RESOLUTIONS;
}

describe("declarations", function () {
  this.timeout(180_000);
  let application: Application;
  let tools: string;

  before(async () => {
    tools = await installTools();
    application = await Application.create({ ioredis: await packPackage() });
    const types = join(checkoutDirectory(), "node_modules", "@types", "node");
    cpSync(types, join(application.directory, "node_modules", "@types", "node"), { recursive: true });
    const undici = join(checkoutDirectory(), "node_modules", "undici-types");
    cpSync(undici, join(application.directory, "node_modules", "undici-types"), { recursive: true });
    cpSync(join(home, "fixtures", "consumer.ts"), join(application.directory, "consumer.ts"));
  });

  async function compile(version: string, options: Record<string, unknown>): Promise<string> {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: "es2022",
      lib: ["es2022"],
      esModuleInterop: true,
      ...options,
    };
    const name = `tsconfig.${version}.${String(options["moduleResolution"])}.json`;
    application.write(name, JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
    const installed =
      version === "7"
        ? join(checkoutDirectory(), "node_modules", "typescript", "bin", "tsc")
        : join(tools, "node_modules", `typescript-${version}`, "lib", "tsc.js");
    return run(process.execPath, [installed, "-p", name], { cwd: application.directory }).then(
      ({ stdout }) => stdout,
      (error: { stdout?: string; message: string }) => error.stdout || error.message,
    );
  }

  for (const version of VERSIONS) {
    it(`compile with TypeScript ${version}`, async () => {
      const compileWith = async (resolution: (typeof RESOLUTIONS)[number]): Promise<void> => {
        const isOld = resolution.moduleResolution === "node10";
        // TypeScript 7 has left it out.
        if (isOld && version === "7") return;
        const silence = isOld && version === "6" ? { ignoreDeprecations: "6.0" } : {};
        // Ambient types of nobody: the declarations themselves say that they need Node's.
        const options = { ...resolution, ...silence, types: [], skipLibCheck: !isOld && version !== "7" };
        expect(await compile(version, options), resolution.moduleResolution).to.equal("");
      };
      await Promise.all(resolutionsFor(version).map(compileWith));
    });
  }
});
