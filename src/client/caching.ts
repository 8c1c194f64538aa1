/** Builds the cache of a client. Its code is loaded by those who switch it on. */

import type { CacheStats, ClientCache } from "../caching/client-cache";
import type { TrackedLink, Tracking } from "../caching/tracking";
import type { CommandSpec } from "../command/command-spec";
import { EXECUTE } from "../command/commander";
import type { Dispatcher } from "../command/dispatcher";
import { CacheUnavailableError } from "../errors";
import { callUser } from "../util/user-code";
import type { CacheOptions } from "./options/common-options";
import { watchOptions } from "./options/live-options";

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
const DEFAULT_TTL_MS = 60_000;
const DEFAULT_MAX_STALE_MS = 5000;

/** The cache of a client, for its users. */
export interface CacheView {
  /**
   * The answer to a read if it is in the cache, at once; undefined otherwise. Asks nothing of the server.
   *
   * @example
   * const name = redis.cache.peek("hget", "user:1", "name");
   */
  peek(command: string, ...args: (string | number)[]): unknown;
  /** Numbers since the client was made, and what the cache holds now. */
  stats(): CacheStats;
  /** Drops all answers. */
  clear(): void;
}

/** Of a client without the option `cache`. */
export const NO_CACHE: CacheView = {
  peek: () => undefined,
  stats: () => ({ hits: 0, misses: 0, joined: 0, evictions: 0, invalidations: 0, entries: 0, bytes: 0 }),
  clear() {},
};

/** A client as its cache sees it. */
export interface CachedClient {
  readonly options: {
    readonly cache?: boolean | CacheOptions | null | undefined;
    readonly keyPrefix?: string | Buffer | undefined;
    readonly monitor?: boolean | undefined;
  };
  emit(event: string, ...args: unknown[]): boolean;
  silentEmit(event: string, ...args: unknown[]): boolean;
  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): Promise<unknown>;
}

/** The link of a client, with its present connection. */
export interface CachedLink extends TrackedLink {
  readonly connection: (Dispatcher & { readonly shape: { readonly protocol: 2 | 3 } }) | null;
}

/** The cache that the options of a client ask for, or null. What MONITOR prints is no place for one. */
export function openCaching(client: CachedClient, link: CachedLink): Caching | null {
  const { cache, monitor } = client.options;
  if (!cache || monitor === true) return null;
  return new Caching(client, link, cache === true ? {} : cache);
}

/** The cache of a client, its two ends of the chain, and what the client tells it. */
export class Caching implements CacheView {
  readonly tracking: Tracking;
  readonly cache: ClientCache;
  readonly peek: CacheView["peek"];

  constructor(
    private readonly client: CachedClient,
    private readonly link: CachedLink,
    options: CacheOptions,
  ) {
    const parts = require("../caching/client-cache") as typeof import("../caching/client-cache");
    const { keyPrefix } = client.options;
    const prefix = textPrefix(keyPrefix);
    this.tracking = new parts.Tracking(link, {
      mode: options.mode ?? "optin",
      prefixes: broadcastPrefixes(options.match, prefix ?? ""),
      maxStaleMs: options.maxStale ?? DEFAULT_MAX_STALE_MS,
      onRefused: (error) => this.report(error.message, error),
    });
    const settings = {
      maxBytes: options.maxBytes ?? DEFAULT_MAX_BYTES,
      ttlMs: options.ttl ?? DEFAULT_TTL_MS,
      isFrozen: options.frozen === true,
      isBroadcast: options.mode === "broadcast",
      matches: matcher(options.match, prefix ?? ""),
    };
    this.cache = new parts.ClientCache(settings, {
      next: this.tracking,
      onInvalidated: (keys) => callUser(() => client.emit("invalidate", keys)),
      onTrackingEnded: () => this.tracking.end(),
    });
    this.cache.prefix = prefix;
    watchOptions(client.options, ["keyPrefix"], () => {
      this.cache.prefix = textPrefix(client.options.keyPrefix);
    });
    this.peek = this.cache.peek.bind(this.cache);
    this.answerFirst();
  }

  stats(): CacheStats {
    return this.cache.stats();
  }

  clear(): void {
    this.cache.clear();
  }

  /** The client has become ready, and nothing has been sent over its connection; or it is not ready. */
  onStatus(isReady: boolean): void {
    const connection = isReady ? this.link.connection : null;
    if (connection === null) {
      if (this.tracking.line === null) return;
      this.tracking.end();
      this.cache.onLost();
    } else if (connection.shape.protocol === 3) this.tracking.begin(connection);
    else this.report("it does not speak RESP3");
  }

  onPush(kind: string, message: readonly unknown[]): void {
    if (kind === "invalidate") this.cache.onInvalidation(message[1]);
  }

  private report(reason: string, cause?: Error): void {
    this.client.silentEmit("error", new CacheUnavailableError(reason, cause));
  }

  /** Calls of the client itself are looked up before anything is made of them; those of its views are not. */
  private answerFirst(): void {
    const { client, cache } = this;
    const send = client[EXECUTE];
    function execute(this: CachedClient, spec: CommandSpec, args: unknown[], isBytes: boolean) {
      const answer = this === client ? cache.promised(spec, args, isBytes) : null;
      return answer ?? send.call(this, spec, args, isBytes);
    }
    Object.defineProperty(client, EXECUTE, { value: execute, configurable: true, writable: true });
  }
}

/** Null for one that has no text: nothing is looked up by what callers pass then. */
function textPrefix(prefix: string | Buffer | undefined): string | null {
  if (prefix === undefined) return "";
  return typeof prefix === "string" ? prefix : null;
}

function matcher(match: CacheOptions["match"], prefix: string): ((key: string) => boolean) | null {
  if (match === undefined) return null;
  if (typeof match === "function") {
    return (key) => callUser(() => match(key.startsWith(prefix) ? key.slice(prefix.length) : key)) === true;
  }
  const beginnings = match.map((beginning) => prefix + beginning);
  return (key) => beginnings.some((beginning) => key.startsWith(beginning));
}

/** The server refuses prefixes of which one begins with another. */
function broadcastPrefixes(match: CacheOptions["match"], prefix: string): string[] {
  const all = Array.isArray(match) ? match.map((beginning) => prefix + String(beginning)) : [prefix];
  const unique = [...new Set(all)];
  return unique.filter((one) => !unique.some((other) => other !== one && one.startsWith(other)));
}
