/**
 * The commands that one command stands for on its way through a connection: the members of a run, or identical
 * reads. It is the completion of that command and gives each member what it would have got by
 * itself. Limits, losses, retries and redirects know only the members: before the command is written,
 * and from the moment it comes back without a reply, they are commands like others.
 */

import { ReplyError, UnexpectedReplyError } from "../../errors";
import { copyReply } from "../../protocol/copy-reply";
import type { Reply } from "../../protocol/resp-types";
import { copyError } from "../../util/copy-error";
import { BatchKind } from "../batch";
import { Command, CommandState, type Completion } from "../command";
import type { Argument, CommandSpec, ReplyShape } from "../command-spec";
import type { MergedCommands } from "../merged-commands";
import type { PlainCalls } from "../plain-calls";
import { decodeBuffersDeep } from "../reply-mappers";
import type { Run } from "./command-list";
import type { ConnectionKnowledge } from "./connection-knowledge";
import { type Form, ReplyKind } from "./forms";
import { isOvertaken } from "./overtaking";

abstract class MergedRun implements Completion, MergedCommands {
  readonly promise = null;

  constructor(
    /** Null: identical reads, which are sent as one of them. */
    protected readonly form: Form | null,
    protected readonly knowledge: ConnectionKnowledge,
  ) {}

  abstract begin(passes: (member: Command) => boolean): boolean;
  abstract members(): readonly Command[];
  abstract readonly shown: readonly (Command | PlainCalls)[];
  abstract lastOf(isWanted: (member: Command) => boolean): Command | undefined;
  abstract fulfil(command: Command, value: Reply, shape: ReplyShape): void;
  abstract get waiting(): number;

  reject(_command: Command, error: Error): void {
    for (const member of this.members()) member.fail(copyError(error));
  }

  concernsMembers(error: Error): boolean {
    const { form } = this;
    if (form === null || form.spec.name === form.single) return true;
    // A reply that could not be read, since it was so large: singly it may be.
    if (!(error instanceof ReplyError)) return form.isWrite;
    return !this.knowledge.learn(form, error);
  }

  isOvertaken(member: Command, behind: readonly (Command | PlainCalls)[]): boolean {
    return isOvertaken(member, this.form?.isWrite === true, behind);
  }

  /** The command that is sent; its arguments are put together when it is written. */
  protected makeCommand(spec: CommandSpec, wantsBuffers: boolean, db: number): Command {
    const command = new Command(spec, [], wantsBuffers, this);
    command.ensureExtra().merged = this;
    command.db = db;
    return command;
  }

  protected noteSuccess(): void {
    if (this.form !== null) this.knowledge.allow(this.form);
  }

  /** The answer for each of so many members; an error if the reply is not that of the form. */
  protected checked(value: Reply, count: number): Reply {
    if (this.form?.replies !== ReplyKind.Elements) return value;
    if (Array.isArray(value) && value.length === count) return value;
    const found = Array.isArray(value) ? `${value.length} elements` : typeof value;
    return new UnexpectedReplyError(`${found} for "${this.form.spec.name}" of ${count}`);
  }
}

/** Commands, some of them perhaps with others that ask the same. */
export class CommandRun extends MergedRun {
  /** Those that were written, without those that had been given up before. */
  private live: readonly Command[] = [];
  readonly command: Command;

  constructor(
    form: Form | null,
    private readonly all: readonly Command[],
    private readonly twins: ReadonlyMap<Command, readonly Command[]> | null,
    knowledge: ConnectionKnowledge,
  ) {
    super(form, knowledge);
    const first = all[0] as Command;
    const wantsBuffers = all.some((one) => one.wantsBuffers || twins?.get(one)?.some(areBytes) === true);
    this.command = this.makeCommand(form?.spec ?? bare(first.spec), wantsBuffers, first.db);
    this.command.slot = first.slot;
  }

  members(): readonly Command[] {
    const { twins } = this;
    return twins === null ? this.all : this.all.flatMap((one) => [one, ...(twins.get(one) ?? [])]);
  }

  get shown(): readonly Command[] {
    return this.members();
  }

  lastOf(isWanted: (member: Command) => boolean): Command | undefined {
    return this.members().findLast(isWanted);
  }

  get waiting(): number {
    return this.members().filter(({ isSettled }) => !isSettled).length;
  }

