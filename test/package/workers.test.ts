/** A fresh project on Cloudflare's runtime: the packed package, bundled as Wrangler does it, with a real server behind it. */

import { join } from "node:path";
import { expect } from "chai";
import { Workers } from "../../scripts/servers/workers";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { Application, packPackage } from "./installed-package";

const WORKER = `
import { Redis } from "sluice";
import "sluice/with/auto-pipelining";
import "sluice/with/timeouts";

/** A client as a request makes it. Its errors are in the reply. */
function connect(env, options = {}) {
  const redis = new Redis({ host: "127.0.0.1", port: Number(env.REDIS_PORT), ...options });
  redis.on("error", (error) => errors.push(error.message));
  return redis;
}

const errors = [];

const routes = {
  /** Everything that a runtime may refuse. */
  async "/areas"(env, context) {
    const redis = connect(env, { enableAutoPipelining: true });
    const text = "ü€😀x".repeat(30_000);
    await redis.set("text", text);
    const echoed = await Promise.all(Array.from({ length: 1000 }, (_, i) => redis.echo(String(i))));
    const rows = await redis.pipeline().incr("n").incr("n").exec();
    const replies = { isText: (await redis.get("text")) === text, echoed: echoed.length, rows: rows.length };
    await redis.quit();
    return replies;
  },
  /** A request that shares the isolate with others, each with a client of its own. */
  async "/count"(env, context) {
    const redis = connect(env, { commandTimeout: 5_000 });
    let last = 0;
    for (let i = 0; i < 20; i++) [last] = await Promise.all([redis.incr("count"), redis.ping(), redis.get("text")]);
    context.waitUntil(redis.quit());
    return { isCounted: last > 0 };
  },
  /** A request that ends with commands in flight and others unsent, and closes nothing. */
  async "/leave"(env) {
    const redis = connect(env, { commandTimeout: 30_000, socketTimeout: 30_000 });
    await redis.ping();
    for (let i = 0; i < 100; i++) redis.blpop("nothing", 20).catch(() => {});
    for (let i = 0; i < 100; i++) redis.get("text").catch(() => {});
    return { hasLeft: true };
  },
};

export default {
  async fetch(request, env, context) {
    try {
      const reply = await routes[new URL(request.url).pathname](env, context);
      return Response.json({ ...reply, errors: errors.splice(0) });
    } catch (error) {
      return Response.json({ error: error.message, errors: errors.splice(0) });
    }
  },
};
`;
/** The first date with which a project gets `node:net` and `node:tls`, and one after which all that Workers know of Node is there. */
const DATES = ["2025-05-01", "2026-08-04"];

describe("a fresh project on Cloudflare Workers", function () {
  this.timeout(120_000);
  let application: Application;
  let port: number;

  before(async () => {
    const [kind = "redis"] = serverKinds();
    ({ port } = await sharedServer(kind));
    application = await Application.create({ sluice: await packPackage() });
    application.write("worker.mjs", WORKER);
  });

  for (const compatibilityDate of DATES) {
    describe(`compatibility date ${compatibilityDate}`, () => {
      let workers: Workers;

      before(async () => {
        const entry = join(application.directory, "worker.mjs");
        workers = await Workers.start({ entry, env: { REDIS_PORT: String(port) }, compatibilityDate });
      });
      after(() => workers?.stop());

      const replyOf = async (path: string): Promise<unknown> => (await workers.fetch(path)).json();

      it("sends commands, automatic batches and texts of 300 kB", async () => {
        const reply = { isText: true, echoed: 1000, rows: 2, errors: [] };
        expect(await replyOf("/areas")).to.deep.equal(reply);
      });

      it("serves requests side by side, and goes on after one that left its client behind", async () => {
        for (let round = 0; round < 3; round++) {
          const paths = ["/leave", ...Array.from({ length: 20 }, () => "/count"), "/leave"];
          const replies = await Promise.all(paths.map(replyOf));
          expect(replies.slice(1, -1)).to.deep.equal(
            Array.from({ length: 20 }, () => ({ isCounted: true, errors: [] })),
          );
        }
      });
    });
  }
});
