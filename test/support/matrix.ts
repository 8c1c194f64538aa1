/**
 * One test, written once, run on every combination of server, protocol, reply mapping and
 * auto-pipelining. Servers and clients are opened and closed out here, so that an assertion that
 * fails cannot leave a connection open and hang the run.
 */

import type { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { serverKinds, sharedServer } from "./shared-servers";

export interface MatrixOptions {
  readonly protocols?: readonly (2 | 3)[];
  readonly autoPipelining?: readonly boolean[];
  readonly replyMappings?: readonly ("legacy" | "resp3")[];
  readonly servers?: readonly ServerKind[];
  /** Options of every client, besides those of the combination. */
  readonly options?: RedisOptions;
  /** Commands that the server must know; the test is skipped, and says so, on one that does not. */
  readonly requires?: readonly string[];
}

export interface Combination {
  readonly kind: ServerKind;
  readonly protocol: 2 | 3;
  readonly autoPipelining: boolean;
  readonly replyMapping: "legacy" | "resp3";
}

export interface MatrixContext extends Combination {
  /** Connected and ready, on an empty server. */
  readonly redis: Redis;
  readonly server: ServerProcess;
  /** One more client of the same combination; it is closed after the test. */
  connect(options?: RedisOptions): Redis;
}

export type MatrixBody = (context: MatrixContext) => Promise<void>;

/** The command line may choose one side of the matrix. */
export function isChosen({ protocol, autoPipelining, replyMapping }: Omit<Combination, "kind">): boolean {
  const { SLUICE_PROTOCOL, SLUICE_AUTO_PIPELINING, SLUICE_REPLY_MAPPING } = process.env;
  return (
    (SLUICE_PROTOCOL === undefined || SLUICE_PROTOCOL === String(protocol)) &&
    (SLUICE_AUTO_PIPELINING === undefined || SLUICE_AUTO_PIPELINING === (autoPipelining ? "on" : "off")) &&
    (SLUICE_REPLY_MAPPING === undefined || SLUICE_REPLY_MAPPING === replyMapping)
  );
}

/**
 * The normal run has the whole matrix on the first server. On the others it has each protocol with one side of
 * auto-pipelining, which ends before a server sees a byte; that side alternates, so that every pair of choices is tried.
 */
function withoutTwins(combinations: readonly Combination[]): readonly Combination[] {
  if (process.env.SLUICE_LONG === "1") return combinations;
  const kinds = [...new Set(combinations.map(({ kind }) => kind))];
  return combinations.filter((one) => {
    const { kind, protocol, replyMapping, autoPipelining } = one;
    const isTwin = (other: Combination): boolean =>
      other.kind === kind &&
      other.protocol === protocol &&
      other.replyMapping === replyMapping &&
      other.autoPipelining !== autoPipelining;
    const place = kinds.indexOf(kind);
    return place === 0 || autoPipelining === ((place + protocol) % 2 === 1) || !combinations.some(isTwin);
  });
}

function combinationsOf(options: MatrixOptions): readonly Combination[] {
  const combinations: Combination[] = [];
  for (const kind of options.servers ?? serverKinds()) {
    for (const protocol of options.protocols ?? [2, 3]) {
      for (const replyMapping of options.replyMappings ?? ["legacy"]) {
        // Protocol 2 has only the legacy shapes.
        if (protocol === 2 && replyMapping === "resp3") continue;
        for (const autoPipelining of options.autoPipelining ?? [false, true]) {
          combinations.push({ kind, protocol, autoPipelining, replyMapping });
        }
      }
    }
  }
  return withoutTwins(combinations.filter(isChosen));
}

function titleOf({ kind, protocol, autoPipelining, replyMapping }: Combination): string {
  const mapping = replyMapping === "resp3" ? " resp3 shapes" : "";
  return `${kind}, protocol ${protocol}${mapping}, auto-pipelining ${autoPipelining ? "on" : "off"}`;
}

/** Closes a client and waits until it says that it has ended. */
export async function closeClient(redis: Redis): Promise<void> {
  if (redis.status === "end" || redis.status === "wait") return;
  const ended = new Promise<void>((resolve) => redis.once("end", () => resolve()));
  redis.disconnect();
  await ended;
}

async function lacks(server: ServerProcess, commands: readonly string[]): Promise<string | null> {
  for (const command of commands) {
    const [row] = (await server.command("COMMAND", "INFO", command)) as unknown[];
    if (row === null || row === undefined) return command;
  }
  return null;
}

/** Resolves when the client is ready; rejects when it has ended before. */
export function untilReady(redis: Redis): Promise<void> {
  if (redis.status === "ready") return Promise.resolve();
  return new Promise((resolve, reject) => {
    const onEnd = (): void => reject(new Error("The client ended before it was ready"));
    redis.once("end", onEnd);
    redis.once("ready", () => {
      redis.removeListener("end", onEnd);
      resolve();
    });
  });
}

/** The clients of one test. They are closed by a hook, so also after a test that ran out of time. */
class ClientPool {
  private readonly clients: Redis[] = [];

  open(options: RedisOptions): Redis {
    const redis = new Redis(options);
    this.clients.push(redis);
    return redis;
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.clients.splice(0).map(closeClient));
  }
}

async function runCombination(
  combination: Combination,
  options: MatrixOptions,
  run: { readonly server: ServerProcess; readonly pool: ClientPool; readonly body: MatrixBody },
): Promise<void> {
  const { server, pool, body } = run;
  const connect = (more: RedisOptions = {}): Redis =>
    pool.open({
      host: server.host,
      port: server.port,
      protocol: combination.protocol,
      replyMapping: combination.replyMapping,
      enableAutoPipelining: combination.autoPipelining,
      ...options.options,
      ...more,
    });
  const redis = connect();
  await untilReady(redis);
  await body({ ...combination, redis, server, connect });
}

/** Defines one test for each combination. */
export function matrix(name: string, options: MatrixOptions, body: MatrixBody): void {
  describe(name, () => {
    const pool = new ClientPool();
    const combinations = combinationsOf(options);
    // Started out here, where the leak check of a single test does not see it.
    before(() => Promise.all([...new Set(combinations.map(({ kind }) => kind))].map(sharedServer)));
    afterEach(() => pool.closeAll());
    for (const combination of combinations) {
      it(titleOf(combination), async function () {
        const server = await sharedServer(combination.kind);
        const missing = await lacks(server, options.requires ?? []);
        if (missing !== null) {
          console.log(`      skipped: ${combination.kind} has no ${missing}`);
          this.skip();
        }
        await runCombination(combination, options, { server, pool, body });
      });
    }
  });
}
