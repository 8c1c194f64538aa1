/** The test kit out of the packed tarball: both module forms, its types, every name that its pages promise. */

import { expect } from "chai";
import { Application, packPackage, packTestKit } from "./installed-package";
import { expectAtMost, SIZES } from "./sizes";

const INSTALL_TIMEOUT_MS = 120_000;
const NAMES = [
  "Certificates",
  "Direction",
  "FaultProxy",
  "RealCluster",
  "RealSentinels",
  "RealServer",
  "TestServer",
  "useServer",
];

/** A server in memory, a fault of it, and a proxy in front of one that listens. */
const JOB = `
async function job(Redis, kit, MockRedis) {
  const server = await kit.TestServer.start({ version: "7.0", seed: 7 });
  const proxy = await kit.FaultProxy.start({ host: server.host, port: server.port });
  const redis = new Redis(proxy.url);
  const clean = server.snapshot();
  const results = await redis.pipeline().set("a", "1", "EX", 10).get("a").exec();
  const writes = proxy.writes.filter((commands) => commands.some(([word]) => word === "set")).length;
  server.advance(11_000);
  const afterExpiry = await redis.get("a");
  server.faults.reply("get", "-WRONGTYPE by order", { times: 1 });
  const fault = await redis.get("a").catch((error) => error.message);
  server.restore(clean);
  await redis.quit();
  await proxy.stop();
  await server.stop();
  const mock = new MockRedis();
  await mock.set("b", "2");
  const mocked = await mock.get("b");
  await mock.quit();
  return { names: Object.keys(kit).filter((name) => name !== "default").sort(), results, writes, afterExpiry, fault, mocked };
}
`;
const RESULT = {
  names: NAMES,
  results: [
    [null, "OK"],
    [null, "1"],
  ],
  writes: 1,
  afterExpiry: null,
  fault: "WRONGTYPE by order",
  mocked: "2",
};

const TYPED_USE = `
import Redis from "ioredis";
import {
  FaultProxy, RealCluster, RealSentinels, RealServer, TestServer, useServer,
  type RealServerOptions, type ServerInUse, type ServerSnapshot, type TestServerOptions,
} from "ioredis/testing";
import MockRedis, { mockServer } from "ioredis/testing/mock";
import OwnMock, { Cluster as OwnCluster } from "sluice-testing/mock";

export async function use(): Promise<void> {
  const options: RealServerOptions = { kind: "valkey", version: "9", tls: true, args: ["--maxmemory", "1mb"] };
  const real: RealServer = await RealServer.start(options);
  real.pause();
  await Promise.all([real.kill(), real.restart(), real.flush(), real.stop()]);
  const cluster: RealCluster = await RealCluster.start({ masters: 3, replicas: 1 });
  const [node] = await cluster.masters();
  if (node) await Promise.all([cluster.moveSlot(1, node), cluster.failover(node), cluster.flush()]);
  const sentinels: RealSentinels = await RealSentinels.start({ replicas: 1, sentinels: 3 });
  await sentinels.failover();
  const proxy = await FaultProxy.start({ host: real.host, port: real.port });
  proxy.cut({ afterBytes: 1, direction: "toServer" });
  proxy.stall(10);
  proxy.stall("toClient");
  proxy.halfOpen();
  proxy.delay(1);
  proxy.chunk(1);
  proxy.corrupt((bytes: Buffer) => bytes);
  proxy.limitRate(1_000);
  const count: number = proxy.commands.length + proxy.writes.length;
  const wanted: TestServerOptions = { version: "valkey-9.1", path: "/tmp/s" };
  const server: TestServer = await TestServer.start(wanted);
  const clean: ServerSnapshot = server.snapshot();
  server.advance(count);
  server.seed(1);
  server.faults.latency(1);
  server.faults.oom();
  server.faults.readonly();
  server.restore(clean);
  const inUse: ServerInUse = useServer({ version: "8.2" });
  const client: Redis = new MockRedis(inUse.url);
  mockServer().flush();
  client.disconnect();
  const own: OwnMock = new OwnMock(inUse.url);
  const same: Redis = own;
  const reply: string | null = await new OwnCluster([7000]).get("key");
  // @ts-expect-error the mock has the methods of the client and no others
  own.nothing();
  void [same, reply];
}
`;

