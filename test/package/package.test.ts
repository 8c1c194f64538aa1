/** The packed tarball, installed: both module forms, one copy of each class, types, sub-paths, size. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { Application, packPackage, type Tarball } from "./installed-package";

const MAX_CODE_BYTES = 400 * 1024;
const INSTALL_TIMEOUT_MS = 120_000;

const NAMES = [
  "AbstractConnector",
  "Cluster",
  "Command",
  "Pipeline",
  "Redis",
  "ReplyError",
  "ScanStream",
  "SentinelConnector",
  "SentinelIterator",
  "print",
];

/** What a service does, in the words that both module forms share. */
const MAIN_JOB = `
async function mainJob(Redis) {
  const redis = new Redis(process.env.URL);
  await redis.set("foo", "bar");
  const results = await redis.pipeline().get("foo").incr("n").exec();
  const wrong = await redis.call("hget", "foo", "x").catch((error) => error);
  const isReplyError = wrong instanceof Redis.ReplyError;
  await redis.quit();
  return { results, isReplyError };
}
`;
const MAIN_JOB_RESULT = {
  results: [
    [null, "bar"],
    [null, 1],
  ],
  isReplyError: true,
};

const TYPED_USE = `
const redis: Redis = new Redis({ lazyConnect: true });
const value: Promise<string | null> = redis.get("a");
const named: NamedRedis = redis;
const options: RedisOptions = { host: "localhost" };
const cluster = new Cluster([{ host: "localhost", port: 7000 }], { lazyConnect: true });
const isOne: boolean = new ReplyError("x") instanceof Error;
// @ts-expect-error there is no such option
const wrong: RedisOptions = { hosst: "localhost" };
// @ts-expect-error a key is needed
redis.get();
void [value, named, options, cluster, isOne, wrong];
`;
const IMPORTS = (name: string): string =>
  `import Redis, { Cluster, Redis as NamedRedis, ReplyError, type RedisOptions } from "${name}";\n`;

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
}

function readCheckout(path: string): string {
  return readFileSync(join(checkoutDirectory(), path), "utf8");
}

