/**
 * One command that is sent in place of several: adjacent ones that its form combines, or identical reads. It is
 * the completion of the sent command, and gives each member the reply or error that it would have got alone.
 * For the layers below, and for another run that it is a member of, the sent command is an ordinary one.
 */

import { Command, CommandState, type Completion } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { type Argument, type ReplyShape, withoutMappers } from "../command/command-spec";
import { withText } from "../command/reply-mappers";
import { ReplyError, UnexpectedReplyError } from "../errors";
import { attachCommand } from "../observability/redact";
import type { Reply } from "../protocol/resp-types";
import { copyError } from "../util/copy-error";
import { setOwn } from "../util/own-property";
import type { Form } from "./forms";

export class MergedRun implements Completion, SettleHook {
  /** The command that is sent. */
  readonly command: Command;
  /** The number of members that have not been given up. */
  private left: number;
  /** The members whose arguments are sent. */
  private live: readonly Command[];

  constructor(
    /** Null: identical reads, of which one is sent. */
    readonly form: Form | null,
    /** The commands that it replaces, in order. */
    public members: readonly Command[],
  ) {
    const first = members[0] as Command;
    this.left = members.length;
    this.live = form === null ? [first] : members;
    // Each member applies its transformers itself.
    const spec = form?.spec ?? withoutMappers(first.spec);
    const wantsBuffers = members.some((one) => one.wantsBuffers);
    this.command = new Command(spec, [], wantsBuffers, this);
    this.command.slot = first.slot;
    // The batch counts the sent command as unsettled, so that its rules for losses apply.
    const { batch } = first;
    this.command.batch = batch;
    if (batch !== null) batch.left++;
    for (const { extra } of members) {
      // Only a member with `extra` can be given up or have its own retry policy.
      if (extra === null) continue;
      extra.sentAs = this.command;
      extra.addHook(this);
      this.command.ensureExtra().retryPolicy = extra.retryPolicy;
    }
    this.collect();
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

  /** A member was given up: the command is written without it. */
  onSettled(error: Error | null): void {
    if (error === null || this.command.state >= CommandState.Sent) return;
    if (--this.left === 0) this.command.fail(error);
    else if (this.form !== null) {
      this.live = this.members.filter(({ isSettled }) => !isSettled);
      this.collect();
    }
  }

  fulfil(_command: Command, value: Reply, shape: ReplyShape): void {
    const { form, live, members } = this;
    const misfit = misfitOf(form, value, live.length);
    if (misfit !== null) {
      this.reject(this.command, misfit);
      return;
    }
    const answered = form === null ? members : live;
    const replies = repliesOf(form, value, answered);
    for (const [index, member] of answered.entries()) this.give(member, replies[index], shape);
  }

  reject(_command: Command, error: Error): void {
    for (const member of this.members) if (!member.isSettled) member.fail(errorFor(member, error));
  }

  /** Ends the command without an outcome for its members. Called after they were sent or settled. */
  divide(error: Error): void {
    this.members = [];
    this.command.fail(error);
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

/** The replies that the members would have got alone. */
function repliesOf(form: Form | null, reply: Reply, members: readonly Command[]): Reply[] {
  if (form?.replies === "elements") return reply as Reply[];
  if (form?.replies === "length") return lengthsOf(reply, members);
  return members.map((_, index) => (index === 0 ? reply : copyReply(reply)));
}

/** The reply that each push would have got: the length of the list without the later elements. */
function lengthsOf(reply: Reply, pushes: readonly Command[]): Reply[] {
  let length = Number(reply);
  const lengths = pushes.toReversed().map(({ args }) => {
    const own = length;
    length -= args.length - 1;
    return typeof reply === "string" ? String(own) : own;
  });
  return lengths.reverse();
}

/** A copy that shares no mutable part with the reply. */
function copyReply(reply: Reply): Reply {
  if (typeof reply !== "object" || reply === null || reply instanceof Error) return reply;
  if (Buffer.isBuffer(reply)) return Buffer.from(reply);
  if (Array.isArray(reply)) return reply.map(copyReply);
  const copy: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(reply)) setOwn(copy, field, copyReply(value));
  return copy;
}
