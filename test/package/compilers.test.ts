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
/** The latest version whose package has a language service that answers in this process. */
const EDITOR_VERSION = "5.9";
const RESOLUTIONS = [
  { moduleResolution: "node10", module: "commonjs" },
  { moduleResolution: "node16", module: "node16" },
  { moduleResolution: "bundler", module: "esnext" },
];

interface LanguageService {
  getQuickInfoAtPosition(
    file: string,
    position: number,
  ): { documentation?: readonly { text: string }[] } | undefined;
}

/** The part of the compiler's interface that an editor uses for its hovers. */
interface Compiler {
  createLanguageService(host: object): LanguageService;
  ScriptSnapshot: { fromString(text: string): object };
  sys: { readFile(path: string): string | undefined; readonly useCaseSensitiveFileNames: boolean };
  getDefaultLibFilePath(options: object): string;
}

/** What an editor shows at each name of a member that is called, in the order of the text. */
function hovers(compiler: Compiler, file: string, text: string): string[] {
  const { ScriptSnapshot, sys } = compiler;
  const service = compiler.createLanguageService({
    ...sys,
    useCaseSensitiveFileNames: () => sys.useCaseSensitiveFileNames,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (path: string) => {
      const content = path === file ? text : sys.readFile(path);
      return content === undefined ? undefined : ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => join(file, ".."),
    getCompilationSettings: () => ({ strict: true, skipLibCheck: true, types: ["node"] }),
    getDefaultLibFileName: (options: object) => compiler.getDefaultLibFilePath(options),
  });
  return [...text.matchAll(/\.(\w+)\(/g)].map(({ index }) => {
    const parts = service.getQuickInfoAtPosition(file, index + 1)?.documentation ?? [];
    return parts.map(({ text: part }) => part).join("");
  });
}

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

  it("say in an editor what a member does", () => {
    const compiler: Compiler = require(join(tools, "node_modules", `typescript-${EDITOR_VERSION}`));
    const text = [
      'import { Cluster, Redis } from "ioredis";',
      "declare const redis: Redis, cluster: Cluster;",
      "const first = redis.pipeline(), second = redis.multi();",
      "first.exec();",
      "second.exec();",
      "redis.exec();",
      'redis.on("ready", () => {});',
      'cluster.on("ready", () => {});',
      'redis.once("ready", () => {});',
    ].join("\n");
    const shown = hovers(compiler, join(application.directory, "hovers.ts"), text);
    const [, , first, second, byHand, on, clusterOn, once] = shown;
    for (const one of [first, second]) expect(one).to.match(/^Sends all queued commands/);
    expect(byHand).to.match(/^Runs the transaction opened by `multi\(\{ pipeline: false \}\)`/);
    for (const one of [on, clusterOn]) expect(one).to.match(/^Calls the listener for each event/);
    expect(once).to.match(/^Calls the listener for the next event/);
  });
});
