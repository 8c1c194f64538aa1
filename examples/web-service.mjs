// A complete web service: a time limit for commands, each outage in the log once, and shutdown in the right order.
// It needs no explicit pipelines, because commands of unrelated requests share socket writes.

import { createServer } from "node:http";
import Redis from "sluice";

const redis = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379", { commandTimeout: 1_000 });

// Logs the start and the end of an outage, and each different error once.
let last = "";
const log = (text) => {
  if (text !== last) console.error(`redis: ${text}`);
  last = text;
};
redis.on("reconnecting", () => last || log("connection lost"));
redis.on("error", (error) => log(`${error.message} ${error.hint ?? ""}`)); // one for each failed attempt
redis.on("ready", () => {
  if (last !== "") log("connected again");
  last = "";
});

const server = createServer(async (request, response) => {
  const key = new URL(request.url, "http://localhost").searchParams.get("key") ?? "";
  try {
    const value = await redis.get(key);
    response.writeHead(value === null ? 404 : 200).end(value ?? "not found");
  } catch (error) {
    console.error(error);
    const isRefused = error.code === "REPLY"; // the server works and refuses this command, as for a key of another type
    response.writeHead(isRefused ? 500 : 503).end();
  }
});

async function shutdown() {
  await new Promise((resolve) => server.close(resolve)); // started requests finish first
  await redis.quit({ timeout: 5_000 });
}

process.once("SIGTERM", shutdown);
process.once("SIGINT", shutdown);

// The rest tries the service and ends it. Remove it and listen on your own port.
await new Promise((resolve) => server.listen(0, resolve));
const url = `http://localhost:${server.address().port}/?key=greeting`;
await redis.set("greeting", "hello", "EX", 60);
const answers = await Promise.all(
  Array.from({ length: 20 }, () => fetch(url).then((answer) => answer.text())),
);
console.log(answers.every((answer) => answer === "hello"));
await shutdown();
