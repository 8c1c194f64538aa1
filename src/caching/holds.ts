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

/** The held keys of one cache. Each key is released as often as it was taken. */
export class Holds {
  private readonly keys = new Map<string, number>();
  private all = 0;

  constructor(private readonly store: CacheStore) {}

  /** No reply about these keys may be stored. */
  isHeld(keys: readonly { readonly key: string }[]): boolean {
    return this.all > 0 || (this.keys.size > 0 && keys.some(({ key }) => this.keys.has(key)));
  }

  take(key: string): void {
    this.keys.set(key, (this.keys.get(key) ?? 0) + 1);
    this.store.drop(key);
  }

  release(key: string): void {
    const count = this.keys.get(key) ?? 0;
    if (count > 1) this.keys.set(key, count - 1);
    else this.keys.delete(key);
    this.store.drop(key);
  }

  takeAll(): void {
    this.all++;
    this.store.dropAll();
  }

  releaseAll(): void {
    this.all--;
    this.store.dropAll();
  }
}

/** The keys that one command, or one transaction, may change, in some caches; released when it has ended. */
export class Hold implements SettleHook {
  private keys: string[] = [];
  private isOfAll = false;
  private isReleased = false;

  private readonly caches: readonly Holds[];

  constructor(...caches: readonly Holds[]) {
    this.caches = caches;
  }

  /** Takes the keys that the command may change, or all keys. */
  takeChanges(command: Command, effect: Effect): void {
    if (effect !== Effect.Keys) this.takeAll();
    else for (const key of changedKeys(command)) this.take(key);
  }

  take(key: string): void {
    this.keys.push(key);
    for (const holds of this.caches) holds.take(key);
  }

  takeAll(): void {
    if (this.isOfAll) return;
    this.isOfAll = true;
    for (const holds of this.caches) holds.takeAll();
  }

  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    for (const holds of this.caches) {
      for (const key of this.keys) holds.release(key);
      if (this.isOfAll) holds.releaseAll();
    }
  }

  onSettled(): void {
    this.release();
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
      if (open === null) this.holdFor(command).takeAll();
      else command.ensureExtra().addHook(open);
    } else (open ?? this.holdFor(command)).takeChanges(command, effect);
  }

  /** The transaction has ended without EXEC. */
  leave(): void {
    this.open?.release();
    this.open = null;
  }

  private begin(multi: Command): void {
    const hold = new Hold(...this.caches());
    this.open = hold;
    const onSettled = (error: Error | null): void => {
      if (error !== null && this.open === hold) this.leave();
    };
    multi.ensureExtra().addHook({ onSettled });
  }

  private holdFor(command: Command): Hold {
    const hold = new Hold(...this.caches());
    command.ensureExtra().addHook(hold);
    return hold;
  }
}

/** The keys that a command may change, as far as replies about them can be stored. */
function changedKeys({ spec, args }: Command): string[] {
  return keyPositions(spec, args).map((position) => sentTextOf(args[position] as Argument));
}
