/** Programs that a bundler makes one file of: their sizes, the parts in them, and one copy of each class. */

import { execFile } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { type BuildOptions, build } from "esbuild";
import { rolldown } from "rolldown";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { Application, packPackage } from "./installed-package";
import { expectAtMost, expectNamed, SIZES } from "./sizes";

const execute = promisify(execFile);

/** A package that uses CommonJS, as most of those that depend on this client do. */
const DEPENDENT = `
const Redis = require("sluice");
const { ReplyError } = require("sluice/built/errors");
exports.isClient = (client) => client instanceof Redis;
exports.isReplyError = (error) => error instanceof ReplyError && error instanceof Redis.ReplyError;
exports.Redis = Redis;
`;
const PREPARED = `
const url = process.env.URL;
const print = (value) => console.log(JSON.stringify(value));
const codeOf = (work) => { try { work(); return null; } catch ({ name, code, part, message }) { return { name, code, part, message }; } };
`;

describe("bundles", function () {
  this.timeout(120_000);
  let application: Application;
  let server: ServerProcess;

  before(async () => {
    const [kind = "redis"] = serverKinds();
    server = await sharedServer(kind);
    application = await Application.create({ sluice: await packPackage() });
    application.write("node_modules/dependent/package.json", '{ "name": "dependent", "main": "index.js" }');
    application.write("node_modules/dependent/index.js", DEPENDENT);
  });

  async function bundle(code: string, options: BuildOptions = {}): Promise<string> {
    application.write("program.mjs", code);
    const { outputFiles, warnings } = await build({
      entryPoints: [join(application.directory, "program.mjs")],
      bundle: true,
      minify: true,
      platform: "node",
      format: "esm",
      ...options,
      write: false,
    });
    expect(warnings).to.deep.equal([]);
    return outputFiles[0]?.text ?? "";
  }

  async function run(code: string, options?: BuildOptions): Promise<unknown> {
    const bundled = await bundle(PREPARED + code, options);
    return application.evaluate("bundled.mjs", bundled, { URL: server.url });
  }

  for (const [title, code, size] of [
    ["the class alone", 'import { Redis } from "sluice"; new Redis().get("key");', SIZES.bundled],
    ["the default import", 'import Redis from "sluice"; new Redis().get("key");', SIZES.bundledDefault],
  ] as const) {
    it(`${title} stays under its size, compressed`, async () => {
      const { length } = gzipSync(await bundle(code), { level: 9 });
      console.log(`      ${title}: ${(length / 1000).toFixed(1)} kB`);
      expectAtMost(length, size);
      expectNamed(size, length);
    });
  }

  it("contain no part that the program does not import", async () => {
    const code = `
      import { Redis } from "sluice";
      const redis = new Redis(url);
      await redis.set("key", "value");
      const rows = await redis.pipeline().get("key").exec();
      const missing = [
        () => new Redis({ cache: true }),
        () => new Redis({ enableAutoPipelining: true }),
        () => new Redis({ socketTimeout: 10 }),
        () => new Redis({ commandTimeout: 10 }),
        () => new Redis({ bounds: { maxCommands: 1 } }),
        () => new Redis({ blockingConnections: 1 }),
        () => new Redis({ replicas: true }),
        () => new Redis({ maintenance: "on" }),
        () => new Redis({ sentinels: [{ port: 1 }], name: "a" }),
        () => redis.pipeline({ merge: true }),
        () => redis.bulk([]),
        () => redis.scanStream(),
        () => redis.messages("news"),
        () => redis.json,
        () => redis.lease(),
        () => redis.lock("key"),
        () => redis.consume({ stream: "orders", group: "group", consumer: "worker" }),
        () => redis.with({ timeout: 10 }),
      ].map(codeOf);
      await redis.quit();
      print({ rows, missing });`;
    const { rows, missing } = (await run(code)) as {
      rows: unknown;
      missing: readonly { name: string; code: string; part: string; message: string }[];
    };
    expect(rows).to.deep.equal([[null, "value"]]);
    expect(missing.map(({ part }) => part)).to.deep.equal([
      "cache",
      "auto-pipelining",
      "timeouts",
      "timeouts",
      "bounds",
      "leases",
      "replicas",
      "maintenance",
      "sentinel",
      "merging",
      "bulk",
      "scan-streams",
      "messages",
      "modules",
      "leases",
      "locks",
      "consumers",
      "timeouts",
    ]);
    for (const { name, code: word, part, message } of missing) {
      expect([name, word]).to.deep.equal(["MissingPartError", "MISSING_PART"]);
      expect(message).to.include(`"sluice/with/${part}"`);
    }
  });

  it("contain the parts that the program imports", async () => {
    const code = `
      import { Redis } from "sluice";
      import "sluice/with/cache";
      import "sluice/with/timeouts";
      const redis = new Redis(url, { cache: true, commandTimeout: 5000 });
      await redis.set("key", "value");
      const values = [await redis.get("key"), await redis.get("key")];
      const late = codeOf(() => redis.bulk([]));
      await redis.quit();
      print([values, late.part]);`;
    expect(await run(code)).to.deep.equal([["value", "value"], "bulk"]);
  });

  it("have everything on the default import", async () => {
    const code = `
      import Redis from "sluice";
      const redis = new Redis(url, { cache: true, enableAutoPipelining: true, commandTimeout: 5000 });
      await redis.set("key", "value");
      const rows = [];
      for await (const [, value] of redis.bulk([["get", "key"]])) rows.push(value);
      const cluster = new Redis.Cluster([{ port: 1 }], { lazyConnect: true });
      cluster.disconnect();
      await redis.quit();
      print([rows, Object.keys(Redis).sort()]);`;
    const names = await application.evaluate(
      "names.cjs",
      'console.log(JSON.stringify(Object.keys(require("sluice")).sort()));',
    );
    expect(await run(code)).to.deep.equal([["value"], names]);
  });

  const bundlers: readonly (readonly [title: string, options: BuildOptions])[] = [
    ["esbuild", {}],
    ["esbuild with the conditions of Wrangler", { conditions: ["workerd", "worker", "browser"] }],
  ];
  for (const [title, options] of bundlers) {
    it(`have one copy of each class, also for packages that use require(): ${title}`, async () => {
      const code = `
        import { Redis, ReplyError } from "sluice";
        import dependent from "dependent";
        const redis = new Redis(url);
        const error = await redis.call("nonsense").catch((caught) => caught);
        await redis.quit();
        print([dependent.Redis === Redis, dependent.isClient(redis), dependent.isReplyError(error), error instanceof ReplyError]);`;
      expect(await run(code, options)).to.deep.equal([true, true, true, true]);
    });
  }

  it("have one copy of each class with rolldown", async () => {
    const code = `
      import { Redis } from "sluice";
      import dependent from "dependent";
      const redis = new Redis({ lazyConnect: true });
      redis.disconnect();
      console.log(JSON.stringify([dependent.Redis === Redis, dependent.isClient(redis), typeof dependent.Redis.Cluster]));`;
    application.write("rolled.mjs", code);
    const input = join(application.directory, "rolled.mjs");
    const made = await rolldown({ input, platform: "node" });
    const { output } = await made.generate({ format: "es" });
    await made.close();
    expect(await application.evaluate("rolled-bundle.mjs", output[0].code)).to.deep.equal([
      true,
      true,
      "function",
    ]);
  });

  it("write debug output if the package debug is installed beside them, and run without it", async () => {
    const code = `
      import { Redis } from "sluice";
      const redis = new Redis(url);
      print(await redis.set("key", "value"));
      await redis.quit();`;
    application.write("debugged.mjs", await bundle(PREPARED + code));
    const alone = temporaryDirectory();
    copyFileSync(join(application.directory, "debugged.mjs"), join(alone, "debugged.mjs"));
    const env = { ...process.env, NODE_V8_COVERAGE: "", URL: server.url, DEBUG: "sluice:*" };
    for (const cwd of [application.directory, alone]) {
      const { stdout, stderr } = await execute(process.execPath, ["debugged.mjs"], { cwd, env });
      expect(stdout).to.equal('"OK"\n');
      expect(stderr.includes("sluice:"), stderr).to.equal(cwd !== alone);
    }
  });

  it("are not what Node loads: every import gives the class of require()", async () => {
    const code = `
      import { createRequire } from "node:module";
      import Default, { Redis } from "sluice";
      import "sluice/with/all";
      import "sluice/with/cache";
      const required = createRequire(import.meta.url)("sluice");
      const redis = new Redis({ cache: true, lazyConnect: true });
      redis.disconnect();
      console.log(JSON.stringify([Default === required, Redis === required, typeof Redis.Cluster]));`;
    expect(await application.evaluate("plain.mjs", code)).to.deep.equal([true, true, "function"]);
  });
});
