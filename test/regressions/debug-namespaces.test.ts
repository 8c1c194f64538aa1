/** The debug output has a namespace for each part of the client, and each can be switched on alone. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ClusterFixture } from "../support/cluster-fixture";
import { ServerFixture } from "../support/server-fixture";

const run = promisify(execFile);
const entry = JSON.stringify(join(__dirname, "../../src/index.js"));

/** The lines that a program writes with this setting of DEBUG. */
async function linesOf(setting: string, program: string): Promise<string[]> {
  const source = `const { Redis, Cluster } = require(${entry}); (async () => {${program}})();`;
  const env = { ...process.env, DEBUG: setting, DEBUG_COLORS: "no" };
  const { stderr } = await run(process.execPath, ["-e", source], { env });
  return stderr.split("\n").filter((line) => line.includes("sluice:"));
}

function namespacesOf(lines: readonly string[]): string[] {
  return [...new Set(lines.map((line) => /sluice:\w+/.exec(line)?.[0] ?? ""))].sort();
}

describe("debug output", () => {
  const fixture = new ServerFixture().install();
  const clusters = new ClusterFixture().install();

  const single = (): string => `
    const redis = new Redis({ host: "${fixture.server.host}", port: ${fixture.server.port} });
    await redis.set("key", "a-secret-value");
    await redis.pipeline().get("key").get("key").exec();
    await redis.quit();`;

  it("of a client tells its connection, commands and pipelines", async () => {
    const lines = await linesOf("sluice:*", single());
    expect(namespacesOf(lines)).to.deep.equal([
      "sluice:command",
      "sluice:connection",
      "sluice:flush",
      "sluice:pipeline",
      "sluice:redis",
    ]);
    const text = lines.join("\n");
    expect(text).to.match(/sluice:connection connecting to .*sluice:connection connected to /s);
    expect(text)
      .to.match(/sluice:command write set \[ 'key', '\?' \]/)
      .and.not.contain("a-secret-value");
  });

  it("of pipelines and flushes is one line each, without values", async () => {
    const lines = await linesOf("sluice:pipeline,sluice:flush", single());
    const pipelines = lines.filter((line) => line.includes("sluice:pipeline"));
    expect(pipelines).to.have.lengthOf(1);
    expect(pipelines[0]).to.match(
      /pipeline of 2 \(2 get\) to [\d.]+:\d+: [\d.]+ ms, [\d.]+ queued, no errors/,
    );
    // Whether other processes share the processor decides when the two are written.
    expect(lines.join("\n"))
      .to.match(/sluice:flush 2 commands, \d+ bytes, 0 in flight, by (?:early|run|turn)/)
      .and.not.contain("a-secret-value");
  });

  it("can be had of one part alone", async () => {
    expect(namespacesOf(await linesOf("sluice:pipeline", single()))).to.deep.equal(["sluice:pipeline"]);
    expect(await linesOf("other:*", single())).to.deep.equal([]);
  });

  it("of a cluster tells its nodes, refreshes and subscribers", async () => {
    const seeds = JSON.stringify(clusters.cluster.seeds);
    const lines = await linesOf(
      "sluice:cluster,sluice:pool,sluice:subscriber",
      `const cluster = new Cluster(${seeds}); await cluster.get("a"); await cluster.subscribe("news"); await cluster.quit();`,
    );
    expect(namespacesOf(lines)).to.deep.equal(["sluice:cluster", "sluice:pool", "sluice:subscriber"]);
    expect(lines.join("\n")).to.match(/slots refreshed, \d+ nodes/);
  });

  it("of a client that finds no server tells the hint", async () => {
    const lines = await linesOf(
      "sluice:redis",
      `const redis = new Redis({ host: "127.0.0.1", port: 1, retryStrategy: null });
       redis.on("error", () => {}); await new Promise((resolve) => redis.once("end", resolve));`,
    );
    expect(lines.join("\n")).to.match(/ECONNREFUSED 127\.0\.0\.1:1 \(hint: No server accepts connections/);
  });

  it("of Sentinels tells why one was passed over", async () => {
    const lines = await linesOf(
      "sluice:sentinel",
      `const redis = new Redis({ sentinels: [{ host: "127.0.0.1", port: 1 }], name: "x", sentinelRetryStrategy: null, retryStrategy: null });
       redis.on("error", () => {}); await new Promise((resolve) => redis.once("end", resolve));`,
    );
    expect(lines.join("\n")).to.match(/sluice:sentinel failed to connect to sentinel 127\.0\.0\.1:1/);
  });
});
