/** `sluice top`: the view of a running server. */

import { type ExecFileException, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { closeClient } from "../support/matrix";
import { startServer } from "../support/shared-servers";

const SCRIPT = join(__dirname, "..", "..", "..", "bin", "sluice.mjs");
const PASSWORD = "geheim";

interface Shown {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function top(...args: string[]): Promise<Shown> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SCRIPT, "top", ...args], (error: ExecFileException | null, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

/** The figure behind a name. */
function figure(out: string, name: string): number {
  const [, text = ""] = new RegExp(`${name} +([\\d,.]+)`).exec(out) ?? [];
  return Number(text.replaceAll(",", ""));
}

describe("top", function () {
  this.timeout(30_000);
  let server: ServerProcess;
  let redis: Redis;
  let url: string;

  before(async () => {
    server = await startServer(ServerKind.Redis, { config: { requirepass: PASSWORD } });
    url = `redis://:${PASSWORD}@${server.host}:${server.port}`;
    redis = new Redis(url);
  });
  after(async () => {
    await closeClient(redis);
    await server.stop();
  });

  it("shows commands, how many are read at once, where the time goes and what was slow", async () => {
    await redis.config("SET", "slowlog-log-slower-than", 0);
    await redis.set("private:key", "private value");
    await redis.config("SET", "slowlog-log-slower-than", 10_000_000);
    let isOver = false;
    const shown = top("--once", "--interval=500", url).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const pipeline = redis.pipeline();
      for (let n = 0; n < 100; n++) pipeline.incr("n");
      await pipeline.exec();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const { code, out, err } = await shown;
    expect([code, err]).to.deep.equal([0, ""]);
    expect(figure(out, "commands/s")).to.be.above(500);
    expect(figure(out, "commands per read")).to.be.within(20, 100);
    expect(out).to.match(/INCR +[\d,]+\/s/);
    expect(out).to.match(/SET +[\d.]+ ms {2}2 arguments/);
    for (const secret of [PASSWORD, "private"]) expect(out).to.not.contain(secret);
  });

  it("draws a frame after each time, and the curve", async () => {
    const { code, out } = await top("--frames=3", "--interval=100", url);
    expect(code).to.equal(0);
    expect(out.match(/server time by command/g)).to.have.lengthOf(3);
    expect(out).to.contain("┤");
    expect(out).to.not.contain("\u001b");
  });

  it("leaves out what the user may not ask for", async () => {
    await redis.acl("SETUSER", "guest", "on", `>${PASSWORD}`, "~*", "+info", "+client");
    const { code, out } = await top("--once", "--interval=100", url.replace("://:", "://guest:"));
    expect(code).to.equal(0);
    expect(out.match(/no permission/g)).to.have.lengthOf(2);
  });

  it("says what is wrong, without the password", async () => {
    const gone = await top("--once", `redis://:${PASSWORD}@127.0.0.1:1`);
    expect(gone.code).to.equal(1);
    expect(gone.err).to.match(/127\.0\.0\.1:1 cannot be reached: connect ECONNREFUSED/);
    const refused = await top("--once", url.replace(PASSWORD, "falsch"));
    expect(refused.code).to.equal(1);
    expect(refused.err).to.contain("WRONGPASS");
    expect(gone.err + refused.err).to.not.match(/geheim|falsch/);
    expect((await top("--frames=none", url)).err).to.contain("--frames must be a whole number");
    const unknown = await top("--foo", url);
    expect([unknown.code, unknown.err.split("\n")[0]]).to.deep.equal([1, "Unknown option: --foo"]);
    const neverThere = await top(`redis://127.0.0.1:1`);
    expect([neverThere.code, neverThere.err]).to.deep.equal([
      1,
      "127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1\n",
    ]);
  });

  it("shows how to call it", async () => {
    const { code, out, err } = await top("--help");
    expect([code, err]).to.deep.equal([0, ""]);
    expect(out).to.contain("redis://");
  });

  it("ends without an error when the reader of its output ends", async () => {
    const child = spawn(process.execPath, [SCRIPT, "top", "--interval=50", url]);
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    const ended = once(child, "close");
    await once(child.stdout, "data");
    child.stdout.destroy();
    expect([(await ended)[0], err]).to.deep.equal([0, ""]);
  });
});
