/** NestJS: the Redis transport of its microservices, @liaoliaots/nestjs-redis, the throttler's storage. */

require("reflect-metadata");
const assert = require("node:assert/strict");
const { RedisModule, RedisService } = require("@liaoliaots/nestjs-redis");
const { ThrottlerStorageRedisService } = require("@nest-lab/throttler-storage-redis");
const { Controller, Module } = require("@nestjs/common");
const { NestFactory } = require("@nestjs/core");
const { ClientProxyFactory, EventPattern, MessagePattern, Transport } = require("@nestjs/microservices");
const Redis = require("ioredis");
const { firstValueFrom, lastValueFrom, toArray, from } = require("rxjs");

const address = { host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) };
const heard = [];

class MathController {
  sum(numbers) {
    return numbers.reduce((total, number) => total + number, 0);
  }

  several() {
    return from([1, 2, 3]);
  }

  fail() {
    throw new Error("not today");
  }

  created(data) {
    heard.push(data);
  }
}

function decorate(method, decorator) {
  decorator(
    MathController.prototype,
    method,
    Object.getOwnPropertyDescriptor(MathController.prototype, method),
  );
}

Controller()(MathController);
decorate("sum", MessagePattern({ cmd: "sum" }));
decorate("several", MessagePattern("several"));
decorate("fail", MessagePattern("fail"));
decorate("created", EventPattern("user.*"));

class MathModule {}
Module({ controllers: [MathController] })(MathModule);

describe("@nestjs/microservices over Redis", () => {
  let service;
  let client;

  before(async () => {
    service = await NestFactory.createMicroservice(MathModule, {
      transport: Transport.REDIS,
      options: { ...address, wildcards: true },
      logger: false,
    });
    await service.listen();
    client = ClientProxyFactory.create({ transport: Transport.REDIS, options: address });
    await client.connect();
  });

  after(async () => {
    client.close();
    await service.close();
  });

  it("answers requests, in parallel, with one value or several", async () => {
    assert.equal(await firstValueFrom(client.send({ cmd: "sum" }, [1, 2, 3])), 6);
    const sums = [...Array(50).keys()].map((n) => firstValueFrom(client.send({ cmd: "sum" }, [n, 1])));
    assert.deepEqual(
      await Promise.all(sums),
      [...Array(50).keys()].map((n) => n + 1),
    );
    assert.deepEqual(await lastValueFrom(client.send("several", {}).pipe(toArray())), [1, 2, 3]);
  });

  it("hands failures over, and events by pattern", async () => {
    await assert.rejects(firstValueFrom(client.send("fail", {})));
    await lastValueFrom(client.emit("user.created", { id: 1 }));
    for (let tries = 0; heard.length === 0 && tries < 200; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.deepEqual(heard, [{ id: 1 }]);
  });
});

describe("@liaoliaots/nestjs-redis", () => {
  it("injects named clients and closes them with the application", async () => {
    class AppModule {}
    Module({
      imports: [
        RedisModule.forRoot({
          readyLog: false,
          errorLog: false,
          config: [address, { ...address, namespace: "other", db: 4 }],
        }),
      ],
    })(AppModule);
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
    const main = app.get(RedisService).getOrThrow();
    const other = app.get(RedisService).getOrThrow("other");
    await main.set("where", "0");
    assert.equal(await other.get("where"), null);
    assert.equal(other.options.db, 4);
    await app.close();
    for (let tries = 0; main.status !== "end" && tries < 200; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(main.status, "end");
  });
});

describe("@nest-lab/throttler-storage-redis", () => {
  it("counts hits and blocks", async () => {
    const redis = new Redis(address);
    const storage = new ThrottlerStorageRedisService(redis);
    const hits = [];
    for (let n = 0; n < 4; n++) hits.push(await storage.increment("visitor", 5_000, 2, 5_000, "default"));
    assert.deepEqual(
      hits.map(({ totalHits }) => totalHits),
      [1, 2, 3, 4],
    );
    assert.deepEqual(
      hits.map(({ isBlocked }) => isBlocked),
      [false, false, true, true],
    );
    await redis.quit();
    const own = new ThrottlerStorageRedisService(address);
    assert.equal((await own.increment("other", 1_000, 2, 0, "default")).totalHits, 1);
    own.onModuleDestroy();
  });
});
