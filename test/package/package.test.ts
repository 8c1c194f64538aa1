/** The packed tarball, installed: both module forms, one copy of each class, types, sub-paths, size. */

import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { Application, packPackage, type Tarball } from "./installed-package";
import { expectAtMost, expectNamed, SIZES } from "./sizes";

const ASIDE = /^(?:built\/(?:otel|top|demo)|bin\/)/;
const MODULES = /^built\/modules\//;
const LOADS = 9;
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

/** The calls of a service, in the words that both module forms share. */
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
      Application.create({ sluice: tarball }),
      Application.create({ ioredis: tarball }),
    ]);
  });

  beforeEach(() => server.command("FLUSHALL"));

  it("contains the build and nothing of the workshop", () => {
    const paths = tarball.files.map(({ path }) => path);
    expect(paths).to.include.members([
      "LICENSE",
      "AGENTS.md",
      "CHANGELOG.md",
      "README.md",
      "SECURITY.md",
      "package.json",
      "built/index.js",
      "built/index.mjs",
      "examples/pipeline.js",
    ]);
    const strange = paths.filter(
      (path) =>
        !/^(built\/.*\.(js|mjs|js\.map|d\.ts|d\.mts)|LICENSE|(AGENTS|CHANGELOG|README|SECURITY)\.md|docs\/[\w-]+\.md|doors\/[\w-]+\.(?:js|mjs|d\.ts|d\.mts)|examples\/[\w-]+\.m?js|bin\/.*\.mjs|package\.json)$/.test(
          path,
        ),
    );
    expect(strange).to.deep.equal([]);
  });

  it("contains the pages that AGENTS.md links to", () => {
    const paths = new Set(tarball.files.map(({ path }) => path));
    const links = [...readCheckout("AGENTS.md").matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(
      ([, path]) => path,
    );
    expect(links.length).to.be.greaterThan(0);
    expect(links.filter((path) => path === undefined || !paths.has(path))).to.deep.equal([]);
    const bytes = tarball.files
      .filter(({ path }) => path.startsWith("docs/") && path.endsWith(".md"))
      .reduce((sum, { size }) => sum + size, 0);
    console.log(`      documentation: ${(bytes / 1024).toFixed(0)} KiB`);
    expectAtMost(bytes, SIZES.documentation);
  });

  it("stays under its size", () => {
    const code = tarball.files.filter(({ path }) => /\.m?js$/.test(path) && !path.startsWith("examples/"));
    const sizeOf = (files: typeof code): number => files.reduce((sum, { size }) => sum + size, 0);
    const aside = code.filter(({ path }) => ASIDE.test(path));
    const modules = code.filter(({ path }) => MODULES.test(path));
    const client = code.filter(({ path }) => !ASIDE.test(path) && !MODULES.test(path));
    console.log(`      client without declarations: ${(sizeOf(client) / 1024).toFixed(0)} KiB`);
    console.log(`      ES modules for bundlers: ${(sizeOf(modules) / 1024).toFixed(0)} KiB`);
    console.log(`      tracing and tools: ${(sizeOf(aside) / 1024).toFixed(0)} KiB`);
    const unpacked = sizeOf([...tarball.files]);
    expectAtMost(unpacked, SIZES.unpacked);
    expectNamed(SIZES.unpacked, unpacked);
    expectAtMost(sizeOf(client), SIZES.client);
    expectNamed(SIZES.client, sizeOf(client));
    expectAtMost(sizeOf(modules), SIZES.modules);
    expectAtMost(sizeOf(aside), SIZES.aside);
  });

  it("declares no class of the layers below the clients, and no types of other packages", () => {
    const declarations = readCheckout("built/declarations.d.ts");
    expect(declarations).to.match(/^declare class LeasedConnection\b/m);
    expect(declarations).to.not.match(/^declare class (?:Connection|Link|PipelineRun|Session)\b/m);
    const tracer = ["otel-shared", "otel-instrumentation"].map((name) => readCheckout(`built/${name}.d.ts`));
    expect(tracer.join(""))
      .to.include('from "@opentelemetry/api"')
      .and.not.match(/(?:interface|class) Tracer/);
  });

  it("loads the cluster client, Sentinel and the cache when they are first used", async () => {
    const code = `
      const inPackage = (path) => path.split(/built./)[1]?.replaceAll("\\\\", "/");
      const loaded = () => Object.keys(require.cache).map(inPackage).filter(Boolean);
      const Redis = require("sluice");
      const atFirst = loaded();
      void Redis.Cluster;
      const withCluster = loaded();
      new Redis({ sentinels: [{ port: 1 }], name: "m", lazyConnect: true });
      const withSentinel = loaded();
      new Redis({ cache: true, lazyConnect: true });
      console.log(JSON.stringify([atFirst, withCluster, withSentinel, loaded()]));`;
    const [atFirst = [], withCluster, withSentinel, withCache] = (await plain.evaluate(
      "late.cjs",
      code,
    )) as string[][];
    expect(atFirst).to.include("core.js");
    expect(atFirst.filter((path) => /^late.|^debug/.test(path))).to.deep.equal([]);
    expect(withCluster).to.include("late/cluster-client.js").and.not.include("late/sentinel-connector.js");
    expect(withSentinel).to.include("late/sentinel-connector.js").and.not.include("late/client-cache.js");
    expect(withCache).to.include("late/client-cache.js");
  });

  it("keeps the router of a cluster out of what every client loads", () => {
    const modules = [...readCheckout("built/core.js").matchAll(/^\/\/ src\/(\S+)$/gm)].map(
      ([, path]) => path,
    );
    expect(modules).to.include("link/link.ts");
    expect(modules).to.not.include.oneOf([
      "cluster/router.ts",
      "cluster/redirector.ts",
      "cluster/refresher.ts",
    ]);
  });

  it("loads no late part for an ES module that takes the class from its sub-path", async () => {
    const code = `
      import { createRequire } from "node:module";
      import { Redis } from "sluice/built/Redis";
      const require = createRequire(import.meta.url);
      const late = Object.keys(require.cache).filter((path) => /built.late/.test(path));
      console.log(JSON.stringify([late, Redis === require("sluice")]));`;
    expect(await plain.evaluate("sub-path.mjs", code)).to.deep.equal([[], true]);
  });

  it("goes on when modules were forgotten while a client lives, as Jest does between tests", async () => {
    const code = `
      const Redis = require("sluice");
      async function job() {
        const redis = new Redis(process.env.URL);
        await redis.set("foo", "bar");
        for (const path of Object.keys(require.cache)) delete require.cache[path];
        const rows = [];
        for await (const row of redis.bulk([["get", "foo"], ["hget", "foo", "x"]])) rows.push(row);
        let keys = 0;
        for await (const page of redis.scanStream()) keys += page.length;
        const command = new Redis.Command("get", ["foo"], { replyEncoding: "utf8" });
        const late = await redis.with({ timeout: 20 }).blpop("none", 0).catch((error) => error);
        redis.options.enableAutoPipelining = true;
        const gathered = await Promise.all([redis.get("foo"), redis.hget("foo", "x").catch((error) => error)]);
        const cluster = new Redis.Cluster([{ port: 1 }], { lazyConnect: true });
        console.log(JSON.stringify({
          rows: rows.map(([error, value]) => error instanceof Redis.ReplyError || value),
          hasKeys: keys > 0,
          sent: await redis.sendCommand(command),
          late: late instanceof Redis.CommandTimeoutError,
          gathered: gathered.map((reply) => reply instanceof Redis.ReplyError || reply),
          isCluster: cluster instanceof Redis.Cluster && Redis.Cluster === Redis.Cluster,
        }));
        cluster.disconnect();
        await redis.quit();
      }
      job();`;
    expect(await plain.evaluate("forgotten.cjs", code, { URL: server.url })).to.deep.equal({
      rows: ["bar", true],
      hasKeys: true,
      sent: "bar",
      late: true,
      gathered: ["bar", true],
      isCluster: true,
    });
  });

  it("runs all of its code in strict mode, as the source is compiled and tested", () => {
    const scripts = tarball.files.map(({ path }) => path).filter((path) => /^built\/.*\.js$/.test(path));
    expect(scripts.length).to.be.greaterThan(10);
    const isSloppy = (path: string): boolean => !/^(?:\/[/*].*\n)*"use strict";/.test(readCheckout(path));
    expect(scripts.filter(isSloppy)).to.deep.equal([]);
  });

  it("has a map for every file of code, and names TypeScript lines", async () => {
    const paths = tarball.files.map(({ path }) => path);
    for (const path of paths.filter((one) => /(core|cluster-client|sentinel-connector)\.js$/.test(one))) {
      expect(readCheckout(path).trim().split("\n").at(-1)).to.equal(
        `//# sourceMappingURL=${basename(path)}.map`,
      );
      expect((JSON.parse(readCheckout(`${path}.map`)) as { sources: string[] }).sources.length).to.be.above(
        3,
      );
    }
    const code = `
      const Redis = require("sluice");
      const redis = new Redis({ lazyConnect: true });
      redis.disconnect();
      redis.get("key").catch((error) => console.log(JSON.stringify(error.stack)));`;
    const stack = (await plain.evaluate("stack.cjs", code, {
      NODE_OPTIONS: "--enable-source-maps",
    })) as string;
    const frames = [
      ...stack.matchAll(/\.(?<method>\w+|\[\w+\]) \(.*\/(?<path>src\/[\w/-]+\.ts):(?<line>\d+):\d+/g),
    ];
    expect(frames.length).to.be.above(2);
    // A frame names the line that calls the method above it; methods whose names are symbols look otherwise there.
    for (const [index, { groups }] of frames.slice(1).entries()) {
      const { path = "", line } = groups ?? {};
      const called = frames[index]?.groups?.["method"] ?? "";
      const text = readCheckout(path).split("\n")[Number(line) - 1];
      if (!called.startsWith("[")) expect(text, `${path}:${line}`).to.include(`${called}(`);
    }
  });

  it("keeps the names of its classes", async () => {
    const code = `
      const Redis = require("sluice");
      const names = ["AbstractConnector", "Cluster", "Pipeline", "Redis", "ReplyError", "ScanStream", "SentinelConnector"];
      const redis = new Redis({ lazyConnect: true });
      console.log(JSON.stringify([names.filter((name) => Redis[name].name !== name), redis.pipeline().constructor.name]));`;
    expect(await plain.evaluate("class-names.cjs", code)).to.deep.equal([[], "Pipeline"]);
  });

  it("shows a running server from the command line", async () => {
    const bin = join(plain.directory, "node_modules", ".bin", "sluice");
    const frame = execFileSync(bin, ["top", "--once", "--interval=100", server.url], { encoding: "utf8" });
    expect(frame).to.include("commands/s").and.include("CPU of the server");
    const help = execFileSync(bin, [], { encoding: "utf8" });
    expect(help).to.include("sluice top").and.include("sluice demo");
  });

  it("shows what pipelining pays on a running server, and removes its keys", async () => {
    const bin = join(plain.directory, "node_modules", ".bin", "sluice");
    const shown = execFileSync(bin, ["demo", "--quick", server.url], { encoding: "utf8" });
    expect(shown).to.match(/explicit pipelines of 1,000 +[\d,]+ +2 /);
    expect(shown).to.match(/web service, auto-pipelining +[\d,]+/);
    expect(shown).to.include("commands in one pipeline");
    expect(await server.command("KEYS", "sluice:demo:*")).to.be.empty;
  });

  it("says what the demo needs where no server answers", () => {
    const bin = join(plain.directory, "node_modules", ".bin", "sluice");
    const { status, stderr } = spawnSync(bin, ["demo", "redis://127.0.0.1:1"], { encoding: "utf8" });
    expect(status).to.equal(1);
    expect(stderr.match(/ECONNREFUSED/g)).to.have.lengthOf(1);
    expect(stderr).to.include("npx sluice demo redis://localhost:6379").and.not.include("Unhandled");
  });

  it("explains the command line instead of printing a stack", () => {
    const bin = join(plain.directory, "node_modules", ".bin", "sluice");
    expect(execFileSync(bin, ["demo", "--help"], { encoding: "utf8" })).to.include("sluice demo [--quick]");
    const { status, stderr } = spawnSync(bin, ["demo", "--fast"], { encoding: "utf8" });
    expect(status).to.equal(1);
    expect(stderr)
      .to.match(/^Unknown option: --fast\n\nsluice demo/)
      .and.not.include("at ");
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

  it("loads in less CPU time than the original", async () => {
    const least = { sluice: Number.POSITIVE_INFINITY, ioredis: Number.POSITIVE_INFINITY };
    const original = join(checkoutDirectory(), "node_modules", "ioredis");
    const paths = { sluice: join(plain.directory, "node_modules", "sluice"), ioredis: original };
    for (let round = 0; round < LOADS; round++) {
      for (const name of ["sluice", "ioredis"] as const) {
        // CPU time: other work on the machine makes a clock on the wall run ahead.
        const code = `
          const before = process.cpuUsage();
          require(${JSON.stringify(paths[name])});
          const { user, system } = process.cpuUsage(before);
          console.log(JSON.stringify((user + system) / 1000));`;
        least[name] = Math.min(least[name], Number(await plain.evaluate("load.cjs", code)));
      }
    }
    const ratio = least.sluice / least.ioredis;
    console.log(
      `      load time: ${least.sluice.toFixed(1)} ms of CPU, ${ratio.toFixed(2)} of the original's`,
    );
    expect(least.sluice).to.be.below(least.ioredis);
  });
});
