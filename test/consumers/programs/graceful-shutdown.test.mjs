/** Fastify and @nestjs/core (Node's shutdown hooks) under load, ended by SIGTERM: no command fails and none is left. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { host, port } from "./support.mjs";

/** Each request has a connection of its own: the service waits for those that are open. */
async function request(url) {
  const [response] = await once(get(url, { agent: false }), "response");
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, text };
}

const CALLERS = 20;
/** Requests that are answered before the service must end. */
const REQUESTS = 200;

describe("services that end under load", () => {
  for (const program of ["graceful-fastify.mjs", "graceful-nest.cjs"]) {
    it(`${program}: no command fails`, async () => {
      const env = { ...process.env, REDIS_HOST: host, REDIS_PORT: String(port) };
      const path = new URL(program, import.meta.url).pathname;
      const service = spawn(process.execPath, [path], { env, stdio: ["ignore", "pipe", "inherit"] });
      const lines = [];
      const output = createInterface({ input: service.stdout });
      const isListening = once(output, "line");
      output.on("line", (line) => lines.push(line));
      const ended = once(service, "exit");
      try {
        const [url] = await isListening;
        let isOver = false;
        let answered = 0;
        const failures = [];
        const call = async () => {
          while (!isOver) {
            // Once the service stops listening, calls are refused: no handler sees them.
            const reply = await request(url).catch(() => null);
            if (reply?.status === 500) failures.push(reply.text);
            if (reply !== null && ++answered === REQUESTS) service.kill("SIGTERM");
          }
        };
        const callers = Array.from({ length: CALLERS }, call);
        await ended;
        isOver = true;
        await Promise.all(callers);
        const { served, failed, left } = JSON.parse(lines.at(-1));
        assert.deepEqual([failed, failures], [0, []]);
        assert.ok(served >= REQUESTS, `${served} calls were served`);
        if (typeof left === "object") assert.equal(left.isDrained, true, JSON.stringify(left));
      } finally {
        service.kill("SIGKILL");
        output.close();
      }
    }).timeout(30_000);
  }
});
