/** A service as applications write it: connection, cache, lock, scan, batches, transactions. */

import Redis, { type RedisOptions } from "client-under-test";

export class CacheService {
  private client: Redis;
  private readonly sub: Redis;
  static instance?: CacheService;
  constructor(private readonly opts: RedisOptions) {
    this.client = new Redis({
      ...opts,
      lazyConnect: true,
      retryStrategy: (times) => Math.min(times * 50, 2000),
      reconnectOnError: (err) => err.message.includes("READONLY"),
      maxRetriesPerRequest: null,
      enableReadyCheck: false,
    });
    this.sub = this.client.duplicate();
    this.client.on("error", (err) => console.error(err.message));
    this.client.on("connect", () => {});
    this.client.on("reconnecting", (ms: number) => console.log(ms));
    this.client.on("end", () => {});
    this.sub.on("message", async (channel, message) => {
      console.log(channel.length, JSON.parse(message));
    });
    this.sub.on("pmessage", (p, c, m) => {});
    this.sub.once("ready", () => {});
    this.sub.removeAllListeners("message");
    this.sub.off("message", () => {});
    this.sub.addListener("x", (...a: any[]) => {});
    this.sub.emit("x", 1);
    this.sub.setMaxListeners(100);
  }
  async get<T>(key: string): Promise<T | null> {
    const raw = await this.client.get(key);
    return raw ? (JSON.parse(raw) as T) : null;
  }
  async set(key: string, value: unknown, ttl?: number): Promise<void> {
    if (ttl) await this.client.set(key, JSON.stringify(value), "EX", ttl);
    else await this.client.set(key, JSON.stringify(value));
    await this.client.setex(key, ttl ?? 60, JSON.stringify(value));
    await this.client.psetex(key, 1000, "v");
  }
  async lock(key: string, token: string, ms: number): Promise<boolean> {
    const ok = await this.client.set(key, token, "PX", ms, "NX");
    return ok === "OK";
  }
  async unlock(key: string, token: string) {
    const script = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`;
    const res = (await this.client.eval(script, 1, key, token)) as number;
    const r2 = await this.client.evalsha("sha", 1, key, token, 5);
    return res === 1 && Number(r2);
  }
  async invalidate(pattern: string) {
    let cursor = "0";
    do {
      const [next, keys] = await this.client.scan(cursor, "MATCH", pattern, "COUNT", 100);
      cursor = next;
      if (keys.length) await this.client.del(...keys);
      if (keys.length > 0) await this.client.unlink(keys);
    } while (cursor !== "0");
    const stream = this.client.scanStream({ match: pattern, count: 100 });
    stream.on("data", (keys: string[]) => {
      const pipeline = this.client.pipeline();
      keys.forEach((k) => pipeline.del(k));
      pipeline.exec();
    });
    for await (const ks of stream) {
      (ks as string[]).length;
    }
    stream.pause();
    stream.resume();
  }
  async batch(entries: Record<string, string>) {
    const pipeline = this.client.pipeline();
    for (const [k, v] of Object.entries(entries)) {
      pipeline.set(k, v);
      pipeline.expire(k, 60);
    }
    const results = await pipeline.exec();
    if (!results) throw new Error("x");
    for (const [err, res] of results) {
      if (err) throw err;
      console.log(res as string);
    }
    return results.map(([, r]) => r as string | null);
  }
  async batch2(keys: string[]) {
    let pipeline = this.client.pipeline();
    for (const k of keys) pipeline = pipeline.get(k);
    const results = (await pipeline.exec()) ?? [];
    return results.reduce<string[]>(
      (acc, [err, val]) => (err || typeof val !== "string" ? acc : [...acc, val]),
      [],
    );
  }
  async tx(key: string) {
    const results = await this.client.multi().incr(key).expire(key, 60).exec();
    const count = results?.[0]?.[1] as number;
    const c2 = results![0][1] as number;
    const [[, n]] = results as [[Error | null, number], [Error | null, number]];
    const all = results as [Error | null, any][];
    const [incrErr, incr] = results![0];
    return count + c2 + n + all.length + (incr as number);
  }
  async slidingWindow(key: string, now: number, win: number) {
    const multi = this.client.multi();
    multi.zremrangebyscore(key, 0, now - win);
    multi.zadd(key, now, `${now}`);
    multi.zcard(key);
    multi.pexpire(key, win);
    const res = await multi.exec();
    const card = res?.[2][1] as number;
    const r2 = await this.client
      .multi()
      .zremrangebyscore(key, "-inf", now)
      .zadd(key, now.toString(), now)
      .zcard(key)
      .zrange(key, 0, "-1", "WITHSCORES")
      .exec();
    const z = r2?.[2]?.[1] as number;
    const list = r2?.[3]?.[1] as string[];
    return card + z + list.length;
  }
}
