/** `sluice-migrate` on projects of each package manager, on calls of node-redis, and (long) on published programs. */

import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { packPackage } from "./installed-package";
import { installTools } from "./installed-tools";
import { cleanEnvironment as env, installWith, packageManagers } from "./package-managers";

const run = promisify(execFile);
const root = checkoutDirectory();
const program = join(root, "migrate", "sluice-migrate.mjs");
const isLong = process.env.SLUICE_LONG === "1";
/** Published programs on either client, at the versions that were tried. */
const PUBLISHED = [
  "@keyv/redis@5.1.6",
  "redis-om@0.4.7",
  "cache-manager-redis-yet@5.1.5",
  "@langchain/redis@1.1.2",
  "connect-redis@9.0.0",
  "bentocache@1.6.1",
  "@fastify/redis@7.2.0",
  "redis-rank@2.2.3",
  "graphql-redis-subscriptions@2.7.0",
  "unstorage@1.17.6",
  "@adonisjs/redis@9.2.0",
  "apollo-server-cache-redis@3.3.1",
];

interface Plan {
  readonly edits: { readonly file: string; readonly after: string }[];
  readonly removals: string[];
  readonly notes: {
    readonly text: string;
    readonly link: string;
    readonly file?: string;
    readonly line?: number;
  }[];
}

