/** A NestJS service that ends on SIGTERM by its shutdown hooks, as docs/recipes.md says. Its last line is what it has counted. */

require("reflect-metadata");
const { createServer } = require("node:http");
const { Module } = require("@nestjs/common");
const { NestFactory } = require("@nestjs/core");
const Redis = require("ioredis");

const counts = { served: 0, failed: 0, left: null };
const redis = new Redis({ host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) });
// The original knows no time limit.
const limits = "bulk" in Redis.prototype ? [{ timeout: 5_000 }] : [];

/** Stops listening, and waits for the requests that have begun. */
class Visits {
  server = createServer((_request, response) => this.count(response));

  async count(response) {
    try {
      const [visits] = await Promise.all([redis.incr("visits"), redis.get("title")]);
      counts.served++;
      response.end(String(visits));
    } catch (error) {
      counts.failed++;
      response.writeHead(500).end(error.message);
    }
  }

  async onModuleInit() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    console.log(`http://127.0.0.1:${this.server.address().port}`);
  }

  async beforeApplicationShutdown() {
    await new Promise((resolve) => this.server.close(resolve));
  }
}

class RedisLifetime {
  async onApplicationShutdown() {
    counts.left = await redis.quit(...limits);
    console.log(JSON.stringify(counts));
  }
}

class Application {}
Module({ providers: [Visits, RedisLifetime] })(Application);

async function main() {
  const app = await NestFactory.createApplicationContext(Application, { logger: false });
  app.enableShutdownHooks();
}

main();
