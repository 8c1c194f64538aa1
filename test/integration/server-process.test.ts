/** Servers as the tests use them: they obey, and none of them outlives the process that started it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { findServer } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import { serverKinds, startServer } from "../support/shared-servers";

const DEATH = { timeoutMs: 5_000, what: "the orphan to be gone" };

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

for (const kind of serverKinds()) {
  describe(`server process, ${kind}`, () => {
    let server: ServerProcess;
    before(async () => {
      server = await startServer(kind, { config: { requirepass: "secret" } });
    });
    after(() => server.stop());

    it("answers on its port and its socket file", async () => {
      expect(await server.command("PING")).to.equal("PONG");
      expect(await server.command("CONFIG", "GET", "port")).to.deep.equal(["port", String(server.port)]);
      expect(existsSync(server.unixSocketPath)).to.equal(true);
    });

    it("tells errors apart from replies", async () => {
      await server.command("SET", "text", "x");
      const error = await server.command("INCR", "text").catch((reason: Error) => reason);
      expect(error).to.be.an("error").with.property("message").that.includes("not an integer");
      expect(await server.command("GET", "text")).to.equal("x");
      expect(await server.command("GET", "nothing")).to.equal(null);
    });

    it("is found dead after a kill and comes back on its port", async () => {
      const { pid, port } = server;
      await server.kill();
      expect(isAlive(pid)).to.equal(false);
      expect(server.isRunning).to.equal(false);
      await server.start();
      expect(server.port).to.equal(port);
      expect(await server.command("DBSIZE")).to.equal(0);
    });

    it("stands still while it is paused", async () => {
      server.pause();
      let isAnswered = false;
      const reply = server.command("PING").then((text) => {
        isAnswered = true;
        return text;
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(isAnswered).to.equal(false);
      server.resume();
      expect(await reply).to.equal("PONG");
    });
  });
}

describe("orphans", () => {
  for (const isWholeGroup of [false, true]) {
    it(`die with a ${isWholeGroup ? "group of processes" : "process"} that is killed, and their directories go`, async () => {
      const [kind = "redis"] = serverKinds();
      const { path } = await findServer(kind);
      const servers = join(__dirname, "..", "..", "scripts", "servers");
      const code = `
        const { ServerProcess } = require(${JSON.stringify(join(servers, "server-process.js"))});
        const binary = { path: ${JSON.stringify(path)}, product: "Redis", version: "", source: "" };
        ServerProcess.start({ binary }).then((server) => console.log(server.pid, server.directory));`;
      const child = spawn(process.execPath, ["-e", code], {
        stdio: ["ignore", "pipe", "inherit"],
        detached: isWholeGroup,
      });
      const [line] = (await once(child.stdout, "data")) as [Buffer];
      const [pid = "", directory = ""] = line.toString().trim().split(" ");
      expect(isAlive(Number(pid))).to.equal(true);
      expect(existsSync(directory)).to.equal(true);
      process.kill(isWholeGroup ? -(child.pid as number) : (child.pid as number), "SIGKILL");
      await once(child, "close");
      await waitUntil(async () => !isAlive(Number(pid)) && !existsSync(directory), DEATH);
    });
  }
});