describe("package", function () {
  this.timeout(INSTALL_TIMEOUT_MS);
  let tarball: Tarball;
  let plain: Application;
  let aliased: Application;
  let server: ServerProcess;

  before(async () => {
    const [kind = "redis"] = serverKinds();
    server = await sharedServer(kind);
    tarball = await packPackage();
    [plain, aliased] = await Promise.all([
      Application.create(tarball, "sluice"),
      Application.create(tarball, "ioredis"),
    ]);
  });

  beforeEach(() => server.command("FLUSHALL"));

  it("contains the build and nothing of the workshop", () => {
    const paths = tarball.files.map(({ path }) => path);
    expect(paths).to.include.members([
      "LICENSE",
      "README.md",
      "package.json",
      "built/index.js",
      "built/index.mjs",
    ]);
    const strange = paths.filter(
      (path) => !/^(built\/.*\.(js|mjs|d\.ts|d\.mts)|LICENSE|README\.md|package\.json)$/.test(path),
    );
    expect(strange).to.deep.equal([]);
  });

  it("stays under its size", () => {
    const code = tarball.files.filter(({ path }) => /\.m?js$/.test(path));
    const bytes = code.reduce((sum, { size }) => sum + size, 0);
    console.log(`      code without declarations: ${(bytes / 1024).toFixed(0)} KiB in ${code.length} files`);
    expect(bytes).to.be.lessThan(MAX_CODE_BYTES);
  });

  it("is described in the change log under its version", () => {
    const { version } = JSON.parse(readCheckout("package.json")) as Manifest;
    expect(readCheckout("CHANGELOG.md").split("\n")).to.satisfy((lines: string[]) =>
      lines.some((line) => line.startsWith(`## ${version}`)),
    );
    expect(readCheckout("src/util/version.ts")).to.include(`"${version}"`);
  });

  it("does its job through require", async () => {
    const code = `${MAIN_JOB} mainJob(require("sluice")).then((result) => console.log(JSON.stringify(result)));`;
    expect(await plain.evaluate("main.cjs", code, { URL: server.url })).to.deep.equal(MAIN_JOB_RESULT);
  });

  it("does its job through import", async () => {
    const code = `import Redis from "sluice"; ${MAIN_JOB} console.log(JSON.stringify(await mainJob(Redis)));`;
    expect(await plain.evaluate("main.mjs", code, { URL: server.url })).to.deep.equal(MAIN_JOB_RESULT);
  });

  it("is the class itself through require, with the named exports on it", async () => {
    const code = `
      const Redis = require("sluice");
      const names = Object.keys(Redis).filter((name) => !["default", "defaultOptions"].includes(name)).sort();
      console.log(JSON.stringify({
        names,
        isClass: Redis.name === "Redis" && Redis === Redis.default && Redis === Redis.Redis,
        isFree: !Object.isFrozen(Redis) && !("then" in Redis.prototype),
        defaults: typeof Redis.defaultOptions,
      }));`;
    const { names, ...rest } = (await plain.evaluate("names.cjs", code)) as { names: string[] };
    expect(names).to.include.members(NAMES);
    expect(rest).to.deep.equal({ isClass: true, isFree: true, defaults: "object" });
  });

  it("gives the same classes to import, by the same names", async () => {
    const code = `
      import Redis, * as names from "sluice";
      import { createRequire } from "node:module";
      const required = createRequire(import.meta.url)("sluice");
      console.log(JSON.stringify({
        isSame: Redis === required && names.default === names.Redis,
        names: Object.keys(names).filter((name) => names[name] === required[name]).sort(),
        required: Object.keys(required).filter((name) => name !== "defaultOptions").sort(),
      }));`;
    const found = (await plain.evaluate("same.mjs", code)) as Record<"names" | "required", string[]>;
    expect(found).to.have.property("isSame", true);
    expect(found.names).to.include.members([...NAMES, "default"]);
    expect(found.names).to.deep.equal(found.required);
  });

  it("has its names found in the CommonJS file by Node's static scan", async () => {
    const code = `
      import * as names from "./node_modules/sluice/built/index.js";
      console.log(JSON.stringify(Object.keys(names)));`;
    expect(await plain.evaluate("scan.mjs", code)).to.include.members([...NAMES, "default"]);
  });

  it("opens the sub-paths that packages use, with the same classes behind them", async () => {
    const code = `
      const Redis = require("ioredis");
      const { CONNECTION_CLOSED_ERROR_MSG } = require("ioredis/built/utils");
      const { parseURL } = require("ioredis/built/utils/index");
      const Command = require("ioredis/built/Command").default;
      console.log(JSON.stringify({
        message: CONNECTION_CLOSED_ERROR_MSG,
        port: Number(parseURL("redis://localhost:1234").port),
        isSame: Command === Redis.Command,
        transformers: [typeof Command._transformer.argument.mset, typeof Command._transformer.reply.hgetall],
        version: require("ioredis/package.json").version,
      }));`;
    const { version } = JSON.parse(readCheckout("package.json")) as Manifest;
    expect(await aliased.evaluate("paths.cjs", code)).to.deep.equal({
      message: "Connection is closed.",
      port: 1234,
      isSame: true,
      transformers: ["function", "function"],
      version,
    });
  });

  it("does its job under another name", async () => {
    const code = `import { Redis } from "ioredis"; ${MAIN_JOB} console.log(JSON.stringify(await mainJob(Redis)));`;
    expect(await aliased.evaluate("alias.mjs", code, { URL: server.url })).to.deep.equal(MAIN_JOB_RESULT);
  });

  it("is the class in a checkout too", () => {
    const code = 'const Redis = require("./built"); console.log(new Redis({ lazyConnect: true }).status)';
    const output = execFileSync(process.execPath, ["-e", code], {
      cwd: checkoutDirectory(),
      encoding: "utf8",
    });
    expect(output.trim()).to.equal("wait");
  });

  for (const [module, moduleResolution] of [
    ["node16", "node16"],
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ] as const) {
    for (const extension of ["cts", "mts"]) {
      it(`has types for ${moduleResolution} in a .${extension} file`, async () => {
        const fileName = `typed.${extension}`;
        plain.write(fileName, IMPORTS("sluice") + TYPED_USE);
        const options = { module, moduleResolution, esModuleInterop: true };
        expect(await plain.compile(options, [fileName])).to.equal("");
      });
    }
  }

  it("has types under another name and for its sub-paths", async () => {
    const paths = `
      import { CONNECTION_CLOSED_ERROR_MSG } from "ioredis/built/utils";
      export const message: string = CONNECTION_CLOSED_ERROR_MSG;
    `;
    aliased.write("typed.ts", IMPORTS("ioredis") + TYPED_USE + paths);
    const options = { module: "node16", moduleResolution: "node16", exactOptionalPropertyTypes: true };
    expect(await aliased.compile(options, ["typed.ts"])).to.equal("");
  });

  it("loads quickly", async () => {
    const code = `
      const startedAt = performance.now();
      require("sluice");
      console.log(JSON.stringify(performance.now() - startedAt));`;
    const milliseconds: number[] = [];
    for (let round = 0; round < 3; round++) milliseconds.push(Number(await plain.evaluate("load.cjs", code)));
    console.log(`      load time: ${Math.min(...milliseconds).toFixed(1)} ms`);
    // The figure is printed for people; what is asserted is only that it was measured.
    expect(Math.min(...milliseconds)).to.be.greaterThan(0);
  });
});
