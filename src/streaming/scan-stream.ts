/**
 * A Readable over SCAN, HSCAN, SSCAN and ZSCAN: one round trip for each chunk, sent when the consumer has room,
 * so `pause()` and back-pressure delay further calls. Chunks are the pages of the server: they may be empty,
 * and an element may be returned more than once.
 */

import { Readable, type ReadableOptions } from "node:stream";
import { callUser } from "../util/user-code";

export interface ScanStreamOptions {
  /** Only elements that match this glob. Not prefixed by `keyPrefix`. */
  match?: string | Buffer | undefined;
  /** Only keys of this type; for SCAN. */
  type?: string | undefined;
  /** How much work the server does for each chunk (its default is 10 elements). */
  count?: number | string | undefined;
  /** Fields without their values; for HSCAN. */
  noValues?: boolean | undefined;
}

type ScanReply = [cursor: string | Buffer, elements: unknown[]];

/** The client that scans; its method has the name of the command. */
export type ScanSource = object;

export interface ScanStreamSettings extends ScanStreamOptions, ReadableOptions {
  /** Method of the client: `scan`, `hscanBuffer`, ... */
  command: string;
  /** The key of the set, hash or sorted set; undefined for SCAN. */
  key?: string | Buffer | undefined;
  redis: ScanSource;
}

/**
 * @example
 * await redis.mset({ "user:1": "Ada", "user:2": "Grace" });
 * for await (const keys of redis.scanStream({ match: "user:*", count: 100 })) {
 *   if (keys.length > 0) await redis.unlink(keys);
 * }
 */
export class ScanStream extends Readable {
  private cursor: string | Buffer = "0";
  private isDrained = false;

  private readonly settings: ScanStreamSettings;

  constructor(settings: ScanStreamSettings) {
    super({ objectMode: true, ...settings });
    // Later pages are requested when the caller may have changed its Buffers.
    const { key, match } = settings;
    this.settings = { ...settings, key: captured(key), match: captured(match) };
  }

  override _read(): void {
    if (this.isDrained) {
      this.push(null);
      return;
    }
    this.scan().then(
      ([cursor, elements]) => {
        if (this.destroyed) return;
        this.cursor = cursor;
        if (cursor.length === 1 && String(cursor) === "0") this.isDrained = true;
        // Listeners run here: their errors must not reject this promise.
        callUser(() => this.push(elements));
      },
      (error: Error) => this.destroy(error),
    );
  }

  /** Stops after the round trip in flight, then emits `end`. */
  close(): void {
    this.isDrained = true;
  }

  private scan(): Promise<ScanReply> {
    const { redis, command, key } = this.settings;
    const args: unknown[] = key === undefined ? [this.cursor] : [key, this.cursor];
    args.push(...scanArguments(this.settings));
    const methods = redis as Record<string, (...args: unknown[]) => Promise<ScanReply>>;
    return (methods[command] as (...args: unknown[]) => Promise<ScanReply>).apply(redis, args);
  }
}

/** The arguments after the cursor. */
export function scanArguments({ match, type, count, noValues }: ScanStreamOptions): unknown[] {
  const args: unknown[] = [];
  if (match) args.push("MATCH", match);
  if (type) args.push("TYPE", type);
  if (count) args.push("COUNT", String(count));
  if (noValues) args.push("NOVALUES");
  return args;
}

function captured(text: string | Buffer | undefined): string | Buffer | undefined {
  return Buffer.isBuffer(text) ? Buffer.from(text) : text;
}
