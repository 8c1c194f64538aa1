// A web service without explicit pipelines. Commands of unrelated requests share socket writes without any option.

import { createServer } from "node:http";
import Redis from "sluice";

const redis = new Redis(process.env.REDIS_URL);
await redis.set("greeting", "hello");

const server = createServer((request, response) => {
  const key = new URL(request.url, "http://localhost").searchParams.get("key");
  redis.get(key, (error, value) => response.end(error ? error.message : value));
});
await new Promise((resolve) => server.listen(0, resolve));

const url = `http://localhost:${server.address().port}/?key=greeting`;
const answers = await Promise.all(
  Array.from({ length: 20 }, () => fetch(url).then((answer) => answer.text())),
);
console.log(answers.every((answer) => answer === "hello"));

server.closeAllConnections();
server.close();
await redis.del("greeting");
await redis.quit();
