/** A client for several databases with the same data. */

import { OptionError } from "../../errors";
import type { FailoverDatabase, FailoverSettings } from "../../failover/databases";
import type { RedisOptions } from "../options/redis-options";
import { Redis } from "../redis";
import type { ReplyMappingMode } from "../types";

/** Options of `Failover`: those of `Redis`, and how the databases are checked. */
export interface FailoverOptions
  extends Omit<RedisOptions, "failover" | "host" | "port">,
    Omit<FailoverSettings, "databases"> {}

/**
 * Uses one of several databases with the same data, such as those of two regions. It fails over when the probes of the
 * active database fail, and returns to the preferred database when that is healthy again.
 *
 * @example
 * const redis = new Redis.Failover([
 *   { url: "redis://localhost:6379", weight: 2 },
 *   { url: "redis://localhost:6380", weight: 1 },
 * ]);
 * redis.on("failover", ({ from, to }) => console.log(from, to));
 * await redis.quit();
 */
export class Failover<Mode extends ReplyMappingMode = "legacy"> extends Redis<Mode> {
  constructor(databases: readonly (string | FailoverDatabase)[], options: FailoverOptions = {}) {
    const { probe, failback, ...others } = options;
    for (const name of ["host", "port"]) {
      if (Reflect.get(others, name) !== undefined)
        throw new OptionError(`Redis.Failover has no option ${name}: set the ${name} of each database`);
    }
    super({ ...others, failover: { databases, probe, failback } });
  }
}