describe("the test kit of the packed package", function () {
  this.timeout(INSTALL_TIMEOUT_MS);
  let application: Application;

  before(async () => {
    application = await Application.create({
      ioredis: await packPackage(),
      "sluice-testing": await packTestKit(),
    });
  });

  it("works as CommonJS", async () => {
    const code = `${JOB}
      const mock = require("ioredis/testing/mock");
      job(require("ioredis"), require("ioredis/testing"), mock.default ?? mock)
        .then((result) => console.log(JSON.stringify(result)));`;
    expect(await application.evaluate("kit.cjs", code)).to.deep.equal(RESULT);
  });

  it("goes on when modules were forgotten, as Jest does between tests", async () => {
    const code = `
      const { TestServer } = require("ioredis/testing");
      for (const path of Object.keys(require.cache)) delete require.cache[path];
      const Redis = require("ioredis");
      async function job() {
        const server = await TestServer.start();
        const redis = new Redis(server.url);
        await redis.hset("a", "field", "1");
        const refused = await redis.lpush("a", "1").catch((error) => error.message);
        const kept = server.state.get("a");
        await redis.quit();
        await server.stop();
        console.log(JSON.stringify([refused, kept]));
      }
      job();`;
    expect(await application.evaluate("forgotten.cjs", code)).to.deep.equal([
      "WRONGTYPE Operation against a key holding the wrong kind of value",
      { field: "1" },
    ]);
  });

  it("answers where nothing can be loaded any more", async () => {
    const code = `
      const Module = require("node:module");
      const { TestServer } = require("ioredis/testing");
      const COMMANDS = [
        ["hset", "h", "f", "1"], ["xadd", "x", "1-1", "f", "1"], ["zadd", "z", "1", "m"], ["lpush", "l", "1"],
        ["sadd", "s", "1"], ["setbit", "b", "0", "1"], ["pfadd", "p", "1"], ["sort", "l"], ["acl", "whoami"],
        ["publish", "c", "m"], ["multi"], ["discard"], ["zunion", "1", "z"], ["dump", "h"],
      ];
      async function answers(server) {
        const stream = server.connect();
        let text = "";
        stream.on("data", (chunk) => { text += chunk.toString("latin1"); });
        const encode = (words) => "*" + words.length + "\\r\\n" + words.map((w) => "$" + w.length + "\\r\\n" + w + "\\r\\n").join("");
        stream.write(COMMANDS.map(encode).join("") + encode(["echo", "the end"]));
        while (!text.includes("the end")) await new Promise((resolve) => setImmediate(resolve));
        return (text.match(/^-.*/gm) ?? []).length;
      }
      async function run() {
        const before = TestServer.inMemory();
        await new Promise((resolve) => { before.connect().on("data", resolve).write("*2\\r\\n$4\\r\\necho\\r\\n$1\\r\\n1\\r\\n"); });
        const { _load } = Module;
        const refuse = (request, parent, isMain) => {
          const isThere = Module.isBuiltin(request) || require.cache[Module._resolveFilename(request, parent)];
          if (isThere) return _load(request, parent, isMain);
          throw new Error("no loader");
        };
        Module._load = refuse;
        const atFirst = await answers(before);
        const late = await answers(TestServer.inMemory({ cluster: 1 })).catch((error) => error.message);
        console.log(JSON.stringify([atFirst, late]));
      }
      run();`;
    expect(await application.evaluate("preload.cjs", code)).to.deep.equal([0, 0]);
  });

  it("works as an ES module", async () => {
    const code = `
      import Redis from "ioredis";
      import * as kit from "ioredis/testing";
      import MockRedis from "ioredis/testing/mock";
      ${JOB}
      console.log(JSON.stringify(await job(Redis, kit, MockRedis)));`;
    // A namespace of CommonJS also has the whole as "module.exports".
    const result = (await application.evaluate("kit.mjs", code)) as { names: string[] };
    const names = result.names.filter((name) => name !== "module.exports");
    expect({ ...result, names }).to.deep.equal(RESULT);
  });

  it("is the same under its own name, and mocks the client that is installed as ioredis", async () => {
    const code = `
      import MockRedis, { mockServer, Redis } from "sluice-testing/mock";
      import * as door from "ioredis/testing/mock";
      import { TestServer } from "sluice-testing";
      import * as kit from "ioredis/testing";
      import { Redis as Client } from "ioredis";
      const redis = new MockRedis();
      await redis.set("a", "1");
      await redis.quit();
      console.log(JSON.stringify([
        MockRedis === door.default && Redis === MockRedis && mockServer === door.mockServer,
        TestServer === kit.TestServer, redis instanceof Client, mockServer().state.get("a"),
      ]));`;
    expect(await application.evaluate("own-name.mjs", code)).to.deep.equal([true, true, true, "1"]);
  });

  it("stays under its size", async () => {
    const { files } = await packTestKit();
    const code = files.filter(({ path }) => /\.m?js$/.test(path));
    const bytes = code.reduce((sum, { size }) => sum + size, 0);
    console.log(`      test kit: ${(bytes / 1024).toFixed(0)} KiB`);
    expectAtMost(bytes, SIZES.kit);
  });

  it("says which package is missing", async () => {
    const alone = await Application.create({ ioredis: await packPackage() });
    const code = `
      const errorOf = (path) => { try { require(path); } catch (error) { return [error.code, error.message]; } };
      import("ioredis/testing").then(undefined, ({ code, message }) => [code, message])
        .then((rejected) => console.log(JSON.stringify([errorOf("ioredis/testing"), errorOf("ioredis/testing/mock"), rejected])));`;
    const expected = [
      "MODULE_NOT_FOUND",
      "The test kit is the package sluice-testing, which is not installed: npm install --save-dev sluice-testing",
    ];
    expect(await alone.evaluate("missing.cjs", code)).to.deep.equal([expected, expected, expected]);
  });

  it("says which client is missing", async () => {
    const kit = await Application.create({ "sluice-testing": await packTestKit() });
    const code = `try { require("sluice-testing/mock"); } catch (error) { console.log(JSON.stringify(error.message)); }`;
    expect(await kit.evaluate("no-client.cjs", code)).to.match(/found no client\. Install sluice/);
    kit.write("node_modules/ioredis/package.json", JSON.stringify({ name: "ioredis", version: "5.4.1" }));
    expect(await kit.evaluate("other-client.cjs", code)).to.match(/"ioredis" is ioredis 5\.4\.1/);
  });

  for (const [module, fileName] of [
    ["commonjs", "kit-use.cts"],
    ["node16", "kit-use.mts"],
  ] as const) {
    it(`has types for ${fileName}`, async () => {
      application.write(
        fileName,
        module === "commonjs" ? TYPED_USE : TYPED_USE.replace("import Redis", "import { Redis }"),
      );
      const options =
        module === "commonjs"
          ? { module: "node16", esModuleInterop: true }
          : { module: "node16", skipLibCheck: false };
      expect(await application.compile(options, [fileName])).to.equal("");
    });
  }
});
