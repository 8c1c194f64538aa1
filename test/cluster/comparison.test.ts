/** Tries each row of the table in docs/comparison.md on each client that it names, on a real server and a cluster. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { ClusterFixture } from "../support/cluster-fixture";
import { sharedServer } from "../support/shared-servers";

const root = checkoutDirectory();
const PROBE = join(root, "test", "cluster", "comparison", "probe.cjs");
const BUILT = join(root, "built", "index.js");
const FIRST_TOPIC = "ioredis API";

/** The answers of the page by client and row. */
function tableOfPage(): Map<string, Record<string, string>> {
  const lines = readFileSync(join(root, "docs", "comparison.md"), "utf8").split("\n");
  const first = lines.findIndex((line) => line.startsWith(`| ${FIRST_TOPIC} |`));
  const cellsOf = (line = ""): string[] =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const [, ...clients] = cellsOf(lines[first - 2]);
  const table = new Map<string, Record<string, string>>(clients.map((client) => [client, {}]));
  for (const line of lines.slice(first)) {
    if (!line.startsWith("|")) break;
    const [topic = "", ...answers] = cellsOf(line);
    for (const [index, client] of clients.entries()) {
      (table.get(client) as Record<string, string>)[topic] = answers[index] ?? "";
    }
  }
  return table;
}

describe("docs/comparison.md", function () {
  this.timeout(60_000);
  const fixture = new ClusterFixture(ServerKind.Redis).install();
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  for (const [client, expected] of tableOfPage()) {
    it(`says what ${client} does`, async () => {
      const masters = await fixture.cluster.masters();
      const ports = [server.port, ...masters.map(({ port }) => port)];
      const output = execFileSync(process.execPath, [PROBE, client, BUILT, ...ports.map(String)], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
      // valkey-glide logs to the same stream.
      expect(JSON.parse(output.trim().split("\n").at(-1) ?? "")).to.deep.equal(expected);
    });
  }
});
