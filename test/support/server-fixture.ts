/**
 * The shared server without data, a line to it that can be cut, and the clients of one test.
 * Everything is closed by a hook, so also after a test that ran out of time.
 */

import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FaultProxy } from "./fault-proxy";
import { closeClient } from "./matrix";
import { sharedServer } from "./shared-servers";

export class ServerFixture {
  private running: ServerProcess | null = null;
  private line: FaultProxy | null = null;
  private readonly clients: Redis[] = [];
  private controller: Redis | null = null;

  constructor(private readonly kind: ServerKind = ServerKind.Redis) {}

  /** Registers the hooks of the surrounding `describe`. */
  install(): this {
    before(async () => {
      this.running = await sharedServer(this.kind);
    });
    beforeEach(async () => {
      await this.server.command("FLUSHALL");
      this.line = await FaultProxy.start(this.server, { record: false });
    });
    afterEach(async () => {
      this.controller = null;
      await Promise.all(this.clients.splice(0).map(closeClient));
      await this.line?.stop();
      this.line = null;
    });
    return this;
  }

  get server(): ServerProcess {
    if (this.running === null) throw new Error("The server is not running");
    return this.running;
  }

  /** The proxy that `connect` goes through. */
  get proxy(): FaultProxy {
    if (this.line === null) throw new Error("The proxy is open while a test runs");
    return this.line;
  }

  /** A client that no fault of the line reaches. */
  get control(): Redis {
    this.controller ??= this.connectDirectly();
    return this.controller;
  }

  /** A client through the proxy, with an error listener; it reconnects at once. */
  connect(options: RedisOptions = {}): Redis {
    return this.open({ host: this.proxy.host, port: this.proxy.port, retryStrategy: () => 1, ...options });
  }

  /** A client beside the proxy. */
  connectDirectly(options: RedisOptions = {}): Redis {
    return this.open({ host: this.server.host, port: this.server.port, retryStrategy: () => 1, ...options });
  }

  private open(options: RedisOptions): Redis {
    const redis = new Redis(options);
    redis.on("error", () => {});
    this.clients.push(redis);
    return redis;
  }
}
