/** Commands of every data type as applications call and use them. */

import type Redis from "client-under-test";

export class DataTypes {
  constructor(private readonly client: Redis) {}

  async hashes(key: string) {
    await this.client.hset(key, { a: 1, b: "x" });
    await this.client.hset(key, "f", 1);
    await this.client.hset(key, "f", "v", "g", "w");
    await this.client.hmset(key, { x: "y" });
    await this.client.hmset(key, "a", "b");
    await this.client.hset(key, new Map([["a", "b"]]));
    const h = await this.client.hgetall(key);
    h.a.length;
    Object.keys(h);
    const v: string | null = await this.client.hget(key, "a");
    const vs: (string | null)[] = await this.client.hmget(key, "a", "b");
    await this.client.hmget(key, ...["a"]);
    await this.client.hincrby(key, "f", 1);
    await this.client.hdel(key, "a", "b");
    await this.client.hdel(key, ...["a"]);
    const has: number = await this.client.hexists(key, "f");
    await this.client.hincrbyfloat(key, "f", 1.5);
    const [cur, flat] = await this.client.hscan(key, 0, "COUNT", 10);
    return [v, vs, has, cur, flat];
  }
  async sets(key: string) {
    await this.client.sadd(key, "a", "b");
    await this.client.sadd(key, ["a", "b"]);
    await this.client.sadd(key, ...[1, 2]);
    await this.client.srem(key, "a");
    await this.client.srem(key, ["a"]);
    const m: string[] = await this.client.smembers(key);
    const is: number = await this.client.sismember(key, "a");
    const p: string | null = await this.client.spop(key);
    const ps: string[] = await this.client.spop(key, 2);
    const r: string[] = await this.client.srandmember(key, 2);
    await this.client.sinter("a", "b");
    await this.client.sunionstore("d", ["a", "b"]);
    await this.client.smove("a", "b", "m");
    return [m, is, p, ps, r];
  }
  async zsets(key: string) {
    await this.client.zadd(key, 1, "a");
    await this.client.zadd(key, "NX", 1, "a");
    await this.client.zadd(key, ...[1, "a", 2, "b"]);
    await this.client.zadd(key, "GT", "CH", 5, "m");
    const a: string[] = await this.client.zrange(key, 0, "-1");
    const b = await this.client.zrangebyscore(key, "-inf", "+inf", "LIMIT", 0, 10);
    const c = await this.client.zrevrange(key, 0, 9, "WITHSCORES");
    const s: string | null = await this.client.zscore(key, "a");
    const rank: number | null = await this.client.zrank(key, "a");
    const inc: string = await this.client.zincrby(key, 1, "a");
    await this.client.zrem(key, "a", "b");
    await this.client.zrem(key, ...["a"]);
    await this.client.zrangebyscore(key, 0, "(5", "WITHSCORES", "LIMIT", 0, 5);
    const pop: string[] = await this.client.zpopmin(key, 5);
    const bz = await this.client.bzpopmin(key, 0);
    bz?.[1];
    await this.client.zremrangebyrank(key, 0, 5);
    await this.client.zrange(key, 0, "-1", "REV", "WITHSCORES");
    await this.client.zrange(key, "(1", "5", "BYSCORE", "LIMIT", 0, 5);
    await this.client.zunionstore("d", 2, "a", "b", "WEIGHTS", 1, 2);
    await this.client.zinterstore("d", 2, ["a", "b"]);
    await this.client.zcount(key, "-inf", "+inf");
    await this.client.zrevrangebyscore(key, "+inf", "-inf", "WITHSCORES");
    return [a, b, c, s, rank, inc, pop];
  }
  async lists(key: string) {
    await this.client.lpush(key, "a", "b");
    await this.client.rpush(key, ...["a"]);
    const x: string | null = await this.client.lpop(key);
    const l: string[] = await this.client.lrange(key, 0, -1);
    const b = await this.client.blpop(key, 0);
    const [k, v] = b!;
    await this.client.brpop([key, "k"], 5);
    await this.client.ltrim(key, 0, 9);
    await this.client.lrem(key, 0, "a");
    await this.client.llen(key);
    await this.client.rpoplpush("a", "b");
    await this.client.brpoplpush("a", "b", 0);
    const xs: string[] | null = await this.client.lpop(key, 5);
    await this.client.lmove("a", "b", "LEFT", "RIGHT");
    await this.client.linsert(key, "BEFORE", "p", "v");
    await this.client.lset(key, 0, "x");
    await this.client.lindex(key, 0);
    await this.client.blmove("a", "b", "LEFT", "RIGHT", 0);
    const item: string = await this.client.rpoplpush("a", "b");
    return [x, l, k, v, xs, item];
  }
  async streams(key: string) {
    const id = await this.client.xadd(key, "*", "f", "v");
    await this.client.xadd(key, "MAXLEN", "~", 1000, "*", "f", "v", "g", 1);
    const r = await this.client.xread("COUNT", 10, "BLOCK", 1000, "STREAMS", key, "0");
    if (r)
      for (const [stream, entries] of r)
        for (const [eid, fields] of entries) {
          stream.length;
          eid.length;
          fields.length;
        }
    const rg = (await this.client.xreadgroup(
      "GROUP",
      "g",
      "c",
      "COUNT",
      10,
      "BLOCK",
      1000,
      "STREAMS",
      key,
      ">",
    )) as [string, [string, string[]][]][] | null;
    rg?.[0][1][0][1];
    await this.client.xgroup("CREATE", key, "g", "$", "MKSTREAM");
    await this.client.xack(key, "g", "1-0", "2-0");
    await this.client.xack(key, "g", ...["1-0"]);
    await this.client.xdel(key, "1-0");
    await this.client.xlen(key);
    await this.client.xtrim(key, "MAXLEN", "~", 1000);
    await this.client.xtrim(key, "MAXLEN", 1000);
    const range = await this.client.xrange(key, "-", "+", "COUNT", 10);
    range[0][1];
    await this.client.xpending(key, "g");
    await this.client.xpending(key, "g", "-", "+", 10);
    await this.client.xpending(key, "g", "-", "+", 10, "c");
    await this.client.xclaim(key, "g", "c", 1000, "1-0");
    await this.client.xautoclaim(key, "g", "c", 1000, "0", "COUNT", 10);
    const info = (await this.client.xinfo("STREAM", key)) as any[];
    const g = (await this.client.xinfo("GROUPS", key)) as unknown[][];
    await this.client.xrevrange(key, "+", "-", "COUNT", 1);
    return [id, info, g];
  }
  async misc() {
    const pong: string = await this.client.ping();
    await this.client.ping("x");
    const info = await this.client.info();
    await this.client.info("memory");
    await this.client.config("SET", "a", "b");
    const conf = await this.client.config("GET", "maxmemory");
    (conf as string[])[1];
    await this.client.dbsize();
    await this.client.flushall();
    await this.client.flushdb("ASYNC");
    const t: number = await this.client.ttl("k");
    await this.client.pttl("k");
    await this.client.expire("k", 5);
    await this.client.expireat("k", 5);
    await this.client.exists("a", "b");
    await this.client.exists(["a"]);
    await this.client.type("k");
    const ks: string[] = await this.client.keys("*");
    await this.client.rename("a", "b");
    await this.client.persist("k");
    const ti = await this.client.time();
    const secs = Number(ti[0]);
    await this.client.publish("c", "m");
    const cnt = (await this.client.subscribe("a", "b")) as number;
    await this.client.psubscribe("a*");
    await this.client.unsubscribe("a");
    await this.client.unsubscribe();
    await this.client.script("LOAD", "return 1");
    const sha = (await this.client.script("LOAD", "return 1")) as string;
    const ex = (await this.client.script("EXISTS", sha)) as number[];
    await this.client.object("ENCODING", "k");
    await this.client.memory("USAGE", "k");
    await this.client.client("LIST");
    await this.client.client("SETNAME", "n");
    await this.client.client("KILL", "ID", 5);
    await this.client.client("TRACKING", "ON", "REDIRECT", 5, "BCAST");
    await this.client.wait(1, 100);
    await this.client.watch("a", "b");
    await this.client.watch(["a"]);
    await this.client.unwatch();
    await this.client.select(1);
    await this.client.auth("p");
    await this.client.auth("u", "p");
    await this.client.bitcount("k");
    await this.client.setbit("k", 1, 1);
    await this.client.bitfield("k", "SET", "u8", 0, 1);
    await this.client.pfadd("k", "a");
    await this.client.pfcount("k");
    await this.client.geoadd("k", 1, 2, "m");
    await this.client.geosearch("k", "FROMLONLAT", 1, 2, "BYRADIUS", 5, "km", "ASC");
    await this.client.georadius("k", 1, 2, 5, "km", "WITHDIST");
    await this.client.geodist("k", "a", "b", "KM");
    await this.client.sort("k", "BY", "w_*", "GET", "#", "ALPHA" as any);
    await this.client.copy("a", "b");
    await this.client.getset("a", "b");
    await this.client.getdel("a");
    await this.client.getex("a", "EX", 10);
    await this.client.setnx("a", "b");
    await this.client.mset({ a: 1 });
    await this.client.mset("a", "b", "c", 1);
    await this.client.mset(...["a", "b"]);
    await this.client.msetnx("a", 1);
    await this.client.mget("a", "b");
    await this.client.mget(["a"]);
    await this.client.mget(...["a"]);
    await this.client.incrby("a", 1);
    await this.client.incrbyfloat("a", 0.1);
    await this.client.append("a", "b");
    await this.client.strlen("a");
    await this.client.getrange("a", 0, 1);
    await this.client.decrby("a", 1);
    await this.client.slowlog("GET", 10);
    await this.client.debug("SLEEP", 1);
    await this.client.function("LOAD", "x");
    await this.client.fcall("f", 1, "k", "a");
    await this.client.cluster("INFO");
    await this.client.cluster("SLOTS");
    await this.client.cluster("NODES");
    await this.client.role();
    await this.client.lastsave();
    await this.client.swapdb(0, 1);
    await this.client.pubsub("CHANNELS");
    await this.client.pubsub("NUMSUB", "a");
    await this.client.acl("WHOAMI");
    await this.client.latency("RESET");
    await this.client.hello(3);
    await this.client.reset();
    return [pong, info, t, ks, secs, cnt, ex];
  }
  async any() {
    const j = (await this.client.call("JSON.GET", "k", "$")) as string;
    await this.client.call("FT.SEARCH", ["idx", "*"]);
    await this.client.callBuffer("GET", "k");
    const args: (string | number | Buffer)[] = ["a", 1];
    await this.client.call("X", ...args);
    await this.client.call("X", args);
    this.client.call("X", "a", (err, r) => {});
    const b: Buffer | null = await this.client.getBuffer("k");
    await this.client.hgetallBuffer("k");
    await this.client.lrangeBuffer("k", 0, -1);
    await this.client.set("k", Buffer.from("x"));
    await this.client.set(Buffer.from("k"), 5);
    const sb = await this.client.getBuffer(Buffer.from("k"));
    return [j, b, sb];
  }
}
