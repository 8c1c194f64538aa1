/** Builds the cache of a client. Loaded only with the option `cache`. */

import { ClientCache } from "../caching/client-cache";
import { siblingCaches } from "../caching/sibling-caches";
import type { TrackedConnection } from "../caching/tracked-connection";
import { type TrackedLink, Tracking, type TrackingSettings } from "../caching/tracking";
import type { CommandSpec } from "../command/command-spec";
import { type Caller, EXECUTE } from "../command/commander";
import type { Dispatcher } from "../command/dispatcher";
import type { CommandWriter } from "../command/write-watch";
import type { ServerContext } from "../observability/channels";
import { CacheUnavailableError } from "../part-errors";
import type { Reply } from "../protocol/resp-types";
import { callUser } from "../util/user-code";
import { SOURCE } from "./client-base";
import type { CacheOptions } from "./options/common-options";
import { observeOptions } from "./options/live-options";

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
const DEFAULT_TTL_MS = 60_000;
const DEFAULT_MAX_STALE_MS = 5000;

export interface CachedClient extends Caller {
  readonly options: {
    readonly cache?: boolean | CacheOptions | null | undefined;
    readonly keyPrefix?: string | Buffer | undefined;
  };
  emit(event: string, ...args: unknown[]): boolean;
  silentEmit(event: string, ...args: unknown[]): boolean;
  readonly [SOURCE]: { server(): ServerContext };
}

export interface CachedLink extends TrackedLink {
  readonly connection: (Dispatcher & { readonly shape: { readonly protocol: 2 | 3 } }) | null;
}

/** The cache of a client, which is the first dispatcher of its chain, and the trackers of its links. */
export class Caching {
  readonly cache: ClientCache;
  /** The trackers of ready connections. */
  readonly trackers = new Set<LinkTracker>();
  private readonly terms: Omit<TrackingSettings, "onRefused">;

  constructor(
    private readonly client: CachedClient,
    cache: true | CacheOptions,
    private readonly isOfCluster: boolean,
  ) {
    const options = cache === true ? {} : cache;
    const { keyPrefix } = client.options;
    const prefix = textPrefix(keyPrefix);
    const maxStaleMs = options.maxStale ?? DEFAULT_MAX_STALE_MS;
    this.terms = {
      mode: options.mode ?? "optin",
      prefixes: broadcastPrefixes(options.match, prefix ?? ""),
      maxStaleMs,
      isOfCluster,
    };
    const settings = {
      maxBytes: options.maxBytes ?? DEFAULT_MAX_BYTES,
      ttlMs: typeof options.ttl === "number" ? options.ttl : DEFAULT_TTL_MS,
      asksTtl: options.ttl === "server",
      maxStaleMs,
      absentTtlMs: isOfCluster ? maxStaleMs : null,
      isFrozen: options.frozen === true,
      isBroadcast: options.mode === "broadcast",
      matches: matcher(options.match, prefix ?? ""),
    };
    this.cache = new ClientCache(settings, {
      onInvalidated: (keys) => callUser(() => client.emit("invalidate", keys)),
      onTrackingEnded: () => {
        for (const { tracking } of this.trackers) tracking.end();
      },
      place: () => client[SOURCE].server(),
    });
    this.cache.prefix = prefix;
    observeOptions(client.options, ["keyPrefix"], () => {
      this.cache.prefix = textPrefix(client.options.keyPrefix);
    });
    this.answerFirst();
  }

  track(link: CachedLink): LinkTracker {
    const onRefused = (error: Error): void => this.report(error.message, error);
    return new LinkTracker(this, link, new Tracking(link, { ...this.terms, onRefused }));
  }

  onLost(tracker: LinkTracker, tracked: TrackedConnection): void {
    this.trackers.delete(tracker);
    this.cache.onLost(this.isOfCluster ? tracked : null);
  }

  report(reason: string, cause?: Error): void {
    this.client.silentEmit("error", new CacheUnavailableError(reason, cause));
  }

  /** Looks up calls of the client itself, not of its views, before they allocate anything. */
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

/** The connections of one link, in sequence, as sources for a cache. */
export class LinkTracker {
  /** Removes the client from the caches of the current server. */
  private leaveSiblings: (() => void) | null = null;

  constructor(
    private readonly caching: Caching,
    private readonly link: CachedLink,
    readonly tracking: Tracking,
  ) {}

  /** Either the link has become ready and its connection is still unused, or it is no longer ready. */
  onStatus(isReady: boolean, writer: CommandWriter): void {
    const connection = isReady ? this.link.connection : null;
    if (connection === null) this.lose();
    else if (connection.shape.protocol === 3) {
      this.tracking.begin(connection);
      this.leaveSiblings = siblingCaches.join(writer, this.caching.cache.holds);
      this.caching.trackers.add(this);
    } else this.caching.report("it does not speak RESP3");
  }

  onPush(kind: string, message: readonly Reply[]): void {
    if (kind === "invalidate") this.caching.cache.onInvalidation(message[1]);
  }

  private lose(): void {
    const { present } = this.tracking;
    if (present === null) return;
    this.leaveSiblings?.();
    this.leaveSiblings = null;
    this.tracking.forget();
    this.caching.onLost(this, present);
  }
}

/** Null for a Buffer: then calls are not looked up before they are sent. */
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

/** The server rejects a prefix that is the beginning of another one. */
function broadcastPrefixes(match: CacheOptions["match"], prefix: string): string[] {
  const all = Array.isArray(match) ? match.map((beginning) => prefix + String(beginning)) : [prefix];
  const unique = [...new Set(all)];
  return unique.filter((one) => !unique.some((other) => other !== one && one.startsWith(other)));
}
