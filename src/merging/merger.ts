/**
 * Merges commands of a batch above the link. Adjacent rows become one command, which takes their place; equal reads
 * join an earlier one (`duplicate-reads.ts`). The server may run the single commands in the same way, so its reply is
 * one that they could have got (docs/decisions/0016). Commands that would wait for a connection, and single commands,
 * pass unchanged.
 *
 * An error reply that concerns only the merged form divides it: its members are sent singly, or the cluster
 * takes them one by one.
 */

import { type Batch, BatchKind, type BatchMerging } from "../command/batch";
import { batchOf, type Command, UNROUTED } from "../command/command";
import { isRead } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { ReplyError } from "../errors";
import { commandChannel } from "../observability/channels";
import { ConnectionKnowledge } from "./connection-knowledge";
import { findDuplicateReads, isOvertaken } from "./duplicate-reads";
import type { Form } from "./forms";
import { errorFor, MergedRun } from "./merged-run";
import { findRuns, type Run } from "./runs";

/** The link below. */
export interface MergedLink {
  /** The connection that takes these commands as they are; null if they wait or are inspected one by one. */
  connectionFor(commands: readonly Command[]): object | null;
  /** The unanswered commands of the link, in order. */
  unanswered(): readonly Command[];
}

/** The client. */
export interface MergerOwner {
  /** Returns true when the cluster of this node sends a command with this error reply elsewhere. */
  movesOn(command: Command, error: Error): boolean;
  /** Reports a command to tracers, which do not see the merged one. */
  report(command: Command): void;
}

export class Merger implements Dispatcher {
  /** The capabilities of the last connected server. */
  private knowledge = new ConnectionKnowledge(null);

  constructor(
    public next: Dispatcher,
    private readonly link: MergedLink,
    private readonly owner: MergerOwner,
  ) {}

  dispatch(command: Command): void {
    this.next.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    const batch = batchOf(commands);
    const isMerging = batch !== null && batch.merging !== null && batch.kind !== BatchKind.Transaction;
    const connection = isMerging ? this.link.connectionFor(commands) : null;
    if (batch === null || connection === null) this.next.dispatchBatch(commands);
    else {
      if (connection !== this.knowledge.connection) this.knowledge = new ConnectionKnowledge(connection);
      this.next.dispatchBatch(this.plan(commands, batch));
    }
  }

  /**
   * The server has answered a merged command with an error. Returns true when its members were sent again or
   * settled; false for all other commands, and for errors that apply to each member.
   */
  divides({ completion }: Command, error: Error): boolean {
    if (!(completion instanceof MergedRun)) return false;
    const { form } = completion;
    const members = completion.members.filter(({ isSettled }) => !isSettled);
    for (const { extra } of members) if (extra !== null) extra.sentAs = null;
    const isOfForm = form !== null && this.concernsForm(form, error);
    // A member that a later command has overtaken would read or write too late.
    const behind = isOfForm ? this.link.unanswered() : [];
    const again = members.filter((one) => isOfForm && !isOvertaken(one, form.isWrite, behind));
    const isAgain = new Set(again);
    const failing = members.filter(
      (one) => !isAgain.has(one) && !this.owner.movesOn(one, errorFor(one, error)),
    );
    if (!isOfForm && failing.length === members.length) return false;
    for (const member of failing) member.fail(errorFor(member, error));
    if (again.length > 0) this.next.dispatchBatch(again);
    completion.divide(error);
    return true;
  }

  /** The members may succeed singly. */
  private concernsForm(form: Form, error: Error): boolean {
    if (form.spec.name === form.single) return false;
    // Single commands may succeed if the merged reply is too large to be decoded.
    return error instanceof ReplyError ? this.knowledge.learn(form, error) : !form.isWrite;
  }

  /** The commands that are sent instead of these. */
  private plan(given: readonly Command[], batch: Batch): readonly Command[] {
    const { merged, coalesces } = batch.merging as BatchMerging;
    const isFree = (command: Command): boolean => isMergeable(command, batch);
    const commands = coalesces ? this.coalesce(given, isFree) : given;
    const runs = merged.length === 0 ? [] : findRuns(commands, merged, isFree);
    if (runs.length === 0) return commands;
    const planned: Command[] = [];
    let done = 0;
    for (const run of runs) {
      const { form, from, to } = run;
      const isMerged = this.mayMerge(run, commands);
      for (const command of commands.slice(done, isMerged ? from : to)) planned.push(command);
      const instead = isMerged
        ? this.merge(form, commands.slice(from, to))
        : this.knowledge.ask(form, (commands[from] as Command).args);
      if (instead !== null) planned.push(instead);
      done = to;
    }
    return planned.concat(commands.slice(done));
  }

  private coalesce(commands: readonly Command[], isFree: (command: Command) => boolean): readonly Command[] {
    const { sent, equal } = findDuplicateReads(commands, isFree);
    if (equal.size === 0) return commands;
    return sent.map((command) => {
      const members = equal.get(command);
      return members === undefined ? command : this.merge(null, members);
    });
  }

  private merge(form: Form | null, members: readonly Command[]): Command {
    const { command } = new MergedRun(form, members);
    if (commandChannel.isHeard) {
      for (const member of members) this.owner.report(member);
      command.ensureExtra().isTraced = true;
    }
    return command;
  }

  private mayMerge({ form, from, to }: Run, commands: readonly Command[]): boolean {
    const { knowledge } = this;
    if (knowledge.rests(form)) return false;
    // The form has the same name as its members, so the server supports both or neither.
    if (form.spec.name === form.single) return true;
    if (!knowledge.isProven(form)) return false;
    if (form.isOneKey || commands[from]?.slot === UNROUTED) return true;
    // Keys of a moving slot may be on two nodes. After that refusal the members would be sent behind later
    // commands.
    return form.isWrite ? to === commands.length : commands.slice(to).every(isRead);
  }
}

/** A command without state that a merged one could not represent. */
function isMergeable({ batch, extra, isSettled }: Command, own: Batch): boolean {
  if (batch !== own || isSettled) return false;
  if (extra === null) return true;
  const { form, group, readFrom, script, tracked, trail } = extra;
  const isPlain = tracked === null && script === null && group === null && trail === null;
  return isPlain && readFrom === null && form === null;
}