function project(files: Readonly<Record<string, unknown>>): string {
  const directory = temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

/** The specifier of a published version, which the tool of a checkout does not choose itself. */
const PUBLISHED_SPEC = ["--spec", "^6.0.0"];

async function migrate(directory: string, ...args: string[]): Promise<Plan> {
  const { stdout } = await run(process.execPath, [program, directory, "--json", ...args]);
  return JSON.parse(stdout) as Plan;
}

function editOf(plan: Plan, file: string): string {
  return plan.edits.find((edit) => edit.file === file)?.after ?? "";
}

const MANIFEST = { private: true, dependencies: { bullmq: "5.81.5", ioredis: "^5.4.1" } };
const NPM_LOCK = {
  lockfileVersion: 3,
  packages: {
    "": MANIFEST,
    "node_modules/bullmq": { version: "5.81.5", dependencies: { ioredis: "5.11.1" } },
    "node_modules/bullmq/node_modules/ioredis": { version: "5.11.1" },
    "node_modules/ioredis": { version: "5.9.2" },
    "node_modules/left": { version: "1.0.0" },
  },
};
const PNPM_LOCK = `lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      ioredis:
        specifier: ^5.4.1
        version: 5.11.1
snapshots:
  bullmq@5.81.5:
    dependencies:
      ioredis: 5.11.1
  ioredis@5.11.1: {}
`;
const YARN_LOCK = `# yarn lockfile v1

bullmq@5.81.5:
  version "5.81.5"
  dependencies:
    ioredis "5.11.1"

ioredis@5.11.1, ioredis@^5.4.1:
  version "5.11.1"
`;
const BUN_LOCK = `{
  "packages": {
    "bullmq": ["bullmq@5.81.5", "", { "dependencies": { "ioredis": "5.11.1" } }, "sha512-x"],
    "ioredis": ["ioredis@5.11.1", "", {}, "sha512-x"],
  }
}
`;

describe("sluice-migrate", function () {
  this.timeout(300_000);
  let address: Record<string, string>;

  before(async () => {
    const { port } = await sharedServer(serverKinds()[0] ?? "redis");
    address = { REDIS_HOST: "127.0.0.1", REDIS_PORT: String(port) };
  });

  it("npm: line, override, and the entries of the lock file that would keep the old copies", async () => {
    const directory = project({ "package.json": MANIFEST, "package-lock.json": NPM_LOCK });
    const plan = await migrate(directory, ...PUBLISHED_SPEC);
    const manifest = JSON.parse(editOf(plan, "package.json")) as Record<string, Record<string, string>>;
    expect(manifest.dependencies).to.deep.equal({ bullmq: "5.81.5", ioredis: "npm:sluice@^6.0.0" });
    expect(manifest.overrides).to.deep.equal({ ioredis: "$ioredis" });
    const { packages } = JSON.parse(editOf(plan, "package-lock.json")) as { packages: object };
    expect(Object.keys(packages)).to.deep.equal(["", "node_modules/bullmq", "node_modules/left"]);
    expect(plan.removals).to.include("node_modules/bullmq/node_modules/ioredis");
    expect(plan.notes.map(({ text }) => text).join()).to.include("bullmq");
    expect(JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))).to.deep.equal(MANIFEST);
  });

  it("npm: no override where nothing else wants the client", async () => {
    const lock = { lockfileVersion: 3, packages: { "": {}, "node_modules/ioredis": { version: "6.0.0" } } };
    const plan = await migrate(
      project({ "package.json": MANIFEST, "package-lock.json": lock }),
      ...PUBLISHED_SPEC,
    );
    expect(plan.edits.map(({ file }) => file)).to.deep.equal(["package.json"]);
    expect(editOf(plan, "package.json")).to.not.include("overrides");
  });

  it("pnpm: overrides in the workspace file, beside what stands there", async () => {
    const files = { "package.json": MANIFEST, "pnpm-lock.yaml": PNPM_LOCK };
    const alone = await migrate(project(files), ...PUBLISHED_SPEC);
    expect(editOf(alone, "pnpm-workspace.yaml")).to.equal('overrides:\n  ioredis: "$ioredis"\n');
    const workspace = "packages:\n  - apps/*\noverrides:\n  left: 1.0.0\n";
    const beside = await migrate(project({ ...files, "pnpm-workspace.yaml": workspace }), ...PUBLISHED_SPEC);
    expect(editOf(beside, "pnpm-workspace.yaml")).to.equal(
      'packages:\n  - apps/*\noverrides:\n  ioredis: "$ioredis"\n  left: 1.0.0\n',
    );
  });

  it("yarn: the project itself, which Yarn 2 and later list in the lock file, is no package that wants the client", async () => {
    const lock = `"ioredis@npm:^5.4.1":
  version: 5.11.1

"root-workspace-0b6124@workspace:.":
  version: 0.0.0-use.local
  dependencies:
    ioredis: "npm:^5.4.1"
`;
    const plan = await migrate(project({ "package.json": MANIFEST, "yarn.lock": lock }), ...PUBLISHED_SPEC);
    expect(editOf(plan, "package.json")).to.not.include("resolutions");
    const bullmq = `"bullmq@npm:5.81.5":\n  dependencies:\n    ioredis: "npm:5.11.1"\n\n${lock}`;
    const other = await migrate(
      project({ "package.json": MANIFEST, "yarn.lock": bullmq }),
      ...PUBLISHED_SPEC,
    );
    expect(editOf(other, "package.json")).to.include("resolutions");
  });

  for (const [manager, file, lock, field] of [
    ["yarn", "yarn.lock", YARN_LOCK, "resolutions"],
    ["bun", "bun.lock", BUN_LOCK, "overrides"],
  ] as const) {
    it(`${manager}: ${field} with the same value`, async () => {
      const plan = await migrate(project({ "package.json": MANIFEST, [file]: lock }), ...PUBLISHED_SPEC);
      const manifest = JSON.parse(editOf(plan, "package.json")) as Record<string, Record<string, string>>;
      expect(manifest[field]).to.deep.equal({ ioredis: "npm:sluice@^6.0.0" });
      expect(plan.removals).to.deep.equal([]);
    });
  }

  for (const [manager, file, lock] of [
    ["npm", "package-lock.json", NPM_LOCK],
    ["pnpm", "pnpm-lock.yaml", PNPM_LOCK],
    ["yarn", "yarn.lock", YARN_LOCK],
    ["bun", "bun.lock", BUN_LOCK],
  ] as const) {
    it(`${manager}: a second run finds nothing to write, and keeps the version that was chosen`, async () => {
      const directory = project({ "package.json": MANIFEST, [file]: lock });
      const spec = "file:./sluice-6.0.0.tgz";
      const first = await migrate(directory, "--write", "--spec", spec);
      expect(first.edits).to.not.deep.equal([]);
      if (manager === "npm") {
        // As npm installs it: the copy of the program is the client under the old name, and no other one is left.
        const { packages } = JSON.parse(readFileSync(join(directory, file), "utf8")) as typeof NPM_LOCK;
        const installed = { ...packages, "node_modules/ioredis": { name: "sluice", version: "6.0.0" } };
        writeFileSync(join(directory, file), JSON.stringify({ lockfileVersion: 3, packages: installed }));
      }
      const second = await migrate(directory);
      expect({ edits: second.edits, removals: second.removals }).to.deep.equal({ edits: [], removals: [] });
      const { stdout } = await run(process.execPath, [program, directory]);
      expect(stdout).to.include("Nothing to write");
      const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as typeof MANIFEST;
      expect(manifest.dependencies.ioredis).to.equal(spec);
    });
  }

  describe("without --spec", () => {
    const NODE_REDIS = {
      "package.json": { private: true, dependencies: { redis: "^5.0.0" } },
      "main.js": 'const { createClient } = require("redis");\nconst client = createClient();\n',
    };
    const specOf = (plan: Plan, name: string): string | undefined =>
      (JSON.parse(editOf(plan, "package.json")) as typeof MANIFEST & { dependencies: Record<string, string> })
        .dependencies[name];

    it("takes the packed client in the folder of the project", async () => {
      const packed = { "sluice-6.0.0.tgz": "" };
      const ioredis = await migrate(project({ "package.json": MANIFEST, ...packed }));
      const nodeRedis = await migrate(project({ ...NODE_REDIS, ...packed }));
      const found = [specOf(ioredis, "ioredis"), specOf(nodeRedis, "sluice")];
      expect(found).to.deep.equal(["file:./sluice-6.0.0.tgz", "file:./sluice-6.0.0.tgz"]);
    });

    it("asks for it if there is none, and writes nothing", async () => {
      for (const files of [{ "package.json": MANIFEST }, NODE_REDIS]) {
        const directory = project(files);
        const failure = await migrate(directory, "--write").catch(({ stderr }) => stderr as string);
        expect(failure).to.include(`sluice-6.0.0.tgz is not in ${directory}`);
        expect(failure).to.include("--spec file:../sluice-6.0.0.tgz");
        expect(JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))).to.deep.equal(
          files["package.json"],
        );
      }
    });

    it("takes the version on the registry if it was published itself", async () => {
      const tool = join(temporaryDirectory(), "migrate");
      cpSync(join(root, "migrate"), tool, { recursive: true });
      const own = JSON.parse(readFileSync(join(tool, "package.json"), "utf8")) as object;
      const released = { ...own, homepage: "https://example.org/sluice#readme" };
      writeFileSync(join(tool, "package.json"), JSON.stringify(released));
      const directory = project({ "package.json": MANIFEST });
      const program = join(tool, "sluice-migrate.mjs");
      const { stdout } = await run(process.execPath, [program, directory, "--json"]);
      expect(specOf(JSON.parse(stdout) as Plan, "ioredis")).to.equal("npm:sluice@^6.0.0");
    });
  });

  it("asks which manager when there are lock files of two", async () => {
    const directory = project({ "package.json": MANIFEST, "yarn.lock": "", "package-lock.json": NPM_LOCK });
    const failure = await migrate(directory).then(
      () => "",
      ({ stderr }: { stderr: string }) => stderr,
    );
    expect(failure).to.include("--manager");
    expect((await migrate(directory, "--manager", "yarn", ...PUBLISHED_SPEC)).edits).to.have.length(1);
  });

  it("finds deep imports that are not public, cluster clients and options that differ, with their lines", async () => {
    const code = `import Redis from "ioredis";
import { isIoredis } from "ioredis/built/utils/isIoredis";
import type { RedisOptions } from "ioredis/built/redis/RedisOptions";
const cluster = new Redis.Cluster([], { redisOptions: { commandTimeout: 100 } });
`;
    const script = { ...MANIFEST, scripts: { start: "DEBUG=ioredis:* node main.js" } };
    const plan = await migrate(project({ "package.json": script, "src/main.ts": code }), ...PUBLISHED_SPEC);
    const places = plan.notes.map(({ file, line, text }) => `${file}:${line} ${text.slice(0, 24)}`);
    expect(places).to.include("src/main.ts:2 ioredis/built/utils/isIo");
    expect(places).to.include("src/main.ts:4 a cluster: pipelines may");
    expect(places).to.include("src/main.ts:4 commandTimeout does not ");
    expect(places.filter((place) => place.startsWith("package.json"))).to.have.length(1);
    expect(places.some((place) => place.startsWith("src/main.ts:3"))).to.equal(false);
  });

  it("names pages and sections that exist", async () => {
    const code = `import Redis from "ioredis";
import { isIoredis } from "ioredis/built/utils/isIoredis";
jest.mock("ioredis");
const cluster = new Redis.Cluster([], { redisOptions: { commandTimeout: 100 } });
const redis = new Redis({ sentinels: [], offlineQueue: false, autoResendUnfulfilledCommands: false });
redis.options = { reconnectOnError: () => 2, enableAutoPipelining: true };
redis.multi({ pipeline: false });
console.log("ioredis:*");
`;
    const files = { "package.json": MANIFEST, "package-lock.json": NPM_LOCK, "src/main.ts": code };
    const plan = await migrate(project(files), ...PUBLISHED_SPEC);
    const links = [...new Set(plan.notes.map(({ link }) => link))];
    expect(links).to.have.length.above(8);
    for (const link of links) {
      const [page = "", section] = link.split("#");
      const text = readFileSync(join(root, "docs", page), "utf8");
      const sections = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w -]/g, "")
          .replaceAll(" ", "-"),
      );
      if (section !== undefined) expect(sections, page).to.include(section);
    }
  });

  it("leaves a project without either client alone", async () => {
    const plan = await migrate(project({ "package.json": { private: true }, "main.js": "" }));
    expect(plan).to.deep.equal({ edits: [], removals: [], notes: [] });
  });

  it("rewrites a program of node-redis, which then compiles and does the same", async () => {
    const tools = await installTools();
    const fixture = readFileSync(
      join(root, "test", "package", "fixtures", "node-redis", "before.ts"),
      "utf8",
    );
    const directory = project({
      "package.json": { private: true, dependencies: { redis: "^5.0.0" } },
      "main.ts": fixture,
    });
    const modules = join(directory, "node_modules");
    mkdirSync(join(modules, "@types"), { recursive: true });
    for (const name of ["redis", "@redis", "@types/node", "undici-types", "cluster-key-slot"]) {
      const place = join(root, "node_modules", name);
      if (existsSync(place)) symlinkSync(place, join(modules, name));
    }
    symlinkSync(root, join(modules, "sluice"));
    const compiler = join(tools, "node_modules", "typescript-5.9");
    symlinkSync(compiler, join(modules, "typescript"));
    const output = async (): Promise<unknown> => {
      const options = ["main.ts", "--strict", "--skipLibCheck", "--target", "es2022", "--esModuleInterop"];
      const tsc = [join(compiler, "bin", "tsc"), ...options, "--module", "node16", "--types", "node"];
      await run(process.execPath, tsc, { cwd: directory }).catch(({ stdout }: { stdout: string }) => {
        throw new Error(stdout);
      });
      const where = { cwd: directory, env: { ...env, ...address } };
      return JSON.parse((await run(process.execPath, ["main.js"], where)).stdout);
    };
    const before = await output();
    const plan = await migrate(directory, "--write", ...PUBLISHED_SPEC);
    expect(readFileSync(join(directory, "main.ts"), "utf8")).to.equal(editOf(plan, "main.ts"));
    expect(editOf(plan, "main.ts")).to.not.match(/createClient|hSet|"redis"/);
    expect(await output()).to.deep.equal(before);
  });

  describe("a client of node-redis that several files use", () => {
    const STORE = `import { createClient, type RedisClientType } from "redis";
export const client = createClient({ url: process.env.REDIS_URL });
export async function getClient() {
  if (!client.isOpen) await client.connect();
  return client;
}
export async function open(isWanted: boolean): Promise<void> {
  if (isWanted) await client.connect();
  if (!client.isReady) { await client.connect(); }
  console.log(client.isOpen);
}
export type { RedisClientType };
`;
    const FILES = {
      "package.json": { private: true, dependencies: { redis: "^5.0.0" } },
      "lib/store.ts": STORE,
      "lib/index.ts": 'export * from "./store.js";\nexport { client as shared } from "./store.js";\n',
      "named.ts": 'import { client } from "./lib/store.js";\nawait client.hGetAll("a");\n',
      "space.ts": 'import * as store from "./lib/store";\nawait store.client.hGetAll("a");\n',
      "through.ts": 'import { shared } from "./lib";\nawait shared.zRangeWithScores("a", 0, -1);\n',
      "queue.ts": 'import { client } from "./lib/store.js";\nawait client.blPop("a", 1);\n',
      "getter.js":
        'const { getClient } = require("./lib/store");\nasync function f() {\n  const c = await getClient();\n  await c.hGetAll("a");\n}\n',
      "listener.ts":
        'import { client } from "./lib/store.js";\nawait client.subscribe("news", console.log);\n',
      "scan.ts":
        'import { client } from "./lib/store.js";\nfor await (const keys of client.scanIterator({ MATCH: "user:*", COUNT: 100 })) console.log(keys);\nfor await (const pairs of client.hScanIterator("h", { MATCH: "a*" })) console.log(pairs);\n',
      "score.ts":
        'import { client } from "./lib/store.js";\nconsole.log((await client.zScore("z", "a")) + 1);\nawait client.multi().exec();\n',
      "other.ts": 'import { client } from "./elsewhere.js";\nawait client.hGetAll("a");\n',
    };

    let directory: string;
    let plan: Plan;

    before(async () => {
      directory = project(FILES);
      mkdirSync(join(directory, "node_modules"));
      const compiler = join(await installTools(), "node_modules", "typescript-5.9");
      symlinkSync(compiler, join(directory, "node_modules", "typescript"));
      plan = await migrate(directory, "--write", ...PUBLISHED_SPEC);
    });

    it("is one in each of them, however it is imported", () => {
      for (const file of ["named.ts", "space.ts", "getter.js"]) {
        expect(editOf(plan, file), file).to.include('.hgetall("a")');
      }
      expect(plan.edits.some(({ file }) => file === "other.ts")).to.equal(false);
      const places = plan.notes.map(({ file, line, text }) => `${file}:${line} ${text.slice(0, 18)}`);
      expect(places).to.include("through.ts:2 zRangeWithScores()");
      expect(places).to.include("lib/store.ts:10 isOpen: use status");
    });

    it("has calls listed whose replies node-redis returns as objects", () => {
      expect(editOf(plan, "queue.ts")).to.include('.blpop("a", 1)');
      const note = plan.notes.find(({ file }) => file === "queue.ts");
      expect(note).to.include({ line: 2 });
      expect(note?.text).to.include("[key, element]");
    });

    it("has scores listed, and what a changed watched key does", () => {
      const texts = plan.notes.filter(({ file }) => file === "score.ts").map(({ text }) => text);
      expect(texts).to.have.length(2);
      expect(texts[0]).to.include("zScore(): sluice replies with text instead of numbers");
      expect(texts[1]).to.include("resolves with null instead of a WatchError");
    });

    it("has iterators listed with the loop that replaces them", () => {
      const texts = plan.notes.filter(({ file }) => file === "scan.ts").map(({ text }) => text);
      expect(texts).to.deep.equal([
        'scanIterator(): use for await (const keys of client.scanStream({ match: "user:*", count: 100 })) { for (const key of keys) … }',
        'hScanIterator(): use for await (const list of client.hscanStream("h", { match: "a*" })) { for (let i = 0; i < list.length; i += 2) { const [field, value] = list.slice(i, i + 2); … } }',
      ]);
    });

    it("has calls listed that both clients know by one name, until the project uses this client", async () => {
      const notesOf = ({ notes }: Plan): string[] =>
        notes.filter(({ file }) => file === "listener.ts").map(({ text }) => text);
      expect(notesOf(plan)).to.have.length(1);
      expect(notesOf(plan)[0]).to.include("subscribe(): use subscribe(channel) and on(");
      expect(notesOf(await migrate(directory))).to.deep.equal([]);
    });

    it("needs no connect(), and nothing behind a condition runs under it instead", () => {
      const store = editOf(plan, "lib/store.ts");
      expect(store).to.include('new Redis(process.env.REDIS_URL ?? "redis://localhost:6379")');
      expect(store).to.include("getClient() {\n  return client;\n}");
      expect(store).to.include("if (isWanted) {}\n  console.log");
    });

    it("has what is left listed again by a second run, as long as node-redis is a dependency", async () => {
      const second = await migrate(directory);
      expect(second.edits).to.deep.equal([]);
      const texts = second.notes.map(({ text }) => text).join();
      expect(texts).to.include("zRangeWithScores(): use");
      expect(texts).to.include("remove redis from package.json");
    });
  });

  it("knows a manager by its settings where there is no lock file yet", async () => {
    const plan = await migrate(
      project({ "package.json": MANIFEST, ".yarnrc.yml": "nodeLinker: node-modules\n" }),
      ...PUBLISHED_SPEC,
    );
    expect(editOf(plan, "package.json")).to.include("resolutions");
  });

  it("needs no compiler in the project", async () => {
    const directory = project({
      "package.json": { private: true, dependencies: { redis: "^5.0.0" } },
      "main.js":
        'const { createClient } = require("redis");\nlet client;\nclient = createClient();\nclient.hGetAll("a");\n',
    });
    const plan = await migrate(directory, ...PUBLISHED_SPEC);
    expect(editOf(plan, "main.js")).to.equal(
      'const Redis = require("sluice");\nlet client;\nclient = new Redis();\nclient.hgetall("a");\n',
    );
  });

  it("leaves files alone that git ignores, and all that is outside of --source", async () => {
    const code = 'const { createClient } = require("redis");\nconst client = createClient();\n';
    const directory = project({
      "package.json": { private: true, dependencies: { redis: "^5.0.0" } },
      ".gitignore": "*.before.js\n",
      "app.before.js": code,
      "src/app.js": code,
      "scripts/seed.js": code,
    });
    await run("git", ["init", "-q"], { cwd: directory });
    const files = ({ edits }: Plan): string[] => edits.map(({ file }) => file).sort();
    expect(files(await migrate(directory, ...PUBLISHED_SPEC))).to.deep.equal([
      "package.json",
      "scripts/seed.js",
      "src/app.js",
    ]);
    expect(files(await migrate(directory, "--source", "src", ...PUBLISHED_SPEC))).to.deep.equal([
      "package.json",
      "src/app.js",
    ]);
    const failure = await migrate(directory, "--source", "../other").catch(({ stderr }) => stderr as string);
    expect(failure).to.include("is outside of");
  });

  it("reads the programs of this project's consumers", async () => {
    const directory = temporaryDirectory();
    cpSync(join(root, "test", "consumers"), directory, { recursive: true });
    const plan = await migrate(directory, "--spec", "file:./other.tgz");
    const manifest = JSON.parse(editOf(plan, "package.json")) as Record<string, Record<string, string>>;
    expect(manifest.dependencies?.ioredis).to.equal("file:./other.tgz");
    expect(plan.notes.map(({ text }) => text).join()).to.match(/depend on ioredis.*bull/);
  });

  for (const name of isLong ? PUBLISHED : []) {
    it(`${name}: what is written can be parsed`, async () => {
      const directory = temporaryDirectory();
      await run("npm", ["pack", name, "--pack-destination", directory], { cwd: directory, env });
      const [tarball = ""] = readdirSync(directory);
      await run("tar", ["-xzf", join(directory, tarball), "-C", directory]);
      const home = join(directory, "package");
      mkdirSync(join(home, "node_modules"));
      // Packages bring what was compiled, which is no source of a project.
      if (existsSync(join(home, "dist"))) renameSync(join(home, "dist"), join(home, "compiled"));
      const compiler = join(await installTools(), "node_modules", "typescript-5.9");
      symlinkSync(compiler, join(home, "node_modules", "typescript"));
      const shown = await migrate(home, ...PUBLISHED_SPEC);
      const plan = await migrate(home, "--write", ...PUBLISHED_SPEC);
      expect(plan).to.deep.equal(shown);
      expect([...plan.edits, ...plan.notes]).to.not.deep.equal([]);
      for (const { file, after } of plan.edits) {
        expect(readFileSync(join(home, file), "utf8")).to.equal(after);
        if (/\.[cm]?js$/.test(file)) await run(process.execPath, ["--check", file], { cwd: home });
      }
    });
  }

  const managers = packageManagers.filter(({ name }) => name === "npm" || name === "pnpm");
  for (const manager of isLong ? managers : []) {
    for (const service of ["express", "nestjs", "fastify"]) {
      it(`${service}, installed by ${manager.name}, is moved by one call and installed anew`, async () => {
        const directory = temporaryDirectory();
        cpSync(join(root, "test", "package", "fixtures", "services", service), directory, {
          recursive: true,
        });
        cpSync((await packPackage()).path, join(directory, "sluice.tgz"));
        const tools = await installTools();
        await installWith(manager, directory, tools);
        await migrate(directory, "--write", "--spec", "file:./sluice.tgz", "--manager", manager.name);
        await installWith(manager, directory, tools);
        const compiler = join(directory, "node_modules", "typescript", "bin", "tsc");
        await run(process.execPath, [compiler], { cwd: directory });
        const options = { cwd: directory, env: { ...env, ...address }, timeout: 60_000 };
        const { stdout } = await run(process.execPath, [join("dist", "main.js")], options);
        const expected: unknown = JSON.parse(readFileSync(join(directory, "expected.json"), "utf8"));
        expect(JSON.parse(stdout)).to.deep.equal(expected);
      });
    }
  }
});
