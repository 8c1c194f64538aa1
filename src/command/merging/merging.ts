/**
 * Merges commands of a batch when it is handed to a connection. Loaded on first use. Only adjacent rows become
 * one command, which takes their place. The server may run the single commands in the same way, without others
 * in between, so its reply is one that the single commands could have got (docs/decisions/0016).
 */

import { BatchKind, type BatchMerging } from "../batch";
import { batchOf, type Command } from "../command";
import { CommandFlag } from "../command-spec";
import { UNROUTED } from "../slot";
import { CommandList, findRuns, type Run } from "./command-list";
import { type ConnectionKnowledge, knowledgeOf } from "./connection-knowledge";
import { findDuplicateReads } from "./duplicate-reads";
import { type Form, formsOf } from "./forms";
import { CommandRun } from "./merged-run";

export interface MergingSettings {
  /** Lower-case names of the commands that are merged. */
  readonly merged: readonly string[];
  readonly coalesces: boolean;
}

export class Merging implements BatchMerging {
  private readonly forms: ReadonlyMap<string, Form>;
  private readonly coalesces: boolean;
  private readonly isFree = (command: Command): boolean => {
    const { batch, extra } = command;
    if (batch === null || batch.merging !== this || batch.kind === BatchKind.Transaction) return false;
    if (command.isSettled) return false;
    return (
      extra === null ||
      (extra.tracked === null && extra.script === null && extra.group === null && extra.trail === null)
    );
  };

  constructor({ merged, coalesces }: MergingSettings) {
    this.forms = formsOf(merged);
    this.coalesces = coalesces;
  }

  plan(given: readonly Command[], connection: object): readonly Command[] {
    const knowledge = knowledgeOf(connection);
    const found = this.coalesces ? findDuplicateReads(given, this.isFree) : null;
    const duplicates = found === null ? null : found.joined;
    const commands = found === null ? given : found.sent;
    const rows = new CommandList(commands, this.isFree);
    const isFollowed = batchOf(given)?.isFollowed === true;
    const runs = this.forms.size === 0 ? [] : findRuns(rows, this.forms);
    if (runs.length === 0 && duplicates === null) return given;
    const planned: Command[] = [];
    const keep = (from: number, to: number): void => {
      for (let row = from; row < to; row++) {
        const command = commands[row] as Command;
        const isOne = duplicates?.has(command) !== true;
        planned.push(isOne ? command : new CommandRun(null, [command], duplicates, knowledge).command);
      }
    };
    let done = 0;
    for (const run of runs) {
      const { form, from, to } = run;
      if (mayMerge(run, rows, knowledge, isFollowed)) {
        keep(done, from);
        planned.push(new CommandRun(form, commands.slice(from, to), duplicates, knowledge).command);
      } else {
        const proof = knowledge.ask(form, (commands[from] as Command).args);
        if (proof === null) continue;
        keep(done, to);
        planned.push(proof);
      }
      done = to;
    }
    keep(done, commands.length);
    return planned;
  }
}

/** @param isFollowed Later commands may be sent behind these rows before they are answered. */
function mayMerge(
  { form, from, to }: Run,
  rows: CommandList,
  knowledge: ConnectionKnowledge,
  isFollowed: boolean,
): boolean {
  if (knowledge.rests(form)) return false;
  // The form has the same name as its members, so the server treats it alike.
  if (form.spec.name === form.single) return true;
  if (!knowledge.isProven(form)) return false;
  if (form.isOneKey || rows.slotAt(from) === UNROUTED) return true;
  // Keys of a moving slot may be on two nodes. After that refusal the members would be sent behind later commands.
  if (isFollowed) return false;
  return form.isWrite ? to === rows.length : isFollowedByReads(rows, to);
}

function isFollowedByReads(rows: CommandList, from: number): boolean {
  for (let row = from; row < rows.length; row++) {
    if ((rows.specAt(row).flags & CommandFlag.Readonly) === 0) return false;
  }
  return true;
}
