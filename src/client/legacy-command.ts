/**
 * The public `Command` class: a command built by hand for `sendCommand`. It bypasses the key prefix and
 * auto-pipelining, and by default its reply contains Buffers.
 */

import { prepareArguments } from "../command/argument-mappers";
import { blockingTimeMs } from "../command/blocking";
import { Command, MADE_BY_HAND } from "../command/command";
import { encodeName } from "../command/command-spec";
import { argumentTransformers, replyTransformers, specOf } from "../command/command-table";
import { type FlagSetName, type FlagSets, flagSets, isInFlagSet } from "../command/flag-sets";
import { keyPositions, prefixKeys } from "../command/key-positions";
import { PromiseCompletion } from "../command/promise-completion";
import { slotOf } from "../command/slot";
import { encodeCommand } from "../protocol/encoder";
import { OutputBuffer } from "../protocol/output-buffer";
import type { Argument } from "../protocol/resp-types";
import { asCallback, type Callback } from "../util/callback";
import { Delay } from "../util/scheduling";
import { CommandLimit } from "./command-limits";

export interface LegacyCommandOptions {
  /** `"utf8"` gives strings; anything else gives Buffers. */
  replyEncoding?: string | null;
  errorStack?: Error;
  keyPrefix?: Argument;
  readOnly?: boolean;
}

const NOWHERE = { commandsAhead: 0, bytesAhead: 0, server: "" };

export class LegacyCommand extends Command {
  /** The transformer tables; changing an entry takes effect immediately. */
  static readonly _transformer = { argument: argumentTransformers, reply: replyTransformers };

  /** The command names with each flag, in lower case and sorted. */
  static get FLAGS(): FlagSets {
    return flagSets();
  }

  /** Whether a command belongs to one of the `FLAGS`; letter case does not matter. */
  static checkFlag(flag: FlagSetName, name: string): boolean {
    return isInFlagSet(flag, name);
  }

  /** Changes how a command's arguments are transformed before they are encoded; for the exact name. */
  static setArgumentTransformer(name: string, transform: (args: unknown[]) => unknown[]): void {
    argumentTransformers[name] = transform;
  }

  /** Changes how a command's reply is transformed; for the exact name. */
  static setReplyTransformer(name: string, transform: (reply: unknown, context: object) => unknown): void {
    replyTransformers[name] = transform;
  }

  /** For use by the creator of the command. */
  ignore = false;
  /** The value of the option `readOnly`. */
  readonly isReadOnly: boolean;
  /** The value of the option `errorStack`. */
  readonly errorStack: Error | undefined;

  /**
   * @param name Sent as given.
   * @param args Flattened one level and transformed.
   * @param options Reply encoding (default: Buffers), key prefix.
   */
  constructor(
    name: string,
    args: readonly unknown[] = [],
    options: LegacyCommandOptions = {},
    callback?: Callback<unknown>,
  ) {
    const spec = specOf(name);
    // Bytes are copied when the command is sent.
    const encoded = prepareArguments(spec, [...args], false);
    const { keyPrefix } = options;
    prefixKeys(spec, encoded, keyPrefix);
    const isText = options.replyEncoding === "utf8" || options.replyEncoding === "utf-8";
    super(spec, encoded, !isText, new PromiseCompletion());
    this.isReadOnly = options.readOnly ?? false;
    this.errorStack = options.errorStack;
    if (callback !== undefined) void asCallback(this.promise, callback);
  }

  override get [MADE_BY_HAND](): boolean {
    return true;
  }

  /** True once the outcome is known. */
  get isResolved(): boolean {
    return this.isSettled;
  }

  /** The keys among the arguments, by the command table. */
  getKeys(): Argument[] {
    return keyPositions(this.spec, this.args).map((position) => this.args[position] as Argument);
  }

  /** The hash slot of the first key, or null without keys. */
  getSlot(): number | null {
    const slot = slotOf(this.spec, this.args);
    return slot < 0 ? null : slot;
  }

  /** The encoded request. */
  toWritable(_socket?: unknown): Buffer {
    const output = new OutputBuffer();
    encodeCommand(output, this.spec.encodedName ?? encodeName(this.spec), this.args);
    return Buffer.concat(output.take().segments);
  }

  /** Rejects the command with "Command timed out" unless it settles first. */
  setTimeout(timeoutMs: number): void {
    const context = { isWritable: true, isRelaxed: false, positionOf: () => NOWHERE };
    new CommandLimit(this, context, 0).start(timeoutMs);
  }

  /** Resolves the command with null unless it settles first. */
  setBlockingTimeout(timeoutMs: number): void {
    const delay = new Delay(() => this.resolve(null), timeoutMs);
    this.ensureExtra().addHook({ onSettled: () => delay.stop() });
  }

  /** How long the command asks the server to block, in milliseconds, if it is a blocking command. */
  extractBlockingTimeout(): number | null | undefined {
    return blockingTimeMs(this.spec, this.args) ?? undefined;
  }
}