  begin(passes: (member: Command) => boolean): boolean {
    const { all, twins } = this;
    // Nearly always all of them go on: then nothing has to be kept beside them.
    const live = twins === null && all.every(goesOn) ? all : all.filter((one) => this.isAwaited(one, passes));
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

  /** Somebody waits for it: its caller, or one who asks the same. Each of them is asked, for it is noted that it is written. */
  private isAwaited(member: Command, passes: (member: Command) => boolean): boolean {
    let isAwaited = goesOn(member) || passes(member);
    for (const twin of this.twins?.get(member) ?? []) isAwaited = passes(twin) || isAwaited;
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
    const { twins } = this;
    const lengths = this.form?.replies === ReplyKind.Length ? lengthsOf(reply, live.map(elementsOf)) : null;
    for (let index = 0; index < live.length; index++) {
      const own = this.ownOf(reply, index, lengths);
      const member = live[index] as Command;
      if (twins !== null) for (const twin of twins.get(member) ?? []) this.give(twin, copyReply(own), shape);
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

/** Plain calls `from` to `to - 1`. */
export class CallRun extends MergedRun {
  readonly command: Command;

  private readonly from: number;
  private readonly to: number;

  constructor(
    { form, from, to }: Run,
    private readonly calls: PlainCalls,
    knowledge: ConnectionKnowledge,
  ) {
    super(form, knowledge);
    this.from = from;
    this.to = to;
    this.command = this.makeCommand(form.spec, calls.wantsBuffers, calls.db);
  }

  members(): readonly Command[] {
    const members: Command[] = [];
    for (let index = this.from; index < this.to; index++) members.push(this.calls.commandAt(index));
    const { state } = this.command;
    for (const member of members) if (!member.isSettled) member.state = state;
    return members;
  }

  get shown(): readonly PlainCalls[] {
    return [this.calls];
  }

  lastOf(): undefined {
    return undefined;
  }

  get waiting(): number {
    return this.calls.isAbandoned ? 0 : this.to - this.from;
  }

  begin(): boolean {
    const { calls, from, to } = this;
    if (calls.isAbandoned) return false;
    if (!calls.batch.isStarted) calls.batch.start();
    const { args } = this.command;
    args.length = 0;
    if (this.form?.isOneKey === true) {
      args.push(calls.args[calls.startOf(from)] as Argument);
      for (let index = from; index < to; index++) pushArgs(args, calls, calls.startOf(index) + 1, index);
    } else pushArgs(args, calls, calls.startOf(from), to - 1);
    return true;
  }

  fulfil(command: Command, value: Reply, shape: ReplyShape): void {
    const { calls, from, to, form } = this;
    const count = to - from;
    const reply = this.checked(value, count);
    if (!calls.batch.isAnswered) calls.batch.noteAnswer();
    if (reply instanceof Error) {
      this.reject(command, reply);
      return;
    }
    this.noteSuccess();
    if (form?.replies === ReplyKind.Elements) {
      for (let index = 0; index < count; index++) this.give(from + index, (reply as Reply[])[index], shape);
    } else if (form?.replies === ReplyKind.Length) {
      const counts = Array.from({ length: count }, (_, index) => this.argsOf(from + index) - 1);
      for (const [index, own] of lengthsOf(reply, counts).entries()) this.give(from + index, own, shape);
    } else for (let index = from; index < to; index++) this.give(index, copyReply(reply), shape);
  }

  private argsOf(index: number): number {
    return (this.calls.ends[index] as number) - this.calls.startOf(index);
  }

  private give(index: number, own: Reply, shape: ReplyShape): void {
    if (own instanceof Error) this.calls.commandAt(index).fail(own);
    else this.calls.answer(index, own, shape);
  }
}

function areBytes({ wantsBuffers }: Command): boolean {
  return wantsBuffers;
}

/** Marks a member that nothing has to be asked about, as nearly all are. */
function goesOn(member: Command): boolean {
  const { batch, extra } = member;
  if (extra !== null || batch === null || batch.kind !== BatchKind.Automatic) return false;
  if (member.state >= CommandState.Settled) return false;
  member.state = CommandState.Sent;
  return true;
}

function pushArgs(args: Argument[], calls: PlainCalls, start: number, last: number): void {
  const end = calls.ends[last] as number;
  for (let at = start; at < end; at++) args.push(calls.args[at] as Argument);
}

/** The same command without the transformers of users, which every member applies itself. */
function bare(spec: CommandSpec): CommandSpec {
  const { name, lowerName, flags, keys, encodedName } = spec;
  return { name, lowerName, flags, keys, encodedName, replyMapper: null, argumentMapper: null };
}

function elementsOf({ args }: Command): number {
  return args.length - 1;
}

/** The answer that each push would have got: the length of the list without what came behind it. */
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
