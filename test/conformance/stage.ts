/** Opens what a behaviour needs, for one class of clients, and closes it again. */

import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Redis } from "../../src/client/redis";
import { type FakeHandler, FakeServer } from "../support/fake-server";
import { FaultProxy } from "../support/fault-proxy";
import { sharedServer } from "../support/shared-servers";
import type { ClientClass, Combination, Stage } from "./behaviour";

const CLOSING_TIME_MS = 1_000;

export class OpenStage implements Stage {
  private readonly clients: Redis[] = [];
  private readonly helpers: { stop(): Promise<void> }[] = [];

  private constructor(
    readonly combination: Combination,
    readonly Client: ClientClass,
    private readonly process: ServerProcess | null,
  ) {}

  /** `isAlone`: without a server. */
  static async open(combination: Combination, Client: ClientClass, isAlone: boolean): Promise<OpenStage> {
    return new OpenStage(combination, Client, isAlone ? null : await sharedServer(combination.kind));
  }

  get server(): ServerProcess {
    if (this.process === null) throw new Error("A behaviour that is alone has no server");
    return this.process;
  }

  make(options: RedisOptions = {}): Redis {
    const { host, port } = this.server;
    return this.bare({ host, port, ...options });
  }

  bare(...args: unknown[]): Redis {
    const { protocol, replyMapping, autoPipelining } = this.combination;
    const last = args[args.length - 1];
    const given = typeof last === "object" && last !== null ? (args.pop() as RedisOptions) : {};
    const options = { protocol, replyMapping, enableAutoPipelining: autoPipelining, ...given };
    const redis = new this.Client(...args, options);
    this.clients.push(redis);
    return redis;
  }

  async redis(options?: RedisOptions): Promise<Redis> {
    const redis = this.make(options);
    if (redis.status !== "ready") await new Promise<void>((resolve) => redis.once("ready", () => resolve()));
    return redis;
  }

  admin(...args: (string | number)[]): Promise<unknown> {
    return this.server.command(...args);
  }

  async fake(handler?: FakeHandler): Promise<FakeServer> {
    const fake = await FakeServer.start(handler);
    this.helpers.push(fake);
    return fake;
  }

  async proxy(): Promise<FaultProxy> {
    const { host, port } = this.server;
    const proxy = await FaultProxy.start({ host, port });
    this.helpers.push(proxy);
    return proxy;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.splice(0).map(end));
    await Promise.all(this.helpers.splice(0).map((helper) => helper.stop()));
  }
}

/** Ends a client in any state; one that cannot end by itself is not waited for. */
function end(redis: Redis): Promise<void> {
  if (redis.status === "end") return Promise.resolve();
  redis.on("error", () => {});
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CLOSING_TIME_MS);
    redis.once("end", () => {
      clearTimeout(timer);
      resolve();
    });
    if (redis.status === "wait") {
      clearTimeout(timer);
      resolve();
    } else redis.disconnect();
  });
}
