/**
 * One command that is sent in place of several: adjacent ones that its form combines, or identical reads. It is
 * the completion of the sent command, and gives each member the reply or error that it would have got alone.
 * For the layers below, the sent command is an ordinary one.
 */

import { Command, CommandState, type Completion } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { type Argument, type ReplyShape, withoutMappers } from "../command/command-spec";
import { withText } from "../command/reply-mappers";
import { ReplyError, UnexpectedReplyError } from "../errors";
import { attachCommand } from "../observability/redact";
import { copyReply } from "../protocol/copy-reply";
import type { Reply } from "../protocol/resp-types";
import { copyError } from "../util/copy-error";
import type { Form } from "./forms";

/** Reads that are not sent, by the read whose reply they share. */
export type Duplicates = ReadonlyMap<Command, readonly Command[]>;

export class MergedRun implements Completion, SettleHook {
  readonly promise = null;
  /** The command that is sent. */
  readonly command: Command;
  /** All commands that it replaces, in order. */
  readonly members: readonly Command[];
  /** The leaders whose arguments are sent: each has a caller, or a duplicate with one. */
  private live: readonly Command[];
  /** Its members are sent or settled separately. */
  private isDivided = false;

  constructor(
    /** Null: identical reads, of which one is sent. */
    readonly form: Form | null,
    private readonly leaders: readonly Command[],
    private readonly duplicates: Duplicates,
  ) {
    const first = leaders[0] as Command;
    this.members =
      duplicates.size === 0 ? leaders : leaders.flatMap((one) => [one, ...(duplicates.get(one) ?? [])]);
    this.live = leaders;
    // Each member applies its transformers itself.
    const spec = form?.spec ?? withoutMappers(first.spec);
    this.command = new Command(spec, [], this.members.some(areBytes), this);
    this.command.slot = first.slot;
    this.joinBatch(first);
    for (const member of this.members) if (member.extra !== null) this.represent(member);
    this.collect();
  }

  /** The batch counts the sent command as unsettled, so that its rules for losses apply. */
  private joinBatch({ batch }: Command): void {
    if (batch === null) return;
    this.command.batch = batch;
    batch.left++;
  }

  /** A member that may be given up, or has its own retry policy. */
  private represent(member: Command): void {
    const extra = member.ensureExtra();
    extra.sentAs = this.command;
    extra.addHook(this);
    this.command.ensureExtra().retryPolicy = extra.retryPolicy;
  }

  private collect(): void {
    const { args } = this.command;
    args.length = 0;
    let from = 0;
    for (const { args: own } of this.live) {
      for (let index = from; index < own.length; index++) args.push(own[index] as Argument);
      if (this.form?.isOneKey === true) from = 1;
    }
  }

  // --- outcomes of members, before the command is written --------------------------------------

  /** A member was given up: the command is written without it. */
  onSettled(error: Error | null): void {
    if (error === null || this.command.state >= CommandState.Sent) return;
    this.live = this.leaders.filter((one) => this.isAwaited(one));
    if (this.live.length === 0) this.command.fail(error);
    else this.collect();
  }

  private isAwaited(leader: Command): boolean {
    return !leader.isSettled || this.duplicates.get(leader)?.some(({ isSettled }) => !isSettled) === true;
  }

  // --- outcome of the command ------------------------------------------------------------------

  fulfil(_command: Command, value: Reply, shape: ReplyShape): void {
    const { live, duplicates, form } = this;
    const misfit = misfitOf(form, value, live.length);
    if (misfit !== null) {
      this.failAll(misfit);
      return;
    }
    const lengths = form?.replies === "length" ? lengthsOf(value, live.map(elementsOf)) : null;
    for (let index = 0; index < live.length; index++) {
      const own = lengths === null ? this.ownOf(value, index) : lengths[index];
      const leader = live[index] as Command;
      for (const duplicate of duplicates.get(leader) ?? []) this.give(duplicate, copyReply(own), shape);
      this.give(leader, own, shape);
    }
  }

  reject(_command: Command, error: Error): void {
    if (!this.isDivided) this.failAll(error);
  }

  /** Ends the command without an outcome for its members. Called after they were sent or settled. */
  divide(error: Error): void {
    this.isDivided = true;
    this.command.fail(error);
  }

  private failAll(error: Error): void {
    for (const member of this.members) if (!member.isSettled) member.fail(errorFor(member, error));
  }

  private ownOf(reply: Reply, index: number): Reply {
    if (this.form?.replies === "elements") return (reply as Reply[])[index];
    return index === 0 ? reply : copyReply(reply);
  }

  private give(member: Command, own: Reply, shape: ReplyShape): void {
    const isText = this.command.wantsBuffers && !member.wantsBuffers;
    if (own instanceof Error) member.fail(own);
    else member.fulfil(isText ? withText(own) : own, shape);
  }
}

/** A copy of an error of the merged command, which names the member. */
export function errorFor(member: Command, error: Error): Error {
  const own = copyError(error);
  Reflect.deleteProperty(own, "command");
  if (own instanceof ReplyError) attachCommand(own, member.name, member.args);
  return own;
}

/** The error for a reply that does not have an element for each of `count` members; null if it has. */
function misfitOf(form: Form | null, value: Reply, count: number): Error | null {
  if (form?.replies !== "elements") return null;
  if (Array.isArray(value) && value.length === count) return null;
  const found = Array.isArray(value) ? `${value.length} elements` : typeof value;
  return new UnexpectedReplyError(`${found} for "${form.spec.name}" of ${count}`);
}

function areBytes({ wantsBuffers }: Command): boolean {
  return wantsBuffers;
}

function elementsOf({ args }: Command): number {
  return args.length - 1;
}

/** The reply that each push would have got: the length of the list without the later elements. */
function lengthsOf(reply: Reply, counts: readonly number[]): Reply[] {
  const isText = typeof reply === "string";
  let length = BigInt(reply as string | number);
  const lengths: Reply[] = [];
  for (const count of counts.toReversed()) {
    lengths.push(isText ? String(length) : Number(length));
    length -= BigInt(count);
  }
  return lengths.reverse();
}
