/**
 * The commands that one sent command represents: the members of a run, or identical reads. It is the completion
 * of the sent command and gives each member the reply that it would have got alone. Limits, losses, retries and
 * redirects act only on the members: before the command is written, and after it has come back without a reply,
 * they are ordinary commands.
 */

import { ReplyError, UnexpectedReplyError } from "../../errors";
import { copyReply } from "../../protocol/copy-reply";
import type { Reply } from "../../protocol/resp-types";
import { copyError } from "../../util/copy-error";
import { BatchKind } from "../batch";
import { Command, CommandState, type Completion } from "../command";
import type { Argument, CommandSpec, ReplyShape } from "../command-spec";
import type { MergedCommands } from "../merged-commands";
import { decodeBuffersDeep } from "../reply-mappers";
import type { ConnectionKnowledge } from "./connection-knowledge";
import { type Form, ReplyKind } from "./forms";
import { isOvertaken } from "./overtaking";

abstract class MergedRun implements Completion, MergedCommands {
  readonly promise = null;

  constructor(
    /** Null: identical reads, of which one is sent. */
    protected readonly form: Form | null,
    protected readonly knowledge: ConnectionKnowledge,
  ) {}

  abstract begin(passes: (member: Command) => boolean): boolean;
  abstract members(): readonly Command[];
  abstract lastOf(isWanted: (member: Command) => boolean): Command | undefined;
  abstract fulfil(command: Command, value: Reply, shape: ReplyShape): void;
  abstract get waiting(): number;

  reject(_command: Command, error: Error): void {
    for (const member of this.members()) member.fail(copyError(error));
  }

  concernsMembers(error: Error): boolean {
    const { form } = this;
    if (form === null || form.spec.name === form.single) return true;
    // An unreadably large reply may be readable for single commands.
    if (!(error instanceof ReplyError)) return form.isWrite;
    return !this.knowledge.learn(form, error);
  }

  isOvertaken(member: Command, behind: readonly Command[]): boolean {
    return isOvertaken(member, this.form?.isWrite === true, behind);
  }

  /** The command that is sent; its arguments are collected when it is written. */
  protected makeCommand(spec: CommandSpec, wantsBuffers: boolean, db: number): Command {
    const command = new Command(spec, [], wantsBuffers, this);
    command.ensureExtra().merged = this;
    command.db = db;
    return command;
  }

  protected noteSuccess(): void {
    if (this.form !== null) this.knowledge.allow(this.form);
  }

  /** The reply for each of `count` members; an error if it does not fit the form. */
  protected checked(value: Reply, count: number): Reply {
    if (this.form?.replies !== ReplyKind.Elements) return value;
    if (Array.isArray(value) && value.length === count) return value;
    const found = Array.isArray(value) ? `${value.length} elements` : typeof value;
    return new UnexpectedReplyError(`${found} for "${this.form.spec.name}" of ${count}`);
  }
}

/** A run of commands, some of them perhaps with identical reads. */
export class CommandRun extends MergedRun {
  /** The members that were written, without those that had been given up before. */
  private live: readonly Command[] = [];
  readonly command: Command;

  constructor(
    form: Form | null,
    private readonly all: readonly Command[],
    private readonly duplicates: ReadonlyMap<Command, readonly Command[]> | null,
    knowledge: ConnectionKnowledge,
  ) {
    super(form, knowledge);
    const first = all[0] as Command;
    const wantsBuffers = all.some((one) => one.wantsBuffers || duplicates?.get(one)?.some(areBytes) === true);
    this.command = this.makeCommand(form?.spec ?? bare(first.spec), wantsBuffers, first.db);
    this.command.slot = first.slot;
  }

  members(): readonly Command[] {
    const { duplicates } = this;
    return duplicates === null ? this.all : this.all.flatMap((one) => [one, ...(duplicates.get(one) ?? [])]);
  }

  lastOf(isWanted: (member: Command) => boolean): Command | undefined {
    return this.members().findLast(isWanted);
  }

  get waiting(): number {
    return this.members().filter(({ isSettled }) => !isSettled).length;
  }

  begin(passes: (member: Command) => boolean): boolean {
    const { all, duplicates } = this;
    // In most cases all of them are live, and no second list is needed.
    const live =
      duplicates === null && all.every(goesOn) ? all : all.filter((one) => this.isAwaited(one, passes));
    const { args } = this.command;
    args.length = 0;
    let from = 0;
    for (const { args: own } of live) {
      for (let index = from; index < own.length; index++) args.push(own[index] as Argument);
      if (this.form?.isOneKey === true) from = 1;
    }
    this.live = live;
    return live.length > 0;
  }

  /**
   * A caller waits for it or for an identical read. Every duplicate is tested, because the test records that it is
   * written.
   */
  private isAwaited(member: Command, passes: (member: Command) => boolean): boolean {
    let isAwaited = goesOn(member) || passes(member);
    for (const duplicate of this.duplicates?.get(member) ?? []) isAwaited = passes(duplicate) || isAwaited;
    return isAwaited;
  }

  fulfil(_command: Command, value: Reply, shape: ReplyShape): void {
    const { live } = this;
    const reply = this.checked(value, live.length);
    if (reply instanceof Error) {
      this.reject(_command, reply);
      return;
    }
    this.noteSuccess();
    const { duplicates } = this;
    const lengths = this.form?.replies === ReplyKind.Length ? lengthsOf(reply, live.map(elementsOf)) : null;
    for (let index = 0; index < live.length; index++) {
      const own = this.ownOf(reply, index, lengths);
      const member = live[index] as Command;
      if (duplicates !== null)
        for (const duplicate of duplicates.get(member) ?? []) this.give(duplicate, copyReply(own), shape);
      this.give(member, own, shape);
    }
  }

  private ownOf(reply: Reply, index: number, lengths: readonly Reply[] | null): Reply {
    if (lengths !== null) return lengths[index];
    if (this.form?.replies === ReplyKind.Elements) return (reply as Reply[])[index];
    return index === 0 ? reply : copyReply(reply);
  }

  private give(member: Command, own: Reply, shape: ReplyShape): void {
    const { batch } = member;
    if (batch !== null && !batch.isAnswered) batch.noteAnswer();
    if (own instanceof Error) member.fail(own);
    else {
      const isText = this.command.wantsBuffers && !member.wantsBuffers;
      member.fulfil(isText ? decodeBuffersDeep(own) : own, shape);
    }
  }
}

function areBytes({ wantsBuffers }: Command): boolean {
  return wantsBuffers;
}

/** True for a member that needs no further test, as nearly all do. */
function goesOn(member: Command): boolean {
  const { batch, extra } = member;
  if (extra !== null || batch === null || member.state >= CommandState.Settled) return false;
  const isAlone =
    batch.kind === BatchKind.Automatic || (batch.kind === BatchKind.Pipeline && batch.isStarted);
  if (!isAlone) return false;
  member.state = CommandState.Sent;
  return true;
}

/** The same command without users' transformers, which every member applies itself. */
function bare(spec: CommandSpec): CommandSpec {
  const { name, lowerName, flags, keys, encodedName } = spec;
  return { name, lowerName, flags, keys, encodedName, replyMapper: null, argumentMapper: null };
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
