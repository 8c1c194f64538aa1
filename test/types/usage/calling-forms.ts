/** Callbacks, arrays, helpers over pipelines, and what is done with the rows of exec(). */

import type Redis from "client-under-test";
import type { Callback, ChainableCommander, RedisKey, RedisValue } from "client-under-test";

export class CallingForms {
  constructor(private readonly client: Redis) {}

  callbacks() {
    this.client.get("k", (err, v) => {
      if (err) throw err;
      v?.length;
    });
    this.client.set("a", "b", (err) => {});
    this.client.set("a", "b", "EX", 5, (err, r) => {});
    this.client.del("a", (err, n) => {});
    this.client.hgetall("h", (err, h) => {
      h?.x;
    });
    this.client
      .multi()
      .get("a")
      .exec((err, results) => {
        results?.[0][1];
      });
    this.client
      .pipeline()
      .get("a", (e, v) => {})
      .exec((e, r) => {});
    this.client.subscribe("a", "b", (err, count) => {});
    this.client.incr("a", (err, n) => {
      n! + 1;
    });
    this.client.mget("a", "b", (e, v) => {
      v?.length;
    });
    this.client.lpush("a", "b", (e: Error | null | undefined, n?: number) => {});
    const cb: Callback<string | null> = (e, v) => {};
    this.client.get("x", cb);
    this.client.zadd("a", 1, "b", (e, n) => {});
    this.client.eval("s", 0, (e, r) => {});
    this.client.keys("*", (e, k) => k?.length);
    this.client.quit((e, r) => {});
    this.client.connect((e) => {});
  }
  arrays() {
    this.client
      .pipeline([
        ["set", "a", "1"],
        ["get", "a"],
      ])
      .exec();
    const cmds: [string, ...(string | number)[]][] = [["set", "a", 1]];
    this.client.pipeline(cmds).exec();
    this.client.multi([["get", "a"]]).exec();
    const c2: string[][] = [];
    this.client.multi(c2).exec();
    this.client.multi({ pipeline: false }).then((x) => x);
    this.client.pipeline(undefined);
    this.client.multi().length;
  }
  helper(p: ChainableCommander, keys: RedisKey[], v: RedisValue): ChainableCommander {
    keys.forEach((k) => p.set(k, v));
    return p;
  }
  useHelper() {
    return this.helper(this.client.multi(), ["a"], 1).exec();
  }
  useHelper2() {
    const p = this.client.pipeline();
    this.helper(p, [], "x");
    return p.exec();
  }
  ret(): ReturnType<Redis["multi"]> {
    return this.client.multi().get("x");
  }
  ret2(): Promise<[error: Error | null, result: unknown][] | null> {
    return this.client.multi().get("x").exec();
  }
  async ret3(): Promise<any[]> {
    return (await this.client.pipeline().get("x").incr("y").exec())!.map((r) => r[1]);
  }
  async ret4() {
    const rs = await this.client.pipeline().get("a").get("b").exec();
    return rs?.map(([err, v]) => {
      if (err) throw err;
      return v as string;
    });
  }
  async ret5() {
    const rs = await this.client.pipeline().get("a").incr("b").exec();
    return (
      rs?.every(([err]) => !err) &&
      rs.some((r) => r[1] === "x") &&
      rs.filter(([e, v]) => v !== null).length > 0 &&
      rs.find(([e]) => e)?.[0]
    );
  }
  async ret6() {
    const rs = (await this.client.multi().get("a").exec())!;
    const last = rs[rs.length - 1][1];
    const f = rs.flat();
    const en = rs.entries();
    rs.forEach((r, i) => r[0]);
    rs.pop();
    return [last, f, en];
  }
  async ret7() {
    const [[e1, r1], [e2, r2]] = (await this.client.pipeline().hgetall("a").smembers("b").exec()) as [
      [Error | null, Record<string, string>],
      [Error | null, string[]],
    ];
    return [e1, r1.x, e2, r2.length];
  }
  async ret8() {
    const results: Array<[Error | null, unknown]> | null = await this.client.pipeline().get("a").exec();
    const r2: [error: Error | null, result: any][] = (await this.client.pipeline().get("a").exec()) || [];
    return [results, r2];
  }
  async ret9() {
    let results: [Error | null, unknown][] | null = null;
    results = await this.client.pipeline().get("a").exec();
    if (results === null || results.length !== 1) throw 1;
    return results;
  }
}
