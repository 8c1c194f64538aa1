/**
 * Keys that commands in flight may change. They are dropped when such a command is issued and again when it has
 * ended; meanwhile no reply about them is stored. A caller that has issued a write therefore never gets an
 * older reply from the cache, awaited or not, in any order of writes and reads and over any connections.
 */

import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { Effect } from "../command/effects";
import { keyPositions } from "../command/key-positions";
import type { Argument } from "../protocol/resp-types";
import type { CacheStore } from "./cache-store";
import { sentTextOf } from "./texts";

/** Null stands for all keys. */
type HeldKey = string | null;

/** The held keys of one cache. */
export class Holds {
  private readonly counts = new Map<HeldKey, number>();

  constructor(private readonly store: CacheStore) {}

  /** No reply about these keys may be stored. */
  isHeld(keys: readonly { readonly key: string }[]): boolean {
    const { counts } = this;
    return counts.size > 0 && (counts.has(null) || keys.some(({ key }) => counts.has(key)));
  }

  /** @param by 1: one more command holds the key; -1: one of them has ended. */
  change(key: HeldKey, by: 1 | -1): void {
    const count = (this.counts.get(key) ?? 0) + by;
    if (count > 0) this.counts.set(key, count);
    else this.counts.delete(key);
    if (key === null) this.store.dropAll();
    else this.store.drop(key);
  }
}

/** The keys that one command, or one transaction, may change, in some caches; released when it has ended. */
export class Hold implements SettleHook {
  private readonly keys: HeldKey[] = [];

  constructor(private readonly caches: Iterable<Holds>) {}

  /** Takes the keys that the command may change, or all keys. */
  takeChanges(command: Command, effect: Effect): void {
    for (const key of effect === Effect.Keys ? changedKeys(command) : [null]) this.take(key);
  }

  take(key: HeldKey): void {
    this.keys.push(key);
    for (const holds of this.caches) holds.change(key, 1);
  }

  /** Releases the keys. */
  onSettled(): void {
    for (const key of this.keys.splice(0)) for (const holds of this.caches) holds.change(key, -1);
  }
}

/** The changes by the commands of one client, in some caches. The commands of a transaction run with its EXEC. */
export class Changes {
  /** The open transaction, with the keys that it may change. */
  private open: Hold | null = null;

  constructor(private readonly caches: () => Iterable<Holds>) {}

  get isInTransaction(): boolean {
    return this.open !== null;
  }

  /** A command that may change keys, or begins or ends a transaction. */
  follow(command: Command, effect: Effect): void {
    const { open } = this;
    if (effect === Effect.Multi) {
      if (open === null) this.begin(command);
    } else if (effect === Effect.Exec || effect === Effect.Discard) {
      this.open = null;
      if (open === null) this.holdFor(command).take(null);
      else command.ensureExtra().addHook(open);
    } else (open ?? this.holdFor(command)).takeChanges(command, effect);
  }

  /** The transaction has ended without EXEC. */
  leave(): void {
    this.open?.onSettled();
    this.open = null;
  }

  private begin(multi: Command): void {
    const hold = new Hold(this.caches());
    this.open = hold;
    const onSettled = (error: Error | null): void => {
      if (error !== null && this.open === hold) this.leave();
    };
    multi.ensureExtra().addHook({ onSettled });
  }

  private holdFor(command: Command): Hold {
    const hold = new Hold(this.caches());
    command.ensureExtra().addHook(hold);
    return hold;
  }
}

/** The keys that a command may change, as text. No replies are stored for keys that are not valid UTF-8. */
function changedKeys({ spec, args }: Command): string[] {
  return keyPositions(spec, args).map((position) => sentTextOf(args[position] as Argument));
}
