/** ZUNION, ZINTER, ZDIFF and their STORE forms: sets and sorted sets, weights and aggregates. */

import { WRONG_TYPE } from "../keyspace/database";
import { type ScoredMember, SortedSetValue } from "../keyspace/sorted-set-value";
import { SetValue } from "../keyspace/values";
import { integerOf, parseFloatText } from "../protocol/numbers";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import { at, following, syntaxError, word } from "./arguments";
import { withScores } from "./scores";
import { storeSortedSet } from "./sorted-sets";

type Kind = "union" | "inter" | "diff";
type Aggregate = "SUM" | "MIN" | "MAX";
type Scores = Map<string, number>;

interface AlgebraRequest {
  readonly sources: readonly Scores[];
  readonly aggregate: Aggregate;
  readonly wantsScores: boolean;
}

function scoresOf(caller: Caller, key: string): Scores {
  const value = caller.database.find(key)?.value;
  const scores: Scores = new Map();
  if (value instanceof SortedSetValue)
    for (const { member, score } of value.members) scores.set(member, score);
  else if (value instanceof SetValue) for (const member of value.list()) scores.set(member, 1);
  else if (value !== undefined) throw new ErrorReply(WRONG_TYPE);
  return scores;
}

function add(a: number, b: number, aggregate: Aggregate): number {
  if (aggregate === "MIN") return Math.min(a, b);
  if (aggregate === "MAX") return Math.max(a, b);
  // The sum of +inf and -inf is 0.
  const sum = a + b;
  return Number.isNaN(sum) ? 0 : sum;
}

function weighted(score: number, weight: number): number {
  const product = score * weight;
  return Number.isNaN(product) ? 0 : product;
}

interface Options {
  readonly kind: Kind;
  /** Where `numkeys` stands. */
  readonly from: number;
  readonly mayHaveScores: boolean;
}

/** Of the servers, Redis reads hexadecimal numbers as well. */
function weightOf({ engine }: Caller, text: string): number {
  const weight = parseFloatText(text, engine.version.product === "redis");
  if (weight === null) throw new ErrorReply("ERR weight value is not a float");
  return weight;
}

function requestOf(
  caller: Caller,
  args: readonly string[],
  { kind, from, mayHaveScores }: Options,
): AlgebraRequest {
  const size = integerOf(at(args, from));
  if (size < 1) {
    throw new ErrorReply(`ERR at least 1 input key is needed for '${at(args, 0).toLowerCase()}' command`);
  }
  if (size > args.length - from - 1) throw syntaxError();
  const keys = args.slice(from + 1, from + 1 + size);
  const sources = keys.map((key) => scoresOf(caller, key));
  let weights: number[] = keys.map(() => 1);
  let aggregate: Aggregate = "SUM";
  let wantsScores = false;
  for (let index = from + 1 + size; index < args.length; index++) {
    const option = word(args, index);
    if (kind !== "diff" && option === "WEIGHTS" && index + size < args.length) {
      weights = args.slice(index + 1, index + 1 + size).map((text) => weightOf(caller, text));
      index += size;
    } else if (kind !== "diff" && option === "AGGREGATE") {
      const name = following(args, index++).toUpperCase();
      if (name !== "SUM" && name !== "MIN" && name !== "MAX") throw syntaxError();
      aggregate = name;
    } else if (mayHaveScores && option === "WITHSCORES") wantsScores = true;
    else throw syntaxError();
  }
  sources.forEach((scores, index) => {
    const weight = weights[index] ?? 1;
    if (kind !== "diff") for (const [member, score] of scores) scores.set(member, weighted(score, weight));
  });
  return { sources, aggregate, wantsScores };
}

function combine(kind: Kind, { sources, aggregate }: AlgebraRequest): ScoredMember[] {
  // Servers begin with the smallest set, and sums of doubles depend on it.
  const inOrder = kind === "diff" ? sources : [...sources].sort((a, b) => a.size - b.size);
  const [first, ...others] = inOrder as [Scores, ...Scores[]];
  const result: Scores = new Map(first);
  for (const other of others) {
    if (kind === "union") {
      for (const [member, score] of other) {
        const old = result.get(member);
        result.set(member, old === undefined ? score : add(old, score, aggregate));
      }
      continue;
    }
    for (const [member, score] of result) {
      const found = other.get(member);
      if (kind === "diff") {
        if (found !== undefined) result.delete(member);
      } else if (found === undefined) result.delete(member);
      else result.set(member, add(score, found, aggregate));
    }
  }
  // No listpack, which would forget the sign of -0.
  const sorted = new SortedSetValue(undefined, undefined, true);
  for (const [member, score] of result) sorted.set(member, score);
  return [...sorted.members];
}

function show(kind: Kind): Handler {
  return (caller, args) => {
    const request = requestOf(caller, args, { kind, from: 1, mayHaveScores: true });
    return withScores(caller, combine(kind, request), request.wantsScores);
  };
}

function store(kind: Kind): Handler {
  return (caller, args) => {
    const request = requestOf(caller, args, { kind, from: 2, mayHaveScores: false });
    return storeSortedSet(caller, {
      target: at(args, 1),
      members: combine(kind, request),
      event: `z${kind}store`,
    });
  };
}

function zintercard(caller: Caller, args: readonly string[]): ReplyValue {
  const size = integerOf(at(args, 1));
  if (size < 1) throw new ErrorReply("ERR at least 1 input key is needed for 'zintercard' command");
  if (size > args.length - 2) throw syntaxError();
  const sources = args.slice(2, 2 + size).map((key) => scoresOf(caller, key));
  let limit = 0;
  for (let index = 2 + size; index < args.length; index++) {
    if (word(args, index) !== "LIMIT") throw syntaxError();
    limit = integerOf(following(args, index++), "ERR LIMIT can't be negative");
    if (limit < 0) throw new ErrorReply("ERR LIMIT can't be negative");
  }
  const count = combine("inter", { sources, aggregate: "SUM", wantsScores: false }).length;
  return limit === 0 ? count : Math.min(limit, count);
}

export const sortedSetAlgebraHandlers: Handlers = {
  zunion: show("union"),
  zinter: show("inter"),
  zdiff: show("diff"),
  zunionstore: store("union"),
  zinterstore: store("inter"),
  zdiffstore: store("diff"),
  zintercard,
};
