/**
 * The packed tarball as users get it: packed from the checkout, installed by npm into an
 * application directory of its own, under its name or under another one.
 */

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";

const run = promisify(execFile);
const NPM_OPTIONS = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];

export interface PackedFile {
  readonly path: string;
  readonly size: number;
}

export interface Tarball {
  readonly path: string;
  readonly files: readonly PackedFile[];
}

/** Packs the client as it was built last. */
export function packPackage(): Promise<Tarball> {
  return pack(checkoutDirectory());
}

/** Packs sluice-testing as it was built last. */
export function packTestKit(): Promise<Tarball> {
  return pack(join(checkoutDirectory(), "testing"));
}

/** Packs sluice-migrate as it was built last. */
export function packMigration(): Promise<Tarball> {
  return pack(join(checkoutDirectory(), "migrate"));
}

const packed = new Map<string, Promise<Tarball>>();

/** Once in a process: nothing is built in between. */
function pack(folder: string): Promise<Tarball> {
  const tarball = packed.get(folder) ?? packNow(folder);
  packed.set(folder, tarball);
  return tarball;
}

async function packNow(folder: string): Promise<Tarball> {
  const directory = temporaryDirectory();
  const options = ["pack", "--json", "--ignore-scripts", "--pack-destination", directory];
  const { stdout } = await run("npm", options, { cwd: folder });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: PackedFile[] }];
  return { path: join(directory, filename), files };
}

/** The manifests and node_modules that npm has made, by the dependencies. */
const installed = new Map<string, Promise<string>>();

function install(dependencies: Readonly<Record<string, string>>): Promise<string> {
  const manifest = JSON.stringify({ private: true, dependencies });
  const directory = installed.get(manifest) ?? installNow(manifest);
  installed.set(manifest, directory);
  return directory;
}

async function installNow(manifest: string): Promise<string> {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "package.json"), manifest);
  await run("npm", ["install", ...NPM_OPTIONS], { cwd: directory });
  return directory;
}

export class Application {
  readonly directory = temporaryDirectory();

  private constructor() {}

  /** An application that depends on the tarballs under the given names. */
  static async create(tarballs: Readonly<Record<string, Tarball>>): Promise<Application> {
    const application = new Application();
    const dependencies = Object.fromEntries(
      Object.entries(tarballs).map(([name, { path }]) => [name, `file:${path}`]),
    );
    // Links of node_modules/.bin are relative, and stay so.
    cpSync(await install(dependencies), application.directory, { recursive: true, verbatimSymlinks: true });
    return application;
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.directory, path, ".."), { recursive: true });
    writeFileSync(join(this.directory, path), text);
  }

  /** Runs a program of the application; what it writes as its last line, read as JSON. */
  async evaluate(fileName: string, code: string, env: Record<string, string> = {}): Promise<unknown> {
    this.write(fileName, code);
    const options = { cwd: this.directory, env: { ...process.env, NODE_V8_COVERAGE: "", ...env } };
    const { stdout } = await run(process.execPath, [fileName], options);
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "null");
  }

  /** Compiles the application; the errors, one a line, or an empty string. */
  async compile(compilerOptions: Record<string, unknown>, files: readonly string[]): Promise<string> {
    const typesDirectory = join(checkoutDirectory(), "node_modules", "@types");
    const options = {
      strict: true,
      noEmit: true,
      target: "es2022",
      typeRoots: [typesDirectory],
      types: ["node"],
    };
    this.write(
      "tsconfig.json",
      JSON.stringify({ compilerOptions: { ...options, ...compilerOptions }, files }),
    );
    const compiler = join(checkoutDirectory(), "node_modules", "typescript", "bin", "tsc");
    return run(process.execPath, [compiler, "-p", "tsconfig.json"], { cwd: this.directory }).then(
      ({ stdout }) => stdout,
      (error: { stdout?: string; message: string }) => error.stdout || error.message,
    );
  }
}
