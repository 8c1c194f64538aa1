/**
 * Combines the replies of several nodes into one, by the response policies that servers publish in their
 * command tips. An error among the replies becomes the result, except where one success is enough. Replies are
 * in the order of the parts.
 */

import { AnswersDifferError } from "../../cluster/cluster-errors";
import type { Reply } from "../../protocol/resp-types";
import type { ResponsePolicy } from "./fan-out-policy";

export type Answer =
  | { readonly value: Reply; readonly error: null }
  | { readonly value: null; readonly error: Error };

/** Combines the replies into one; throws the error with which the command fails. */
export type Fold = (answers: readonly Answer[]) => Reply;

/** The folds by policy. "special" has none, because each command with that policy needs its own. */
const FOLDS: Readonly<Record<Exclude<ResponsePolicy, "special">, Fold>> = {
  default: joinLists,
  one_succeeded: firstSuccess,
  all_succeeded: (answers) => valuesOf(answers)[0],
  agg_sum: (answers) => combine(answers, (a, b) => a + b),
  agg_min: (answers) => combine(answers, (a, b) => (b < a ? b : a)),
  agg_max: (answers) => combine(answers, (a, b) => (b > a ? b : a)),
  agg_logical_and: (answers) => combine(answers, (a, b) => (a !== 0 && b !== 0 ? 1 : 0)),
  agg_logical_or: (answers) => combine(answers, (a, b) => (a !== 0 || b !== 0 ? 1 : 0)),
};

/** Commands with the response policy "special" that need all replies combined. */
const SPECIAL_FOLDS: Readonly<Record<string, Fold>> = Object.assign(Object.create(null), {
  randomkey: anyNotNull,
});

export function foldFor(policy: ResponsePolicy, lowerName: string): Fold | null {
  return policy === "special" ? (SPECIAL_FOLDS[lowerName] ?? null) : FOLDS[policy];
}

/** The replies; throws the first error. */
export function valuesOf(answers: readonly Answer[]): Reply[] {
  return answers.map(({ value, error }) => {
    if (error !== null) throw error;
    return value;
  });
}

/** Joins lists; single values become a list. */
function joinLists(answers: readonly Answer[]): Reply {
  const joined: unknown[] = [];
  for (const value of valuesOf(answers)) {
    if (!Array.isArray(value)) joined.push(value);
    else for (const element of value) joined.push(element);
  }
  return joined;
}

function firstSuccess(answers: readonly Answer[]): Reply {
  const success = answers.find(({ error }) => error === null);
  return success === undefined ? valuesOf(answers) : success.value;
}

function anyNotNull(answers: readonly Answer[]): Reply {
  const values = valuesOf(answers).filter((value) => value !== null);
  return values[Math.floor(Math.random() * values.length)] ?? null;
}

/** Combines numbers, or lists of numbers element by element. Text and bigint numbers keep their type. */
function combine(answers: readonly Answer[], step: (a: number, b: number) => number): Reply {
  const values = valuesOf(answers);
  return values.reduce((left, right) => {
    if (Array.isArray(left) && Array.isArray(right)) {
      return left.map((element, i) => combineNumbers(element, right[i], step));
    }
    return combineNumbers(left, right, step);
  });
}

function combineNumbers(left: Reply, right: Reply, step: (a: number, b: number) => number): Reply {
  const [a, b] = [Number(left), Number(right)];
  if (Number.isNaN(a) || Number.isNaN(b)) {
    throw new AnswersDifferError(
      `The replies of two nodes cannot be merged: "${left}" and "${right}". To read the reply of each node, use onAll().`,
    );
  }
  const result = step(a, b);
  if (typeof left === "bigint") return BigInt(result);
  return typeof left === "string" ? String(result) : result;
}
