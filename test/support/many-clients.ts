/** Clients of the shared server for the tests of a file: opened as a test needs them, closed behind it. */

import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { closeClient } from "./matrix";
import { sharedServer } from "./shared-servers";

export class ManyClients {
  private running: ServerProcess | null = null;
  private clients: Redis[] = [];

  /** @param prepare Called with each client. */
  constructor(private readonly prepare: (redis: Redis) => void = () => {}) {}

  /** Registers the hooks of the surrounding `describe`. */
  install(): this {
    before(async () => {
      this.running = await sharedServer(ServerKind.Redis);
    });
    afterEach(() => this.close());
    return this;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.splice(0).map(closeClient));
  }

  get server(): ServerProcess {
    if (this.running === null) throw new Error("The server runs while a test does");
    return this.running;
  }

  open(options: RedisOptions = {}): Redis {
    const { port, host } = this.server;
    const redis = new Redis({ port, host, retryStrategy: () => 1, ...options });
    redis.on("error", () => {});
    this.prepare(redis);
    this.clients.push(redis);
    return redis;
  }
}
